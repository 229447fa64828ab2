"""The C header of a model of tables: compiled with warnings as errors, with equal codes and nearly equal values."""

import ctypes
import shutil
import subprocess

import numpy as np
import pandas
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.backends import DenseRows
from kernelsketch.exceptions import InputError
from kernelsketch.tabular import read_table
from serving.test_c_header import COMPILER, FMA, WARNINGS, pointer
from serving.test_table_predictor import boosted, frame, target

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
TEXTS = ["color", "code", "town", "int"]


def table(n=260, seed=0):
    """Numbers, flags, gaps, categories, many categories, dates, and a column that is not used."""
    X = frame(n, seed).drop(columns=["title", "price"])
    return X.rename(columns={"flag": "?flag", "whole": "2 wholes"}).assign(
        int=X["code"].map({"1": 'a "q"\\?', "x": "é*/"})
    )


def fitted(kind, with_trees):
    X = table()
    y = target(frame())
    if kind == "number":
        model = GCWSTabularRegressor("quick").fit(X, 1e40 * y)
    else:
        labels = np.digitize(y, [0.5] if kind == "two" else [0, 1])
        model = GCWSTabularClassifier("quick").fit(X, np.array(["no", 'a "b"\\?', "yes"])[labels])
    model._trees, model.trees_share_ = (boosted(kind), 0.35) if with_trees else (None, 0.0)
    return model


def compiled(folder, text, n_classes):
    shares = "m_probabilities(r, out)" if n_classes else "0 * (int)(r != NULL) * (out != NULL)"
    (folder / "m.h").write_text(text)
    (folder / "m.c").write_text(
        '#include "m.h"\n'
        "int values(const m_row* r, double* out) { return m_values(r, out); }\n"
        f"int shares(const m_row* r, double* out) {{ return {shares}; }}\n"
        "double predict(const m_row* r) { return m_predict(r); }\n"
        "int codes(const m_row* r, uint32_t* out) {\n"
        "  double features[m_n_features], columns[m_n_sources];\n"
        "  if (m_features(r, features)) return -1;\n"
        "  m_view_columns(features, columns);\n"
        "  return m_hash_codes(columns, out);\n"
        "}\n"
    )
    for extra in ([], ["-O3"]):
        flags = ["-std=c99", *WARNINGS, "-O2", *FMA, *extra]
        subprocess.run([COMPILER, *flags, "-fPIC", "-c", folder / "m.c", "-o", folder / "m.o"], check=True)
        name = folder / f"m{len(extra)}.so"
        subprocess.run([COMPILER, "-shared", folder / "m.o", "-o", name, "-lm"], check=True)
        library = ctypes.CDLL(str(name))
        library.predict.restype = ctypes.c_double
        yield library


def struct_of(row, texts=TEXTS, unused=("constant",)):
    """A row of a data frame as the struct of the header."""
    fields, values = [], []
    for name, value in row.items():
        is_text = name in texts
        missing = value is None or value != value
        if name in unused:
            fields.append((name, ctypes.c_double))
            values.append(0.0)
        elif is_text:
            fields.append((name, ctypes.c_char_p))
            values.append(None if missing else value.encode())
        else:
            fields.append((name, ctypes.c_double))
            seconds = value.timestamp() if isinstance(value, pandas.Timestamp) else value
            values.append(float("nan") if missing else float(seconds))
    kind = type("Row", (ctypes.Structure,), {"_fields_": fields})
    return kind(*values)


