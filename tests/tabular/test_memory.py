"""Memory of fits: in proportion to the table and to the codes of its rows, not to its features or its longest text."""

import sys
import textwrap

import pytest

from helpers.memory import extra_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")

IMPORTS = """
    import pandas
    from kernelsketch import GCWSClassifier, GCWSTabularClassifier, GCWSTabularRegressor
    from kernelsketch.tabular import text_table

    def long_text(n):
        texts = rng.choice(["red", "green", "blue"], n).astype(object)
        texts[7] = "x" * 100_000
        return texts

    def mixed(n):
        columns = {f"n{i}": rng.normal(size=n) for i in range(10)}
        columns |= {f"c{i}": pandas.Categorical.from_codes(rng.integers(0, 40, n), range(40)) for i in range(8)}
        columns |= {"t": rng.normal(size=n).round(2).astype(str).astype(object)}
        columns |= {"d": np.datetime64("2020-01-01") + rng.integers(0, 999, n)}
        return pandas.DataFrame(columns)

    def fitted(kind, X, y, effort="quick"):
        return np.asarray(kind(effort).fit(X, y).held_out_score_)
"""


@pytest.mark.parametrize(
    ("make", "call"),
    [
        ("long_text(2000)", "fitted(GCWSTabularClassifier, pandas.DataFrame({'a': X}), np.arange(2000) % 2)"),
        ("long_text(2000)", "fitted(GCWSTabularClassifier, text_table(X[:, None], ['a']), np.arange(2000) % 2)"),
        ("long_text(2000)", "fitted(GCWSTabularClassifier, rng.normal(size=(2000, 3)), X.tolist())"),
        ("long_text(2000)", "GCWSClassifier(8).fit(rng.normal(size=(2000, 3)), X.tolist()).fitted_.weights"),
    ],
)
def test_one_long_text(make, call):
    """An array of 2,000 texts of 100,000 characters would take 763 MiB."""
    warm_up = "fitted(GCWSTabularClassifier, np.arange(80.0)[:, None], np.arange(80) % 2)"
    assert extra_memory(make, warm_up, call, textwrap.dedent(IMPORTS)) < 150


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "most"), [("Classifier", 350), ("Regressor", 450)])
def test_default_fit(kind, most):
    """60,000 rows have 132 MiB of codes, and 330 features: as an array, 150 MiB, and in three views 230 MiB."""
    y = "X['n0'] + X['n1'] > 0" if kind == "Classifier" else "X['n0'] + X['n1'] * X['n2']"
    call = f"fitted(GCWSTabular{kind}, X, {y}, 'default')"
    warm_up = f"fitted(GCWSTabular{kind}, X[:2000], ({y})[:2000], 'default')"
    assert extra_memory("mixed(60_000)", warm_up, call, textwrap.dedent(IMPORTS)) < most
