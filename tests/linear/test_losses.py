"""The table of losses: it agrees with the specification, the native core, the command line and the documentation."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernelsketch import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, _native
from kernelsketch.backends import LinearObjective, Symbols, backend_for
from kernelsketch.cli.commands import train
from kernelsketch.linear import _losses
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._losses import CLASSIFIER_LOSSES, LOSS_TABLE, LOSSES, REGRESSOR_LOSSES, loss_named, loss_number
from kernelsketch.linear._newton import newton_solve
from kernelsketch.linear._problem import DualProblem, Targets
from kernelsketch.reference import linear as reference

ROOT = Path(__file__).parents[2]
EPSILON = 0.375  # a float32
numbers = arrays(np.float64, 8, elements=st.floats(-8, 8, width=32))
costs = arrays(np.float64, 8, elements=st.sampled_from([0.0078125, 0.25, 1.0, 16.0, 1024.0]))
every_loss = pytest.mark.parametrize("loss", LOSS_TABLE, ids=lambda loss: loss.name)


def targets_of(loss, y):
    return y if loss.is_regression else np.where(y < 0, -1.0, 1.0)


class TestNames:
    def test_they_are_those_of_the_reference(self):
        assert LOSSES == reference.LOSSES
        assert len(set(LOSSES)) == len(LOSSES)
        assert [loss_number(name) for name in LOSSES] == list(range(len(LOSSES)))
        assert tuple(map(loss_named, LOSSES)) == LOSS_TABLE

    @pytest.mark.skipif(not hasattr(_native, "loss_names"), reason="this native core does not list its losses")
    def test_they_are_those_of_the_native_core(self):
        assert tuple(_native.loss_names()) == LOSSES

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

    def test_they_are_those_of_the_command_line(self):
        """The command line has a list of its own because its help must not import NumPy."""
        assert set(train.CLASSIFIER_LOSSES) == set(CLASSIFIER_LOSSES)
        assert set(train.REGRESSOR_LOSSES) == set(REGRESSOR_LOSSES)

    def test_estimators_accept_them(self):
        for kind, names in (
            (GCWSClassifier, CLASSIFIER_LOSSES),
            (GCWSClassifierCV, CLASSIFIER_LOSSES),
            (GCWSRegressor, REGRESSOR_LOSSES),
        ):
            for name in LOSSES:
                accepted = any(rule.is_satisfied_by(name) for rule in _constraints(kind))
                assert accepted == (name in names), (kind, name)

    def test_the_documentation_has_all(self):
        guide = (ROOT / "docs" / "guide" / "learning.rst").read_text(encoding="utf-8")
        for name in LOSSES:
            assert f'   * - ``"{name}"``\n' in guide
        for kind, names in ((GCWSClassifier, CLASSIFIER_LOSSES), (GCWSRegressor, REGRESSOR_LOSSES)):
            stated = kind.__doc__.split("loss : {")[1].split("}")[0]
            assert sorted(name.strip('" ') for name in stated.split(",")) == sorted(names)


def _constraints(kind):
    return kind._parameter_constraints["loss"]


@every_loss
@given(f=numbers, y=numbers, c=costs)
def test_values_are_those_of_the_reference(loss, f, y, c):
    y, number = targets_of(loss, y), loss_number(loss.name)
    found = _losses.value(number, f, y, c, EPSILON)
    np.testing.assert_array_equal(found, reference.value(number, f, y, c, EPSILON))
    assert (found >= 0).all()


@every_loss
@given(beta=numbers, y=numbers, c=costs)
def test_conjugates_are_those_of_the_reference(loss, beta, y, c):
    y, number = targets_of(loss, y), loss_number(loss.name)
    beta = loss.feasible(beta, y, c, EPSILON)
    np.testing.assert_array_equal(_losses.conjugate(number, beta, y, c), reference.conjugate(number, beta, y, c))


@every_loss
@given(beta=numbers, f=numbers, y=numbers, c=costs)
def test_bounds_are_those_of_the_steps(loss, beta, f, y, c):
    """A step of the reference ends within the bounds, from a start that was moved into them."""
    y = targets_of(loss, y)
    start = loss.feasible(beta, y, c, EPSILON)
    ends = np.array(
        [
            reference.step(loss_number(loss.name), *map(np.float64, one), 1.0, EPSILON)
            for one in zip(f, y, start, c, strict=True)
        ]
    )
    np.testing.assert_array_equal(loss.feasible(ends, y, c, EPSILON), ends)


@every_loss
@given(beta=numbers, y=numbers, c=costs, f=numbers)
def test_duals_within_the_bounds_obey_weak_duality(loss, beta, y, c, f):
    """loss(f) + conjugate(beta) >= -beta f holds for the beta of every warm start. Beyond a bound it fails."""
    y, number = targets_of(loss, y), loss_number(loss.name)
    beta = loss.feasible(beta, y, c, EPSILON)
    parts = _losses.value(number, f, y, c, EPSILON), _losses.conjugate(number, beta, y, c), beta * f
    assert (sum(parts) >= -1e-12 * (1 + sum(map(np.abs, parts)))).all()


@every_loss
@given(beta=numbers, y=numbers, c=costs)
def test_a_feasible_start_stays_and_rows_without_cost_have_none(loss, beta, y, c):
    y, c = targets_of(loss, y), np.where(np.arange(len(c)) % 2, c, 0)
    start = loss.feasible(beta, y, c, EPSILON)
    assert not start[c == 0].any()
    np.testing.assert_array_equal(loss.feasible(start, y, c, EPSILON), start)
    wide = loss.feasible(beta, y, np.where(c > 0, 2.0**20, 0), EPSILON)
    within = (c > 0) & (loss.is_regression | (y * beta >= 0))
    np.testing.assert_array_equal(wide[within], beta[within])


def test_which_losses_have_what():
    assert [loss.name for loss in LOSS_TABLE if loss.has_quadratic_dual] == ["squared_hinge", "squared_error"]
    assert [loss.name for loss in LOSS_TABLE if loss.has_probabilities] == ["log_loss"]
    assert [loss.name for loss in LOSS_TABLE if len(loss.scalings) > 1] == ["hinge"]
    assert all(loss.scalings[0] == 1 for loss in LOSS_TABLE)
