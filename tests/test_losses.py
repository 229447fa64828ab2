"""The table of losses: back ends, estimators, the command line and the documentation have those of the table."""

import ast
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernelsketch import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, GCWSRegressorCV, _native
from kernelsketch._loss_formulas import _FORMULAS, formulas_of, loss_conjugate, loss_value
from kernelsketch._losses import CLASSIFIER_LOSSES, LOSS_TABLE, LOSSES, REGRESSOR_LOSSES, loss_named, loss_number
from kernelsketch.backends import LinearObjective, LinearPass, NewtonStep, Symbols, backend_for
from kernelsketch.backends.cuda._source import kernel_losses
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._newton import newton_solve
from kernelsketch.linear._problem import DualProblem, Targets
from kernelsketch.reference import linear as reference

ROOT = Path(__file__).parents[1]
EPSILON = 0.375  # of the Huber loss, and the quantile of the quantile loss; a float32
numbers = arrays(np.float64, 8, elements=st.floats(-8, 8, width=32))
costs = arrays(np.float64, 8, elements=st.sampled_from([0.0078125, 0.25, 1.0, 16.0, 1024.0]))
every_loss = pytest.mark.parametrize("loss", LOSS_TABLE, ids=lambda loss: loss.name)


def parameter_of(name):
    return loss_named(name).parameter


def targets_of(loss, y):
    return y if loss.is_regression else np.where(y < 0, -1.0, 1.0)


class TestNames:
    def test_they_have_numbers_and_formulas(self):
        assert tuple(_FORMULAS) == LOSSES
        assert len(set(LOSSES)) == len(LOSSES)
        assert [loss_number(name) for name in LOSSES] == list(range(len(LOSSES)))
        assert tuple(map(loss_named, LOSSES)) == LOSS_TABLE

    @pytest.mark.skipif(not hasattr(_native, "loss_names"), reason="this native core does not list its losses")
    def test_they_are_those_of_the_native_core(self):
        assert tuple(_native.loss_names()) == LOSSES

    def test_they_are_those_of_the_kernels(self):
        assert kernel_losses() == LOSSES

    def test_the_table_needs_no_numpy(self):
        """The help of the command line reads it, in a tenth of the time that NumPy takes."""
        code = "import sys; import kernelsketch._losses; print([m for m in sys.modules if m in ('numpy', 'sklearn')])"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout.strip() == "[]"

    @pytest.mark.parametrize("number", [-1, len(LOSSES)])
    def test_back_ends_refuse_others(self, isa, number):
        codes, flags, y, one = np.zeros((4, 4), np.uint8), np.zeros(4, np.uint8), np.ones(4, np.float32), np.ones(1)
        given = (None, y, y, one.astype(np.int32), np.ones((1, 2), np.float32))
        running, tables = np.ones(1, np.uint8), (np.zeros((1, 4, 16), np.float32), np.zeros(1))
        beta, objective = np.zeros((1, 4), np.float32), LinearObjective(number, 1.0)
        order, shrunk = np.arange(4, dtype=np.int32), np.zeros((1, 4), np.uint8)
        state = LinearPass(order, *given, np.ones(1, np.float32), running, *tables, beta, shrunk)
        with pytest.raises(ValueError, match=f"loss: unknown number {number}"):
            backend_for(codes).linear_pass(codes, flags, objective, state)
        symbols = Symbols(np.zeros((4, 2), np.uint16), np.ones(2, np.int64), np.zeros((2, 16, 2), np.int32))
        step = NewtonStep(*given, running, running, *tables, beta, beta.copy(), 1e-3, symbols, 0, np.ones(1, np.int64))
        with pytest.raises(ValueError, match=f"loss: unknown number {number}"):
            backend_for(codes).newton_step(codes, flags, objective, step)

    def test_the_native_core_takes_newton_steps_for_the_smooth_ones(self):
        backend, codes = backend_for(np.zeros(1)), np.zeros((64, 4), np.uint8)
        table = CodeTable(codes, np.zeros(64, np.uint8), np.arange(1))
        rows, counts, _ = backend.make_symbols(codes, table.empty, 2, 2)
        symbols = Symbols(rows, counts, np.zeros((2, 16, 2), np.int32))
        y, one = np.ones(64, np.float32), np.ones(1, np.int32)
        for loss in LOSS_TABLE:
            labels, numbers = (None, y) if loss.is_regression else (y.astype(np.int32), None)
            targets = Targets(labels, numbers, y, one, np.ones((1, 2), np.float32))
            problem = DualProblem(table, targets, LinearObjective(loss_number(loss.name), 1.0, 0.5), 1)
            refused = nullcontext() if loss.is_smooth else pytest.raises(ValueError, match="not smooth")
            with refused:
                newton_solve(problem, problem.begin(None, np.float32), symbols, 1e-3, 5, lambda *_: None)

    def test_estimators_accept_them(self):
        for kind, names in (
            (GCWSClassifier, CLASSIFIER_LOSSES),
            (GCWSClassifierCV, CLASSIFIER_LOSSES),
            (GCWSRegressor, REGRESSOR_LOSSES),
            (GCWSRegressorCV, REGRESSOR_LOSSES),
        ):
            assert kind().loss == names[0]
            parameters = kind().get_params()
            assert all(parameter in parameters for parameter in map(parameter_of, names) if parameter)
            for name in LOSSES:
                accepted = any(rule.is_satisfied_by(name) for rule in _constraints(kind))
                assert accepted == (name in names), (kind, name)

    def test_the_documentation_has_all(self, monkeypatch):
        guide = (ROOT / "docs" / "guide" / "learning.rst").read_text(encoding="utf-8")
        assert guide.count("\n.. losses::\n") == 1
        monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
        import losses

        assert [line for line in losses.lines() if '``"' in line] == [f'   * - ``"{name}"``' for name in LOSSES]
        for kind, names in ((GCWSClassifier, CLASSIFIER_LOSSES), (GCWSRegressor, REGRESSOR_LOSSES)):
            stated = kind.__doc__.split("loss : {")[1].split("}")[0]
            assert sorted(name.strip('" ') for name in stated.split(",")) == sorted(names)


