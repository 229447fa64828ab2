"""Errors about a parameter carry its name: ``error.parameter``."""

import ast
import copy
import io
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils._param_validation import InvalidParameterError

import kernelsketch as ks
from kernelsketch import exceptions, theory
from kernelsketch.exceptions import (
    InputError,
    InputTypeError,
    KernelsketchError,
    MissingExtraError,
    ParameterError,
    Sentence,
    Setting,
)
from kernelsketch.formats import open_rows, write_rows
from kernelsketch.hashing import PackedCodes
from kernelsketch.text import Shingles

X = np.random.default_rng(0).random((12, 4))
TABLE = b"a,b,y\n1,2,0\n3,4,1\n"
LIBRARY = Path(ks.__file__).parent


KINDS = [kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, KernelsketchError)]


def index(**parameters):
    return ks.GCWSIndex(**parameters).fit(X)


def rows(text=TABLE, **options):
    return list(open_rows(io.BytesIO(text), **options))


# What is called, the parameter that the error is about, and a part of the message.
CALLS = {
    "p": (lambda: ks.gmm_kernel(X, p=0), "p must be a finite number above 0, got 0."),
    "p type": (lambda: ks.gmm_kernel(X, p="1"), "p must be a number above 0"),
    "p large": (lambda: ks.gmm_kernel(X, p=1e7), "p must be at most 1e+06"),
    "gamma": (lambda: ks.egmm_kernel(X, gamma=-1), "gamma must be"),
    "center": (lambda: ks.gmm_kernel(X, center="middle"), "center must be None, 'mean', 'median' or a vector"),
    "center type": (lambda: ks.gmm_kernel(X, center=["a"] * 4), "center must hold real numbers"),
    "center shape": (lambda: ks.gmm_kernel(X, center=[1.0]), "center must have one value per feature"),
    "center nan": (lambda: ks.gmm_kernel(X, center=[np.nan] * 4), "center contains NaN"),
    "center masked": (lambda: ks.gmm_kernel(X, center=np.ma.masked_all(4)), "center is a masked array"),
    "center sparse": (lambda: ks.gmm_kernel(sparse.csr_array(X), center="mean"), "center cannot be used with sparse"),
    "center row": (lambda: ks.gmm_kernel(X[0], X[1], center="mean"), "center='mean' cannot be learned from two"),
    "center one row": (lambda: ks.sign_split(X[0], center="mean"), "center='mean' cannot be learned from one row"),
    "out": (lambda: ks.gmm_kernel(X, out=[]), "out must be a NumPy array"),
    "out shape": (lambda: ks.gmm_kernel(X, out=np.empty((2, 2))), "out must have shape (12, 12)"),
    "n_jobs": (lambda: ks.gmm_kernel(X, n_jobs=0), "n_jobs must not be 0"),
    "n_jobs type": (lambda: ks.gmm_kernel(X, n_jobs=1.5), "n_jobs must be None or a whole number"),
    "kernel": (lambda: next(ks.iter_kernel_blocks(X, kernel="gm")), "kernel must be one of"),
    "kernel takes": (lambda: next(ks.iter_kernel_blocks(X, kernel="gmm", gamma=1)), "kernel='gmm' takes no parameter"),
    "block_size": (lambda: next(ks.iter_kernel_blocks(X, block_size=0)), "block_size must be a whole number"),
    "kernel of features": (
        lambda: ks.GMMNystroem("gmm", n_components=4, gamma=1.0).fit(X),
        "kernel='gmm' takes no gamma",
    ),
    "t_bits": (lambda: ks.GCWS(t_bits=1, gamma=0.5).fit(X).codes(X), "t_bits=1 cannot be used with gamma=0.5"),
    "views": (lambda: ks.GCWS(views=3).fit(X), "views=3 cannot divide 4 features"),
    "views list": (lambda: ks.GCWS(views=[0, 4]).fit(X), "views=[0, 4] must be None"),
    "views sum": (lambda: ks.GCWS(views=[1, 2]).fit(X), "views=[1, 2] has widths of 3 columns"),
    "n_components": (lambda: ks.GCWS(1, views=2).fit(X).codes(X), "n_components=1 is less than the number of views"),
    "transform": (lambda: ks.GCWS().fit(X).set_output(transform="pandas"), "set_output(transform='pandas')"),
    "packed": (
        lambda: PackedCodes(np.zeros((1, 1)), np.zeros(1, bool), ks.GCWS(8).fit(X).codes(X).hasher, 4),
        "packed must be uint8",
    ),
    "ids": (lambda: index().add(X, ids=[0.5] * 12), "ids must be integers"),
    "ids repeated": (lambda: index().add(X, ids=[99] * 12), "ids must be distinct"),
    "n_neighbors": (lambda: index().kneighbors(X, n_neighbors=13), "n_neighbors=13 is more than the 12 rows"),
    "n_tables": (
        lambda: index(n_tables=2, hashes_per_table=1).set_params(n_tables=3).kneighbors(X),
        "n_tables=3 is more than",
    ),
    "threshold": (lambda: index().neighbors_above(X, threshold=2), "threshold must be above 0 and at most 1"),
    "recall": (lambda: ks.GCWSIndex().tune(X, recall=2), "recall must be above 0 and below 1"),
    "priority": (lambda: ks.NearDuplicates().fit(X, priority=[1]), "priority must be numbers of shape (12,)"),
    "keep": (lambda: ks.dedup(["a"], keep="last"), "keep must be 'first', 'longest'"),
    "keep longest": (lambda: ks.dedup(X, keep="longest"), "keep='longest' applies to texts"),
    "shingles": (lambda: ks.dedup(X, shingles=Shingles(2)), "shingles applies to texts"),
    "ngram_range": (lambda: Shingles((2, 1)).transform(["a"]), "ngram_range must be at least 1"),
    "format": (lambda: rows(format="xls"), "format must be one of"),
    "format unknown": (lambda: rows(b"\0\0"), "Pass format=... with one of libsvm"),
    "format written": (lambda: write_rows("a.xls", [(X, None)]), "by the ending of the name or by format=..."),
    "format text": (lambda: write_rows("-", [(X, None)], format="npz"), "pass format=... with"),
    "label": (lambda: rows(label="c"), "label='c': the stream has no column of that name"),
    "label number": (lambda: rows(label=3), "label=3: the stream has 3 columns"),
    "label type": (lambda: rows(label=0.5), "label must be the name or the number"),
    "label missing": (lambda: rows(b"1;2\n3;4\n", label="c", format="csv"), "label='c'"),
    "n_features": (lambda: rows(n_features=4), "has 3 columns of features, but n_features=4."),
    "n_features text": (
        lambda: rows(b"1 9:1\n", n_features=4),
        "the row has the id 9, but n_features=4. Pass a larger",
    ),
    "header": (lambda: rows(header="yes"), "header must be None, True or False"),
    "delimiter": (lambda: rows(delimiter=";;"), "delimiter must be one character"),
    "delimiter applies": (lambda: rows(b"1 1:1\n", delimiter=";"), "delimiter=';' does not apply to the stream"),
    "dtype": (lambda: rows(dtype=int), "dtype must be float32 or float64"),
    "source": (lambda: open_rows(3), "source must be a path"),
    "path": (lambda: write_rows(3, [(X, None)]), "path must be a path"),
    "method": (lambda: theory.relative_variance("x", 0.5), "method must be one of 'gcws'"),
    "rho": (lambda: theory.gmm_limit(2), "rho must be"),
    "rho type": (lambda: theory.gmm_limit("a"), "rho must be a number or an array of numbers"),
    "threshold of dedup": (lambda: ks.dedup(["a"], threshold=0), "The 'threshold' parameter of dedup must be a float"),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_of_calls(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, message = CALLS[name]
    with pytest.raises((InputError, InputTypeError)) as found:
        call()
    assert found.value.parameter == name.split()[0]
    assert message in str(found.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ks.gmm_kernel([[np.nan]]),
        lambda: ks.gmm_kernel(["a"]),
        lambda: ks.GCWSClassifier(8).fit(X, np.zeros(12)),
        lambda: rows(b"1 0:1\n"),
        lambda: rows(b"a,b\n1,x\n"),
    ],
)
def test_errors_about_data_have_none(call):
    with pytest.raises(InputError) as found:
        call()
    assert found.value.parameter is None


ESTIMATORS = [
    *(ks.GCWS, ks.GCWSClassifier, ks.GCWSClassifierCV, ks.GCWSIndex, ks.GCWSNeighborsTransformer, ks.GCWSRegressor),
    *(ks.GCWSRegressorCV, ks.GCWSTabularClassifier, ks.GCWSTabularRegressor, ks.GMMNystroem, ks.NRFF),
    *(ks.NearDuplicates, ks.RFF, ks.RelevanceScaler, Shingles),
]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_constraints_of_estimators(kind):
    """The error is ours and scikit-learn's, with the text of scikit-learn."""
    refused = [
        (name, value, error)
        for name in kind().get_params()
        for value in (-1.5, "nothing", 1j, np.float64(-1.5))
        if (error := refusal(kind(**{name: value}))) is not None
    ]
    assert len(refused) >= 5
    for name, value, error in refused:
        assert isinstance(error, ParameterError)
        assert isinstance(error, InvalidParameterError)
        assert error.parameter == name
        shown = "'nothing'" if value == "nothing" else value
        assert str(error).startswith(f"The {name!r} parameter of {kind.__name__} must be ")
        assert str(error).endswith(f". Got {shown} instead.")


def refusal(estimator):
    try:
        estimator._validate_params()
    except ValueError as error:
        return error
    return None


def test_fit_names_the_parameter():
    with pytest.raises(InvalidParameterError, match="The 'C' parameter of GCWSClassifier must be a float") as found:
        ks.GCWSClassifier(C=-1).fit(X, np.arange(12) % 2)
    assert found.value.parameter == "C"


def examples():
    for kind in KINDS:
        if kind is MissingExtraError:
            yield kind("gpu", "CuPy")
            continue
        yield kind("a sentence.")
        yield kind("a sentence.", parameter="p")
        yield kind(Setting("p", np.float64(0.5)), " with ", Setting("header", True), " is wrong.")
        yield kind("Pass ", Setting("label", ...), ".")
    try:
        ks.GCWS(bits=99).fit(X)
    except InputError as error:
        yield error


@pytest.mark.parametrize("error", examples(), ids=lambda error: f"{type(error).__name__} {error.parameter}")
def test_errors_survive_pickle_and_copy(error):
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert (str(again), again.parameter, again.args) == (str(error), error.parameter, error.args)
        assert again.message.parts == error.message.parts
        assert [vars(part) for part in again.message.parts if isinstance(part, Setting)] == [
            vars(part) for part in error.message.parts if isinstance(part, Setting)
        ]


def test_every_class_has_the_attribute():
    assert {error.parameter for error in examples()} == {None, "p", "bits"}
    assert all(hasattr(kind, "parameter") for kind in KINDS)


def test_a_message_is_a_string():
    error = InputError(Setting("p", np.float64(0.5)), " cannot be used with ", Setting("gamma"), ".")
    assert error.args == ("p=0.5 cannot be used with gamma.",)
    assert error.parameter == "p"
    assert [(part.parameter, part.value) for part in error.message.parts[::2][:2]] == [("p", "0.5"), ("gamma", None)]
    assert type(InputError("plain").args[0]) is str


def test_sentences_keep_their_parts():
    inner = Sentence("pass ", Setting("header", False))
    outer = Sentence("a {b}: ", inner, ".")
    assert outer == "a {b}: pass header=False."
    assert outer.parts == ("a {b}: ", "pass ", "header=False", ".")
    assert outer.parts[2].value is False
    assert Sentence() == ""


def message_start(call):
    """The literal text with which the message of an error begins."""
    first = call.args[0] if call.args else None
    first = first.values[0] if isinstance(first, ast.JoinedStr) else first
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def test_messages_mention_parameters_as_settings():
    found = []
    for path in sorted(LIBRARY.rglob("*.py")):
        name = path.relative_to(LIBRARY).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("InputError", "InputTypeError"):
                about = [word.arg for word in node.keywords]
                if re.match(r"[a-z_]\w*=|(?!y )[a-z_]+ must ", message_start(node)) and "parameter" not in about:
                    found.append(f"{name}:{node.lineno}")
    assert found == []
