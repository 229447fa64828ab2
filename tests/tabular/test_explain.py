"""Explanations: contributions that add up to the output, whatever the table, the model and the method."""

import itertools
import math
import re
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.exceptions import InputError, InputTypeError, MissingExtraError, ParameterError
from kernelsketch.tabular import TableMasker
from kernelsketch.tabular._explain import METHODS
from kernelsketch.tabular._read import read_table

matplotlib.use("agg")


def table(n=400, seed=0):
    """A table of everything: numbers with gaps, categories, mean targets, a date, text, and columns without use."""
    rng = np.random.default_rng(seed)
    word = rng.choice(["refund", "invoice", "thanks", "delivery"], n)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(size=n)),
            "color": pd.Series(rng.choice(["red", "green", "blue"], n)).where(rng.random(n) > 0.1),
            "shop": rng.choice([f"shop {i}" for i in range(40)], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D"),
            "message": [f"{a} order {i}" for i, a in enumerate(word)],
            "noise": rng.normal(size=n),
            "id": [f"K{i:05d}" for i in range(n)],
            "nothing": 1.0,
        }
    )
    steps = 3.0 * ((frame["size"] > 1) == (frame["color"] == "red")) - 3 * (word == "refund") * (frame["noise"] > 0)
    return frame, steps.to_numpy() + 0.05 * frame["shop"].str[5:].astype(int).to_numpy()


X, NUMBERS = table()
TWO = np.where(np.median(NUMBERS) < NUMBERS, "yes", "no")
THREE = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.7]))
TREES = {"effort": "default", "n_components": 300, "Cs": [1.0], "n_steps": 5, "n_trees": 40}
TREES |= {"n_rows": None, "n_kernel_rows": None}
MODELS = ("two", "three", "numbers", "two with trees", "three with trees", "numbers with trees", "huge numbers")


@pytest.fixture(scope="module")
def models():
    """One model of each kind."""
    found = {}
    for effort, end in (("quick", ""), (TREES, " with trees")):
        found[f"two{end}"] = GCWSTabularClassifier(effort).fit(X, TWO)
        found[f"three{end}"] = GCWSTabularClassifier(effort).fit(X, THREE)
        found[f"numbers{end}"] = GCWSTabularRegressor(effort).fit(X, NUMBERS)
    found["huge numbers"] = GCWSTabularRegressor("quick").fit(X, NUMBERS * 1e200)
    assert all((model._trees is not None) == name.endswith("trees") for name, model in found.items())
    return found


def relative_gap(explanation):
    gap = explanation.base_values + explanation.values.sum(axis=1) - explanation.output
    return np.abs(gap).max() / np.abs(explanation.output).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_output(models, name, method):
    model, rows = models[name], X[:7]
    found = model.explain(rows, method=method)
    assert relative_gap(found) < 1e-9
    n_outputs = (3,) if name.startswith("three") else ()
    assert found.values.shape == (7, 8, *n_outputs)
    assert found.base_values.shape == found.output.shape == (7, *n_outputs)
    if name.startswith("two"):
        np.testing.assert_array_equal(found.output, model.decision_function(rows))
        P = model.predict_proba(rows)
        np.testing.assert_allclose(found.output, np.log(P[:, 1] / P[:, 0]), rtol=1e-9)
        assert (found.space, found.output_names, found.title) == ("log-odds", ("yes",), "log-odds of yes")
    elif name.startswith("three"):
        np.testing.assert_allclose(np.exp(found.output), model.predict_proba(rows), rtol=1e-9)
        assert (found.space, found.output_names) == ("log-probability", (0, 1, 2))
    else:
        np.testing.assert_array_equal(found.output, model.predict(rows))
        assert (found.space, found.output_names) == ("target", ())
    assert found.feature_names == tuple(X.columns)
    assert (found.values[:, 6:] == 0).all()  # columns that are not used
    assert np.abs(found.values[:, :3]).min(axis=0).max() > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["two", "three with trees"])
