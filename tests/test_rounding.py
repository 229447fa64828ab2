"""Which texts are numbers: one rule, wherever text is read."""

import io

import numpy as np
import pandas as pd
import pytest

from kernelsketch import GCWSRegressor
from kernelsketch._estimator import numeric_targets
from kernelsketch._rounding import float_of, floats_of
from kernelsketch.cli.work.dedup import _number_or_time
from kernelsketch.cli.work.train_table import as_targets
from kernelsketch.exceptions import InputError
from kernelsketch.formats import open_rows
from kernelsketch.tabular import read_table, text_table

NUMBERS = [
    "0",
    "-1",
    "+2",
    "1.",
    ".5",
    "-.5",
    "007",
    "1e5",
    "1E+05",
    "2.5e-3",
    "12345678901234567890",
    "1e-400",
    "-0.0",
]
NOT_NUMBERS = [
    *(
        "1_0",
        "1__0",
        "_1",
        "0x10",
        "0b1",
        "1e",
        "e5",
        ".",
        "+",
        "-",
        "--1",
        "1-",
        "1e5.5",
        "1 2",
        "1d5",
        "1f",
        "1L",
        "x",
    ),
    *("nan", "-nan", "inf", "-inf", "Infinity", "infinity"),
    *("\uff11\uff12", "\u0663", "\u0967", "1\u0663", "\u00bd", "\u00b2", "\u2212" + "1"),  # other scripts
]
MISSING = {"nan", "-nan"}  # in tables


def csv_feature(text):
    return next(iter(open_rows(io.BytesIO(f"1,{text}\n".encode()), format="csv", header=False))).X[0, 1]


def csv_feature_by_python(text):
    """Native code leaves cells with quotes to Python."""
    return next(iter(open_rows(io.BytesIO(f'"1","{text}"\n'.encode()), format="csv", header=False))).X[0, 1]


def csv_label(text):
    content = io.BytesIO(f"1,{text}\n".encode())
    return next(iter(open_rows(content, format="csv", header=False, label=1, text_labels=False))).y[0]


def libsvm_feature(text):
    return next(iter(open_rows(io.BytesIO(f"1 1:{text}\n".encode()), format="libsvm"))).X.toarray()[0, 0]


def libsvm_label(text):
    return next(iter(open_rows(io.BytesIO(f"{text} 1:1\n".encode()), format="libsvm", text_labels=False))).y[0]


def in_table(column):
    assert column.kind == "number"
    assert not column.notation
    assert np.isfinite(column.values).all()  # fits and predictions refuse infinity
    return column.values[0]


READERS = {
    "float_of": lambda text: float_of(text) + 0.0,
    "floats_of": lambda text: floats_of([text, "1"])[0],
    "csv feature": csv_feature,
    "csv feature by Python": csv_feature_by_python,
    "csv label": csv_label,
    "libsvm feature": libsvm_feature,
    "libsvm label": libsvm_label,
    "cells of a table": lambda text: in_table(text_table(np.array([[text], ["1"]], object), ["a"]).columns[0]),
    "objects of a table": lambda text: in_table(read_table(pd.DataFrame({"a": [text, "1"]})).columns[0]),
    "targets": lambda text: numeric_targets([text, "1"], "x")[0],
    "labels of a table": lambda text: as_targets(np.array([text, "1"]))[0] + 0.0,
    "priorities": _number_or_time,
}


@pytest.mark.parametrize("reader", READERS)
def test_numbers(reader):
    for text in NUMBERS:
        assert READERS[reader](text) == float(text), text


@pytest.mark.parametrize("reader", READERS)
def test_other_texts(reader):
    for text in NOT_NUMBERS:
        if "table" in reader and text in MISSING:
            continue
        if reader == "targets" and text.lower().strip("+-") in ("nan", "inf", "infinity"):
            continue  # which the next check refuses by name
        with pytest.raises((InputError, ValueError, TypeError, AssertionError)):
            READERS[reader](text)


@pytest.mark.parametrize("text", ["1_0", "\uff11"])
def test_targets_of_a_model(text):
    with pytest.raises(InputError, match=r"y contains '.*, but GCWSRegressor predicts numbers"):
        GCWSRegressor(8).fit(np.eye(3), [text, "1", "2"])


def test_many_at_once():
    texts = np.random.default_rng(0).normal(size=1000).astype(str).tolist()
    np.testing.assert_array_equal(floats_of(texts), [float(text) for text in texts])
    assert floats_of([*texts, "1_0"]) is None
    assert floats_of([*texts, "nan"]) is None
    assert floats_of(["1e999"])[0] == np.inf