@pytest.mark.parametrize("with_trees", [False, True])
@pytest.mark.parametrize("kind", ["two", "three", "number"])
def test_equals_the_model(kind, with_trees, tmp_path):
    model = fitted(kind, with_trees)
    X = table(120, 1)
    X.loc[3, "town"], X.loc[4, "color"], X.loc[5, "code"] = "nowhere", "pink", ""
    X.loc[6, "size"] = 1e300
    classes = list(getattr(model, "classes_", []))
    columns = model._views.transform(model._plan.encode(read_table(X))[:])
    codes = model.model_.fitted_.codes(DenseRows(columns))
    expected, problems = model._values_of(X), len(model.model_.fitted_.weights)
    most = np.ldexp(np.abs(expected).max(), model._exponent)
    for library in compiled(tmp_path, model.predictor().to_c("m"), len(classes)):
        for i, row in enumerate(map(struct_of, X.to_dict("records"))):
            at = ctypes.byref(row)
            own, values = np.empty(codes.shape[1], np.uint32), np.empty(problems)
            assert library.codes(at, pointer(own)) == 0
            np.testing.assert_array_equal(own, codes[i : i + 1].unpack()[0])
            assert library.values(at, pointer(values)) == 0
            scaled = np.ldexp(expected[i], model._exponent)
            np.testing.assert_allclose(values, scaled, rtol=0, atol=1e-5 * most)
            if classes:
                shares = np.empty(len(classes))
                assert library.shares(at, pointer(shares)) == 0
                np.testing.assert_allclose(shares, model._model.probabilities(expected[i : i + 1])[0], atol=1e-5)
                assert classes[int(library.predict(at))] == model.predict(X[i : i + 1])[0]
            else:
                np.testing.assert_allclose(library.predict(at), values[0])
        row = struct_of({**X.to_dict("records")[0], "size": float("inf")})
        assert library.values(ctypes.byref(row), pointer(values)) == -1
        assert np.isnan(values).all()
        assert library.predict(ctypes.byref(row)) == -1 if classes else np.isnan(library.predict(ctypes.byref(row)))


def test_choices_of_the_user(tmp_path):
    """A threshold, infinity as a gap, numbers as categories, and columns that are left out."""
    X = table()
    X.loc[::9, "size"] = np.inf
    y = target(frame()) > 1
    options = {"threshold": 0.2, "infinity": "missing", "categorical_features": ["2 wholes"], "drop": ["town", "when"]}
    model = GCWSTabularClassifier("quick", **options).fit(X, y)
    assert model.threshold_ == 0.2
    rows = [{**row, "2 wholes": str(row["2 wholes"])} for row in X[:60].to_dict("records")]
    for library in compiled(tmp_path, model.predictor().to_c("m"), 2):
        for row in rows:
            shares = np.empty(2)
            at = ctypes.byref(struct_of(row, [*TEXTS, "2 wholes"], ["town", "when", "constant"]))
            assert library.shares(at, pointer(shares)) == 0
            np.testing.assert_allclose(shares, model.predict_proba([row])[0], atol=1e-5)
            assert int(library.predict(at)) == int(model.predict([row])[0])


def test_refuses_by_name():
    X = frame()
    model = GCWSTabularClassifier("quick").fit(X, target(X) > 1)
    with pytest.raises(InputError, match=r"column 'title' is free text, .* fit a model without this column"):
        model.predictor().to_c()
    X = pandas.DataFrame({"a": ["x", "y\0z", "y"] * 30})
    model = GCWSTabularClassifier("quick").fit(X, X["a"] == "x")
    with pytest.raises(InputError, match="column 'a' has a category with a null character"):
        model.predictor().to_c()
    counts = GCWSTabularRegressor("quick", loss="poisson").fit(np.eye(3)[np.arange(90) % 3], np.arange(90) % 3)
    with pytest.raises(InputError, match="loss='poisson' cannot be exported to C"):
        counts.predictor().to_c()
    with pytest.raises(InputError, match="name='7' cannot begin names in C"):
        model.predictor().to_c("7")


def test_begins_with_the_functions_of_rows():
    """The first comment is about the table, not about the linear model inside."""
    comment = fitted("three", True).predictor().to_c("rent").partition("*/")[0]
    assert comment.startswith("/* A GCWSTabularClassifier of kernelsketch: ")
    assert "int rent_predict(const rent_row* row);" in comment
    assert "int rent_probabilities(const rent_row* row, double probabilities[3]);" in comment


def test_is_valid_for_other_compilers(tmp_path):
    text = fitted("three", True).predictor().to_c("rent")
    (tmp_path / "a.c").write_text(text + "\nint main(void) { return 0; }\n")
    for compiler in filter(None, map(shutil.which, ("gcc", "clang"))):
        for standard in ("c99", "c17"):
            subprocess.run(
                [compiler, f"-std={standard}", *WARNINGS, *FMA, "-fsyntax-only", tmp_path / "a.c"], check=True
            )
