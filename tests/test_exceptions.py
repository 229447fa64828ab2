"""Messages show values as Python writes them, wherever they come from."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import kernelsketch
from kernelsketch import GCWS, GCWSClassifierCV, GCWSIndex, GCWSTabularClassifier, exceptions, gmm_kernel
from kernelsketch.exceptions import InputError, KernelsketchError, MissingExtraError, UnavailableError, plain
from kernelsketch.text import Shingles

ROOT = Path(__file__).parents[1]
OURS = {name for name, kind in vars(exceptions).items() if isinstance(kind, type) and issubclass(kind, Exception)}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(0.0), "0.0"),
        (np.float32(1.5), "1.5"),
        (np.float64(-1e-300), "-1e-300"),
        (np.float64("nan"), "nan"),
        (np.int64(-3), "-3"),
        (np.uint8(3), "3"),
        (np.True_, "True"),
        (np.bool_(False), "False"),
        (np.str_("a"), "'a'"),
        (np.str_("it's (a)"), '"it\'s (a)"'),
        (np.str_("np.float64(1)"), "'np.float64(1)'"),
        (np.bytes_(b"a"), "b'a'"),
        ([np.float64(0.0), (np.str_("x"), np.int8(1))], "[0.0, ('x', 1)]"),
        ({np.str_("a"): np.float64(2)}, "{'a': 2.0}"),
        (np.datetime64("2020-01-01"), "'2020-01-01'"),
        (np.complex128(1 + 2j), "1+2j"),
    ],
)
def test_scalars_of_numpy_look_like_those_of_python(value, text):
    found = str(InputError(f"got {value!r}, and more"))
    assert found == f"got {text}, and more"


def test_every_class_does_it_and_keeps_its_arguments():
    for kind in KernelsketchError.__subclasses__():
        if kind is not MissingExtraError:
            assert str(kind(f"got {np.float64(0.0)!r}")) == "got 0.0", kind
    assert str(UnavailableError("np.int64(3)")) == "3"
    advice = "convert with np.asarray(X, dtype=float), np.empty(shape) or np.float64"
    assert plain(advice) == advice


@pytest.mark.parametrize(
    "call",
    [
        lambda: gmm_kernel([[1.0]], p=np.float64(0.0)),
        lambda: GCWS(views=[np.int64(0), np.int64(2)]).fit([[1.0, 2.0]]),
        lambda: GCWSClassifierCV(Cs=[np.float64(-1)]).fit(np.eye(4), [0, 1, 0, 1]),
        lambda: GCWSIndex().fit(np.eye(3)).query_pairs(np.float64(0.0)),
        lambda: GCWSTabularClassifier().fit(np.eye(3), np.array(["a", "a", "a"])),
        lambda: GCWSIndex().fit(np.eye(3)).remove([np.int64(7)]),
    ],
)
def test_messages_of_the_library(call):
    with pytest.raises(KernelsketchError) as found:
        call()
    assert not re.search(r"\bnp\.\w+\(", str(found.value))


ESTIMATORS = [
    kernelsketch.GCWS,
    kernelsketch.GCWSClassifier,
    kernelsketch.GCWSClassifierCV,
    kernelsketch.GCWSIndex,
    kernelsketch.GCWSNeighborsTransformer,
    kernelsketch.GCWSRegressor,
    kernelsketch.GCWSRegressorCV,
    kernelsketch.GCWSTabularClassifier,
    kernelsketch.GCWSTabularRegressor,
    kernelsketch.GMMNystroem,
    kernelsketch.NRFF,
    kernelsketch.NearDuplicates,
    kernelsketch.RFF,
    kernelsketch.RelevanceScaler,
    Shingles,
]


def refusal(estimator):
    try:
        estimator._validate_params()
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_messages_of_scikit_learn_about_parameters(kind):
    values = [np.float64(-1.5), np.str_("nothing"), np.datetime64("2020-01-01"), [np.float64(0.5)], np.complex128(1j)]
    refused = 0
    for name in kind().get_params():
        for value in values:
            message = refusal(kind(**{name: value}))
            refused += bool(message)
            assert not message or name in message
            assert not re.search(r"\bnp\.\w+\(", message)
    assert refused >= 5


def test_no_other_error_shows_a_value_by_its_repr():
    """An error that is not one of ours does not pass through ``plain``: it must not show values that may be NumPy's."""
    paths = sorted((ROOT / "src/kernelsketch").rglob("*.py"))
    assert ROOT / "src/kernelsketch/exceptions.py" in paths
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            name = getattr(node.exc.func, "id", None) or getattr(node.exc.func, "attr", "")
            shows = [part for part in ast.walk(node) if isinstance(part, ast.FormattedValue) and part.conversion == 114]
            known = OURS | {"UsageError", "AttributeError", "_refusal"}  # the last one makes an InputError
            assert not shows or name in known, f"{path}:{node.lineno}"
