"""A warning names the line of the user's program, however many frames are in between."""

import ast
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager
from inspect import currentframe
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from kernelsketch import GMMNystroem
from kernelsketch._warnings import warn_user

LIBRARY = Path(__file__).parents[1] / "src" / "kernelsketch"

# A module of a package, with an estimator that warns from inside of a few functions and a context manager.
MODULE = """
from contextlib import contextmanager
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from kernelsketch._warnings import warn_user

@contextmanager
def warned():
    warn_user("a sentence", RuntimeWarning)
    yield

def inner():
    with warned():
        return 0

class Estimator(TransformerMixin, BaseEstimator):
    _parameter_constraints = {"a": "no_validation"}

    def __init__(self, a=0):
        self.a = a

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        self.fitted_ = inner()
        return self

    def transform(self, X):
        return X

    def score(self, X, y=None):
        return 0.0
"""


def module(name):
    names = {"__name__": name}
    exec(compile(MODULE, f"/packages/{name}.py", "exec"), names)
    return names


def line():
    return currentframe().f_back.f_lineno


@contextmanager
def warns_of(lines):
    """Check that the only warning names this file and the line in ``lines``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert {str(w.message) for w in caught} == {"a sentence"}
    assert {w.category for w in caught} == {RuntimeWarning}
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, lines[0])}


def test_a_direct_call():
    Estimator, lines = module("kernelsketch.part._module")["Estimator"], []
    with warns_of(lines):
        lines.append(line() + 1)
        Estimator().fit(np.zeros((2, 2)))


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_calls_by_scikit_learn_and_joblib(n_jobs):
    Estimator, lines = module("kernelsketch.part._module")["Estimator"], []
    search = GridSearchCV(make_pipeline(Estimator(), Estimator()), {"estimator-1__a": [0, 1]}, cv=2, n_jobs=n_jobs)
    with warns_of(lines):
        lines.append(line() + 1)
        search.fit(np.zeros((6, 2)), [0, 1] * 3)


def test_a_call_in_a_thread():
    Estimator, lines = module("kernelsketch.part._module")["Estimator"], []

    def work():
        lines.append(line() + 1)
        Estimator().fit(np.zeros((2, 2)))

    with warns_of(lines):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def test_a_thread_that_begins_in_the_library():
    """The outermost frames are Python's own."""
    Estimator = module("kernelsketch.part._module")["Estimator"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=Estimator().fit, args=(np.zeros((2, 2)),))
        thread.start()
        thread.join()
    assert [w.filename for w in caught] == [threading.__file__]


def test_other_packages_are_users():
    inner = module("kernelsketch_paper.part")["inner"]
    with pytest.warns(RuntimeWarning) as caught:
        inner()
    assert caught[0].filename == "/packages/kernelsketch_paper.part.py"


def test_a_user_is_warned_once_per_line():
    """Python's default filter counts by the line of the user, as for ``warnings.warn``."""
    inner = module("kernelsketch.part._module")["inner"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            inner()
        inner()
    assert len(caught) == 2


def test_filters_know_the_module_of_the_user():
    inner = module("kernelsketch.part._module")["inner"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", module=__name__)
        with pytest.raises(RuntimeWarning, match="a sentence"):
            inner()


def test_the_category_is_user_warning_unless_given():
    with pytest.warns(UserWarning, match="a sentence"):
        warn_user("a sentence")


def test_a_program_on_the_command_line_of_python():
    program = f"names = {{'__name__': 'kernelsketch.part'}}\nexec({MODULE!r}, names)\nnames['inner']()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.startswith("<string>:3: RuntimeWarning: a sentence")


def test_a_transformer_in_a_pipeline():
    pipeline = make_pipeline(GMMNystroem(n_components=9))
    with pytest.warns(UserWarning, match="n_components=9 is more than the 5 rows of X") as caught:
        pipeline.fit_transform(np.ones((5, 2)))
    assert caught[0].filename == __file__


def test_nothing_counts_stack_levels():
    paths = sorted(LIBRARY.rglob("*.py"))
    assert LIBRARY / "_warnings.py" in paths
    for path in paths:
        part = path.relative_to(LIBRARY).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            counted = isinstance(node, ast.Call) and any(word.arg == "stacklevel" for word in node.keywords)
            assert not counted, f"{path}:{node.lineno}: use warn_user"
            function = node.func if isinstance(node, ast.Call) else None
            calls_warn = isinstance(function, ast.Attribute) and function.attr in ("warn", "warn_explicit")
            assert not calls_warn or part == "_warnings.py", f"{path}:{node.lineno}: use warn_user"