def test_rows_do_not_depend_on_their_neighbours_order_or_threads(models, name, method):
    model = models[name]
    whole = model.explain(X[:6], method=method)
    turned = model.explain(X[:6][X.columns[::-1]][::-1], method=method)
    np.testing.assert_array_equal(turned.values[::-1], whole.values)
    np.testing.assert_array_equal(model.explain(X[2:3], method=method).values[0], whole.values[2])
    model.set_params(n_jobs=2)
    np.testing.assert_array_equal(model.explain(X[:6], method=method).values, whole.values)
    model.set_params(n_jobs=None)


def test_small_batches_give_the_same_bits(models, monkeypatch):
    from kernelsketch.tabular import _credit, _explain, _shapley

    whole = {method: models["two with trees"].explain(X[:5], method=method).values for method in METHODS}
    monkeypatch.setattr(_explain, "BATCH_BYTES", 20_000)
    monkeypatch.setattr(_shapley, "BATCH_BYTES", 20_000)
    monkeypatch.setattr(_credit, "BATCH_BYTES", 20_000)
    for method, values in whole.items():
        np.testing.assert_array_equal(models["two with trees"].explain(X[:5], method=method).values, values)


@pytest.mark.parametrize("name", ["two with trees", "numbers"])
def test_a_loaded_model_explains_the_same(models, name, tmp_path):
    model = models[name]
    model.save(tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    for method in METHODS:
        first, second = (part.explain(X[:4], method=method) for part in (model, again))
        np.testing.assert_array_equal(first.values, second.values)
        np.testing.assert_array_equal(first.base_values, second.base_values)


def test_a_file_without_training_rows(models, tmp_path):
    path = tmp_path / "m.safetensors"
    models["two"].save(path, background=False)
    again = load_model(path)
    np.testing.assert_array_equal(again.predict_proba(X), models["two"].predict_proba(X))
    with pytest.raises(InputError, match="pass some rows of the training table as background"):
        again.explain(X[:2])
    found = again.explain(X[:2], background=X[100:140])
    np.testing.assert_array_equal(found.values, models["two"].explain(X[:2], background=X[100:140]).values)
    models["two"].save(tmp_path / "with.safetensors")
    assert path.stat().st_size < (tmp_path / "with.safetensors").stat().st_size


@pytest.mark.parametrize("method", METHODS)
def test_one_column_that_decides_gets_everything(method):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(300, 1)), np.ones((300, 2))])
    model = GCWSTabularRegressor("quick").fit(rows, 3 * rows[:, 0])
    found = model.explain(rows[:10], method=method)
    np.testing.assert_allclose(found.values[:, 0], model.predict(rows[:10]) - found.base_values, atol=1e-9)
    assert (found.values[:, 1:] == 0).all()


def test_shapley_values_are_those_of_all_orders(models):
    """Three columns differ from the one background row, so that all orders can be tried: they give the exact values.

    The mean of many draws is within 5 standard errors of it (false alarms below 1e-4).
    """
    model, names = models["two"], ["size", "color", "shop"]
    row, other = X[:1], X[:1].copy()
    other[names] = X.loc[[5], names].to_numpy()
    assert (row[names].to_numpy() != other[names].to_numpy()).all()

    def output(chosen):
        mixed = other.copy()
        mixed[chosen] = row[chosen]
        return model.decision_function(mixed)[0]

    exact = dict.fromkeys(names, 0.0)
    for order in itertools.permutations(names):
        for i, name in enumerate(order):
            exact[name] += (output(list(order[: i + 1])) - output(list(order[:i]))) / math.factorial(3)
    drawn = np.array([model.explain(row, background=other, random_state=s).values[0, :3] for s in range(60)])
    error = drawn.std(axis=0) / np.sqrt(60) + 1e-9
    assert (np.abs(drawn.mean(axis=0) - list(exact.values())) < 5 * error).all()
    both = model.explain(row, background=pd.concat([other] * 3), random_state=0)
    assert (both.values[0, 3:] == 0).all()