def formulas(loss):
    return formulas_of(loss_number(loss.name))


def _constraints(kind):
    return kind._parameter_constraints["loss"]


@every_loss
@given(beta=numbers, f=numbers, y=numbers, c=costs)
def test_bounds_are_those_of_the_steps(loss, beta, f, y, c):
    """A step of the reference ends within the bounds, from a start that was moved into them."""
    y = targets_of(loss, y)
    start = formulas(loss).feasible(beta, y, c, EPSILON)
    ends = np.array(
        [
            reference.step(loss_number(loss.name), *map(np.float64, one), 1.0, EPSILON)
            for one in zip(f, y, start, c, strict=True)
        ]
    )
    np.testing.assert_array_equal(formulas(loss).feasible(ends, y, c, EPSILON), ends)


@every_loss
@given(beta=numbers, y=numbers, c=costs, f=numbers)
def test_duals_within_the_bounds_obey_weak_duality(loss, beta, y, c, f):
    """loss(f) + conjugate(beta) >= -beta f holds for the beta of every warm start. Beyond a bound it fails."""
    y, number = targets_of(loss, y), loss_number(loss.name)
    beta = formulas(loss).feasible(beta, y, c, EPSILON)
    parts = loss_value(number, f, y, c, EPSILON), loss_conjugate(number, beta, y, c), beta * f
    assert (sum(parts) >= -1e-12 * (1 + sum(map(np.abs, parts)))).all()


@every_loss
@given(beta=numbers, y=numbers, c=costs)
def test_a_feasible_start_stays_and_rows_without_cost_have_none(loss, beta, y, c):
    y, c = targets_of(loss, y), np.where(np.arange(len(c)) % 2, c, 0)
    start = formulas(loss).feasible(beta, y, c, EPSILON)
    assert not start[c == 0].any()
    np.testing.assert_array_equal(formulas(loss).feasible(start, y, c, EPSILON), start)
    wide = formulas(loss).feasible(beta, y, np.where(c > 0, 2.0**20, 0), EPSILON)
    within = (c > 0) & (loss.is_regression | (y * beta >= 0))
    np.testing.assert_array_equal(wide[within], beta[within])


def test_which_losses_have_what():
    for loss in LOSS_TABLE:
        of, c = formulas(loss), np.ones(1)
        limits = np.abs(of.bounds(c, c, EPSILON))
        is_quadratic = of.ridge is not None and bool(of.ridge(c)[0] > 0)
        assert of.has_quadratic_dual == (is_quadratic and bool(np.isin(limits, (0, np.inf)).all()))
        assert of.scalings[0] == 1
        assert loss.is_smooth == (of.dual is not None) == (of.curvature is not None)
        assert (of.ridge is None) == (of.step is not None) == (of.gradient is not None)
        far = loss_value(loss_number(loss.name), np.array([9.0]), c, c, EPSILON)
        assert loss.has_margin == (far[0] == 0)
    assert [name for name in LOSSES if loss_named(name).has_probabilities] == ["log_loss"]
    assert [name for name in LOSSES if formulas(loss_named(name)).adds_up] == ["squared_error"]
    assert [name for name in LOSSES if len(formulas(loss_named(name)).scalings) > 1] == ["hinge"]


# Files that may name several losses: the table, the formulas, and what is known about models of other libraries.
NAMING = {"_losses.py", "_loss_formulas.py", "linear/_pipeline.py", "spark/_classifier.py"}
FORMULAS = {"_loss_formulas.py", "core/losses.h"}
MARGIN = re.compile(r"\b1 - y \* f|\by \* f - 1|logaddexp\(")


def python_sources():
    library = ROOT / "src" / "kernelsketch"
    return {path.relative_to(library).as_posix(): path.read_text(encoding="utf-8") for path in library.rglob("*.py")}


def native_sources():
    folders = (ROOT / "native", ROOT / "src" / "kernelsketch" / "backends" / "cuda")
    files = [path for folder in folders for kind in ("*.h", "*.cpp", "*.cu") for path in folder.rglob(kind)]
    return {
        path.relative_to(ROOT).as_posix().removeprefix("native/"): path.read_text(encoding="utf-8") for path in files
    }


def test_no_other_file_lists_losses():
    for path, text in python_sources().items():
        strings = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
        assert path in NAMING or len(strings.intersection(LOSSES) - {"quantile"}) < 2, path
    structs = re.findall(r"^  LOSS\(\w+, (\w+)\)", native_sources()["core/losses.h"], re.MULTILINE)
    assert len(structs) == len(LOSSES)
    for path, text in native_sources().items():
        assert path == "core/losses.h" or not re.search(rf"\bk?({'|'.join([*structs, *LOSSES])})\b(?!\")", text), path


def test_no_other_file_has_formulas():
    sources = python_sources() | native_sources()
    assert all(MARGIN.search(sources[path]) for path in FORMULAS)
    for path, text in sources.items():
        found = MARGIN.search(text)
        assert path in FORMULAS or found is None, f"{path}: {found and found[0]}"


def test_the_numbers_of_newtons_step_are_written_twice():
    """In the specification, and in the header that native code and CUDA kernels share."""
    lengths = re.compile(r"1\.5, 1\.25, 1\.0, 0\.75")
    found = {path for path, text in (python_sources() | native_sources()).items() if lengths.search(text)}
    assert found == {"reference/newton.py", "core/newton.h"}