def test_additive_functions_have_no_errors_of_orders():
    """Where columns do not interact in the trees, each order gives the same changes: a draw is exact."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    model = GCWSTabularRegressor("quick").fit(rows, rows[:, 0])
    model._values = lambda features: (features @ [1.0, 2.0, -3.0])[:, None]
    found = model.explain(rows[:5], background=rows[100:150])
    expected = (rows[:5] - rows[100:150].mean(axis=0)) * [1, 2, -3]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    spread = rows[100:150].std(axis=0, ddof=1) / np.sqrt(50) * [1, 2, 3]
    np.testing.assert_allclose(found.errors, np.broadcast_to(spread, (5, 3)), rtol=1e-9)


def test_more_background_rows_have_smaller_errors(models):
    few, many = (models["two"].explain(X[:5], background=X[200 : 200 + n]) for n in (16, 160))
    assert few.errors.mean() > 2 * many.errors.mean()
    assert np.isnan(models["two"].explain(X[:2], background=X[5:6]).errors).all()


def test_of_many_background_rows_some_are_drawn(models):
    first, second = (models["two"].explain(X[:2], background=X, random_state=s, method="hashes") for s in (0, 1))
    assert first.base_values[0] != second.base_values[0]
    assert first.base_values[0] == pytest.approx(models["two"].decision_function(X).mean(), abs=0.2)


@pytest.mark.parametrize("name", ["two", "two with trees", "numbers with trees"])
def test_methods_agree(models, name):
    """Also see docs/decisions/0032-explanations.rst."""
    first, second = (models[name].explain(X[:40], method=method).values for method in METHODS)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.8


def test_trees_have_shapley_values_of_columns(models):
    """Where the trees decide alone, the fast method gives the Shapley values of all subsets of the columns.

    Features of one column, such as words, date parts and mean targets, change together.
    """
    model = models["numbers with trees"]
    share, columns = model.trees_share_, list(range(6))
    owners = np.array([feature.column for feature in model._plan.features])
    assert len(owners) > 2 * len(columns)
    features, known = (model._plan.encode(read_table(rows))[:] for rows in (X[:3], X[50:56]))
    model.trees_share_ = 1.0
    try:
        found = model.explain(X[:3], background=X[50:56], method="hashes")
        value = {
            chosen: np.array([model._values(np.where(np.isin(owners, chosen), row, known)).mean() for row in features])
            for size in range(7)
            for chosen in itertools.combinations(columns, size)
        }
    finally:
        model.trees_share_ = share
    for column in columns:
        expected = np.zeros(3)
        for chosen in (chosen for chosen in value if column not in chosen):
            weight = 1 / (6 * math.comb(5, len(chosen)))
            expected += weight * (value[tuple(sorted((*chosen, column)))] - value[chosen])
        np.testing.assert_allclose(np.ldexp(expected, model._exponent), found.values[:, column], atol=1e-9)


def test_cells_are_shown_as_they_were_read(models):
    found = models["two"].explain(X[:3])
    assert found.data[0, 0] == X["size"][0]
    assert isinstance(found.data[0, 0], float)
    assert found.data[0, 3] == X["day"].to_numpy()[0]
    assert found.data[:, 1].tolist() == [None if value is None or value != value else value for value in X["color"][:3]]


class TestValue:
    def test_rows(self, models):
        found = models["two"].explain(X[:5])
        assert len(found) == 5
        assert len(found[0]) == 8
        assert repr(found) == "<Explanation of 5 rows, 8 columns, log-odds of yes>"
        np.testing.assert_array_equal(found[1:3].values, found.values[1:3])
        np.testing.assert_array_equal(found[[4, 0]].values, found.values[[4, 0]])
        assert [part.output for part in found] == found.output.tolist()
        with pytest.raises(InputError, match="has 5 rows, and 5 is none of them"):
            found[5]
        with pytest.raises(InputError, match="of one row"):
            found[0][0]
        with pytest.raises(InputError, match="of_class"):
            found[:, 1]

    def test_top(self, models):
        row = models["two"].explain(X[:1])[0]
        found = row.top(2)
        assert [name for name, _, _ in found][2] == "6 others"
        assert abs(found[0][2]) >= abs(found[1][2]) == np.sort(np.abs(row.values))[-2]
        assert row.base_values + sum(part for _, _, part in found) == pytest.approx(row.output)
        assert len(row.top(8)) == 8
        with pytest.raises(InputError, match="one row"):
            models["two"].explain(X[:2]).top(1)

    def test_classes(self, models):
        found = models["three"].explain(X[:4])
        np.testing.assert_array_equal(found.of_class(2).values, found.values[:, :, 2])
        assert found.of_class(2).title == "log-probability of 2"
        with pytest.raises(ParameterError, match=re.escape("label='x' is not a class of this explanation (0, 1, 2)")):
            found.of_class("x")
        with pytest.raises(ParameterError, match="the model predicts numbers"):
            models["numbers"].explain(X[:1]).of_class(1)

    @pytest.mark.parametrize("name", ["two", "three", "numbers"])
    def test_notebook(self, models, name):
        rows = X[:7].assign(color="<b>")
        html = models[name].explain(rows)._repr_html_()
        assert html.count("<table") == 5
        assert "... and 2 more rows" in html
        assert "&lt;b&gt;" in html
        assert "<b>" not in html
        assert models[name].explain(rows)[0]._repr_html_().count("<table") == 1


class TestBadInput:
    def test_methods(self, models):
        with pytest.raises(ParameterError, match="method='tree' is none of 'shapley', 'hashes'"):
            models["two"].explain(X[:1], method="tree")

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            GCWSTabularClassifier().explain(X)

    def test_columns(self, models):
        with pytest.raises(InputError, match="lacks the column 'size'"):
            models["two"].explain(X.drop(columns="size"))
        with pytest.raises(InputError, match="lacks the column 'size'"):
            models["two"].explain(X[:1], background=X.drop(columns="size"))

    def test_plots(self, models):
        with pytest.raises(InputError, match="row=3 is not a row of X, which has 2 rows"):
            models["two"].plot_explanation(X[:2], 3)
        with pytest.raises(InputTypeError, match="method is for rows"):
            models["two"].plot_explanation(models["two"].explain(X[:1]), method="hashes")

    def test_damaged_background(self, models):
        kept = models["two"]._background
        from kernelsketch.tabular._file import _background

        good = {"background.numbers": kept.numbers, "background.positions": kept.positions}
        assert _background(models["two"]._plan, good).shape == kept.shape
        for name, value in (("numbers", np.inf), ("positions", 10**6), ("positions", -2)):
            bad = {key: part.copy() for key, part in good.items()}
            bad[f"background.{name}"][0, 0] = value
            with pytest.raises(InputError, match="background rows do not fit"):
                _background(models["two"]._plan, bad)


class TestPlot:
    @pytest.mark.parametrize("name", ["two", "three", "numbers"])
    def test_bars_lead_from_the_base_to_the_output(self, models, name):
        from matplotlib import pyplot

        model, row = models[name], models[name].explain(X[3:4])[0]
        ax = model.plot_explanation(X, 3, n_columns=4)
        bars = ax.patches
        assert len(bars) == 5
        if name == "three":
            row = row.of_class(model.predict(X[3:4])[0])
        assert bars[0].get_x() == pytest.approx(float(row.base_values))
        last = bars[-1]
        assert last.get_x() + last.get_width() == pytest.approx(float(row.output))
        assert ax.get_yticklabels()[0].get_text() == "4 others"
        again = model.plot_explanation(model.explain(X[3:5]), 0, n_columns=4)
        assert [bar.get_width() for bar in again.patches] == [bar.get_width() for bar in bars]
        assert model.plot_explanation(row, ax=ax) is ax
        pyplot.close("all")

    def test_interval(self, models):
        from matplotlib import pyplot

        model = models["numbers"]
        ax = model.plot_explanation(X, 3, n_columns=4, coverage=0.8)
        assert [label.get_text() for label in ax.get_yticklabels()][-1] == "80 % interval"
        ends, output = ax.lines[-2:]
        np.testing.assert_array_equal(ends.get_xdata(), model.predict_interval(X[3:4], 0.8)[0])
        assert output.get_xdata()[0] == model.predict(X[3:4])[0]
        low, high = ax.get_xlim()
        assert low < min(ends.get_xdata())
        assert max(ends.get_xdata()) < high
        pyplot.close("all")
        with pytest.raises(ParameterError, match=r"coverage=0\.9 is for models that predict numbers; predict_set"):
            models["two"].plot_explanation(X, coverage=0.9)
        with pytest.raises(InputTypeError, match="coverage is for rows"):
            model.plot_explanation(model.explain(X[:1]), coverage=0.9)
        with pytest.raises(InputError, match=r"coverage=1\.5 must be a number above 0 and below 1"):
            model.plot_explanation(X, coverage=1.5)


def test_missing_shap(models, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'kernelsketch[shap]'")):
        models["two"].explain(X[:2]).to_shap()


class TestMasker:
    """Rows for the explainers of shap, whether it is installed or not."""

    def test_rows(self):
        masker, row = TableMasker(X[:5]), X[5:6].to_numpy(object)[0]
        assert masker.shape == (5, 8)
        pd.testing.assert_frame_equal(masker(np.zeros(8, bool), row)[0], X[:5])
        every = masker(np.ones(8, bool), row)[0]
        pd.testing.assert_frame_equal(every, pd.concat([X[5:6]] * 5, ignore_index=True), check_dtype=False)
        some = masker(np.arange(8) < 2, row)[0]
        pd.testing.assert_frame_equal(some[list(X.columns[2:])], X[:5][list(X.columns[2:])])
        assert (some["color"] == row[1]).all() or row[1] is None

    def test_what_does_not_vary(self):
        rows = pd.DataFrame({"a": ["x", None, "y"], "b": [1.0, np.nan, 2.0], "c": pd.array([1, None, 3], "Int64")})
        masker = TableMasker(rows)
        for i, row in enumerate(rows.to_numpy(object)):
            assert masker.invariants(row)[i].all()
        np.testing.assert_array_equal(masker.invariants(["x", np.nan, 3])[:, 0], [True, False, False])
        np.testing.assert_array_equal(masker.invariants(["x", np.nan, 3])[:, 1], [False, True, False])
        np.testing.assert_array_equal(masker.invariants(["x", np.nan, 3])[:, 2], [False, False, True])

    def test_of_many_rows_some_are_drawn(self):
        masker = TableMasker(X, max_samples=30)
        assert masker.shape == (30, 8)
        drawn = masker(np.zeros(8, bool), X.to_numpy(object)[0])[0]
        assert set(drawn["id"]) < set(X["id"])

    def test_bad_input(self):
        with pytest.raises(InputTypeError, match="X must be a data frame of pandas, got ndarray"):
            TableMasker(X.to_numpy())
        with pytest.raises(InputError, match="X has no rows"):
            TableMasker(X[:0])
        with pytest.raises(ParameterError, match="max_samples=0 must be at least 1"):
            TableMasker(X, 0)


class TestProgress:
    def test_of_rows(self, models, monkeypatch, capsys):
        from kernelsketch.tabular import _progress

        texts = []
        models["two"].explain(X[:4], progress=texts.append)
        assert texts == []  # it takes less than five seconds
        monkeypatch.setattr(_progress, "SECONDS", 0.0)
        models["two"].explain(X[:4], progress=texts.append)
        assert [text.split(",")[0] for text in texts] == ["1 of 4 rows", "2 of 4 rows", "3 of 4 rows"]
        assert capsys.readouterr().err == ""
        models["numbers"].explain(X[:2])
        assert re.fullmatch(r"GCWSTabularRegressor.explain: 1 of 2 rows, about \d+ s left\n", capsys.readouterr().err)

    def test_of_batches(self, models, monkeypatch):
        from kernelsketch.tabular import _explain, _progress

        texts = []
        monkeypatch.setattr(_progress, "SECONDS", 0.0)
        monkeypatch.setattr(_explain, "BATCH_BYTES", 5_000)
        models["two"].explain(X[:50], method="hashes", progress=texts.append)
        assert len(texts) > 1
        assert texts[0].endswith(" s left")

    def test_bad_input(self, models):
        with pytest.raises(InputTypeError, match="progress must be a function of a text, got bool"):
            models["two"].explain(X[:1], progress=True)


def test_models_of_earlier_versions_say_what_to_pass(models):
    model = models["two"]
    kept = model._background
    try:
        del model._background  # as in a pickle of an earlier version
        with pytest.raises(InputError, match="background=None needs the training rows"):
            model.explain(X[:1])
    finally:
        model._background = kept


def test_an_explanation_is_a_value(models):
    found = models["two"].explain(X[:1])
    assert replace(found, space="target").space == "target"
    with pytest.raises(AttributeError):
        found.space = "target"
