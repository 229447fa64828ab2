"""``evaluate``: baselines, the positive class, curves, the confusion matrix in the terminal, and slices."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    log_loss,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from kernelsketch import GCWSClassifier, GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.cli._ranking import Ranking
from kernelsketch.cli.work.evaluate import confusion_table


@pytest.fixture(scope="module")
def flats(tmp_path_factory):
    """A table of rows that no model has seen, and a classifier and a regressor of others."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("flats")
    n = 400
    frame = pd.DataFrame(
        {
            "area": rng.gamma(9, 8, n).round(),
            "town": rng.choice(["north", "south", "west"], n, p=[0.58, 0.4, 0.02]),
            "rooms": rng.integers(1, 5, n),
        }
    )
    frame["let"] = np.where(frame["area"] + 20 * rng.normal(size=n) > 80, "yes", "no")
    frame["rent"] = frame["area"] * 10 + rng.normal(size=n) * 50
    frame.loc[rng.random(n) < 0.1, "area"] = np.nan
    names, half = ["area", "town", "rooms"], frame[:200]
    let = GCWSTabularClassifier("quick").fit(half[names], half["let"])
    rent = GCWSTabularRegressor("quick").fit(half[names], half["rent"])
    let.save(folder / "let.safetensors")
    rent.save(folder / "rent.safetensors")
    test = frame[200:].reset_index(drop=True)
    test.to_csv(folder / "rows.csv", index=False)
    test.to_parquet(folder / "rows.parquet", index=False)
    return folder, test, let.predict_proba(test[names]), rent.predict(test[names])


def facts_of(command, *args):
    return json.loads(command("evaluate", *args, "--json").stdout)


def test_baselines_and_the_positive_class(command, flats):
    folder, test, P, _ = flats
    common = (folder / "rows.csv", "--label", "let", "-m", folder / "let.safetensors")
    y = (test["let"] == "yes").to_numpy()
    found = facts_of(command, *common)
    assert found["baseline_accuracy"] == max(y.mean(), 1 - y.mean())
    assert found["baseline_log_loss"] == pytest.approx(log_loss(y, np.tile([1 - y.mean(), y.mean()], (200, 1))))
    assert (found["positive"], found["auc"]) == ("yes", pytest.approx(roc_auc_score(y, P[:, 1])))
    assert found["average_precision"] == pytest.approx(average_precision_score(y, P[:, 1]))
    other = facts_of(command, *common, "--positive", "no")
    assert other["average_precision"] == pytest.approx(average_precision_score(~y, P[:, 0]))
    assert other["auc"] == pytest.approx(found["auc"])
    assert other["calibration"][0]["predicted"] == pytest.approx(1 - found["calibration"][-1]["predicted"])
    shown = command("evaluate", *common, "--positive", "no").stdout
    assert "positive class     no: precision 0." in shown
    assert f"(the largest class: {100 * found['baseline_accuracy']:.2f} %)" in shown
    rent = facts_of(command, folder / "rows.csv", "--label", "rent", "-m", folder / "rent.safetensors")
    assert rent["baseline_root_mean_squared_error"] == pytest.approx(test["rent"].std(ddof=0))


def test_what_cannot_be(command, flats):
    folder = flats[0]
    common = ("evaluate", folder / "rows.csv", "--label", "let", "-m", folder / "let.safetensors")
    found = command(*common, "--positive", "yess", status=2).stderr
    assert "--positive yess is no class of" in found
    assert "pass one of its classes: yes." in found.replace("\n", " ")
    found = command(*common, "--slice", "twon", status=2).stderr.replace("\n", " ")
    assert "--slice twon" in found
    assert "The nearest: 'town'." in found
    rent = ("evaluate", folder / "rows.csv", "--label", "rent", "-m", folder / "rent.safetensors")
    assert "--positive needs a classifier" in command(*rent, "--positive", "yes", status=2).stderr


@pytest.mark.parametrize("input", ["csv", "parquet"])
def test_slices_are_scores_of_their_rows(command, flats, small_blocks, input):
    small_blocks()
    folder, test, P, _ = flats
    common = (folder / f"rows.{input}", "--label", "let", "-m", folder / "let.safetensors")
    town, rooms, area = facts_of(command, *common, "--slice", "town", "--slice", "rooms", "--slice", "area")["slices"]
    right = (np.where(P[:, 1] > P[:, 0], "yes", "no") == test["let"]).to_numpy()
    losses = -np.log(np.where(test["let"] == "yes", P[:, 1], P[:, 0]))
    assert [one["value"] for one in town["slices"]] == ["north", "south", "west"]
    assert [one["few_rows"] for one in town["slices"]] == [False, False, True]
    for one in town["slices"]:
        rows = (test["town"] == one["value"]).to_numpy()
        assert one["rows"] == rows.sum()
        assert one["accuracy"] == pytest.approx(right[rows].mean())
        assert one["accuracy_standard_error"] == pytest.approx(right[rows].std() / np.sqrt(rows.sum()))
        assert one["log_loss"] == pytest.approx(losses[rows].mean())
        assert one["log_loss_standard_error"] == pytest.approx(losses[rows].std() / np.sqrt(rows.sum()))
        assert one["observed"] == pytest.approx((test["let"][rows] == "yes").mean())
        assert one["predicted"] == pytest.approx(P[rows, 1].mean())
    assert (rooms["kind"], [str(one["value"]) for one in rooms["slices"]]) == ("values", ["1", "2", "3", "4"])
    assert (area["kind"], len(area["slices"]), area["slices"][-1]["value"]) == ("quartiles", 5, None)
    known = test["area"].dropna()
    assert [one["rows"] for one in area["slices"]][-1] == test["area"].isna().sum()
    quarters = [one["rows"] / len(known) for one in area["slices"][:-1]]
    np.testing.assert_allclose(quarters, 0.25, atol=0.03)
    first = known <= float(area["slices"][0]["value"].split(" to ")[1])
    assert first.sum() == area["slices"][0]["rows"]
    shown = command("evaluate", *common, "--slice", "area", "--slice", "town").stdout
    assert "by area, quartiles" in shown
    assert re.search(r"missing +\d+ ", shown)
    assert re.search(r"west +\d+ \(few\)", shown)


def test_slices_of_numbers(command, flats):
    folder, test, _, predicted = flats
    common = (folder / "rows.csv", "--label", "rent", "-m", folder / "rent.safetensors")
    for one in facts_of(command, *common, "--slice", "let")["slices"][0]["slices"]:
        rows = (test["let"] == one["value"]).to_numpy()
        error = (predicted - test["rent"])[rows].to_numpy()
        rmse = np.sqrt(np.mean(error**2))
        assert one["root_mean_squared_error"] == pytest.approx(rmse)
        spread = np.std(error**2) / np.sqrt(len(error))
        assert one["root_mean_squared_error_standard_error"] == pytest.approx(spread / (2 * rmse))
        assert one["mean_error"] == pytest.approx(error.mean())


def test_slices_of_a_plain_model(command, iris, tmp_path):
    frame, path = iris
    frame.assign(part=np.arange(150) % 3).to_csv(tmp_path / "x.csv", index=False)
    command("train", path, "--label", "kind", "--plain", "-k", 32, "-m", tmp_path / "m.safetensors")
    slices = facts_of(command, tmp_path / "x.csv", "-m", tmp_path / "m.safetensors", "--slice", "part")["slices"][0]
    y, predicted = frame["kind"], load_model(tmp_path / "m.safetensors").predict(frame.drop(columns="kind"))
    for i, one in enumerate(slices["slices"]):
        assert one["accuracy"] == pytest.approx((y == predicted)[np.arange(150) % 3 == i].mean())
        assert "log_loss" not in one


def test_a_threshold_decides(command, flats, tmp_path):
    folder, test, _, _ = flats
    model = load_model(folder / "let.safetensors").set_params(threshold=0.2)
    model.fit(test[["area", "town", "rooms"]], test["let"]).save(tmp_path / "m.safetensors")
    found = facts_of(command, folder / "rows.csv", "--label", "let", "-m", tmp_path / "m.safetensors")
    predicted = model.predict(test[["area", "town", "rooms"]])
    assert found["confusion"] == confusion_matrix(test["let"], predicted).tolist()
    shown = command("predict", folder / "rows.csv", "--label", "let", "-m", tmp_path / "m.safetensors").stdout
    assert shown.split() == predicted.tolist()
    assert (predicted == "yes").mean() > (model.predict_proba(test[["area", "town", "rooms"]])[:, 1] > 0.5).mean()


def test_many_values_and_too_many(command, flats, tmp_path, monkeypatch):
    folder, test, _, _ = flats
    test.assign(name=[f"n{i // 2}" for i in range(200)]).to_csv(tmp_path / "x.csv", index=False)
    common = (tmp_path / "x.csv", "--label", "let", "-m", folder / "let.safetensors", "--slice", "name")
    slices = facts_of(command, *common)["slices"][0]["slices"]
    assert len(slices) == 20
    assert (slices[-1]["value"], slices[-1]["rows"]) == ("81 other values", 162)
    assert sum(one["rows"] for one in slices) == 200
    monkeypatch.setattr("kernelsketch.cli._slices.FEWEST_VALUES", 50)
    monkeypatch.setattr("kernelsketch.cli.work.evaluate.memory_left", lambda _: 1000)
    found = command("evaluate", *common, status=2).stderr.replace("\n", " ")
    assert "more than 50 different values, for which --memory has no room" in found
    assert "Row 0" not in found


class TestRanking:
    """Areas and curves are those of scikit-learn; curves lose only points that a plot cannot show."""

    def ranking(self, n_classes, memory=10**9):
        rng = np.random.default_rng(0)
        y = rng.integers(0, n_classes, 5000)
        values = rng.normal(size=(5000, n_classes)) + np.eye(n_classes)[y]
        if n_classes == 2:
            values = values[:, 1] - values[:, 0]
        found = Ranking(n_classes, memory)
        for rows in (slice(0, 3000), slice(3000, None)):
            found.add(y[rows], values[rows])
        return found, y, values

    def test_two_classes(self):
        found, y, values = self.ranking(2)
        expected = [(y == 0, -values), (y == 1, values)]
        assert found.areas() == [(roc_auc_score(*pair), average_precision_score(*pair)) for pair in expected]

    def test_three_classes(self):
        found, y, values = self.ranking(3)
        assert found.areas()[2] == (roc_auc_score(y == 2, values[:, 2]), average_precision_score(y == 2, values[:, 2]))
        curves = found.curves(2)
        x, height, _ = roc_curve(y == 2, values[:, 2])
        assert len(curves.roc) < 700 < len(y) / 2
        self.near(curves.roc, x, height)
        precision, recall, _ = precision_recall_curve(y == 2, values[:, 2])
        self.near(curves.precision_recall, recall[::-1], precision[::-1])

    def near(self, points, x, y):
        """Every point of the curve is near a point that is shown."""
        shown = np.array(points)
        distance = np.abs(np.column_stack([x, y])[:, None] - shown).max(axis=2).min(axis=1)
        assert distance.max() < 1 / 150

    def test_memory(self):
        found, _, _ = self.ranking(3, memory=1000)
        assert not found.is_complete
        assert found.curves(0) is None


def test_wide_matrices_are_shortened():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 100, (30, 30))
    classes = [{"label": f"a long name {i}", "rows": int(n)} for i, n in enumerate(counts.sum(axis=1))]
    names, rows = confusion_table({"classes": classes, "confusion": counts}, width=80)
    assert sum(len(name) + 2 for name in names) <= 80
    assert re.fullmatch(r"\d+ others", names[-1])
    assert sum(int(cell.replace(",", "")) for row in rows for cell in row[1:]) == counts.sum()
    names, rows = confusion_table({"classes": classes[:2], "confusion": counts[:2, :2]}, width=80)
    assert [row[1:] for row in rows] == [[str(n) for n in row] for row in counts[:2, :2]]


class TestReport:
    def page(self, command, path, *args):
        command("evaluate", *args, "--report", path)
        text = path.read_text()
        for plot in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
            ElementTree.fromstring(plot)
        return text

    def test_curves_and_slices(self, command, flats, tmp_path):
        folder = flats[0]
        common = (folder / "rows.csv", "--label", "let", "-m", folder / "let.safetensors", "--slice", "town")
        text = self.page(command, tmp_path / "r.html", *common, "--positive", "no")
        for part in ("ROC curve", "Precision and recall", "The positive class is no", "Slices by town", "(few)"):
            assert part in text
        assert "predicted probability of no" in text

    def test_several_classes(self, command, digits, tmp_path):
        X, y = digits
        GCWSClassifier(32).fit(X[::2], y[::2]).save(tmp_path / "m.safetensors")
        np.savez(tmp_path / "x.npz", X=X, y=y)
        common = (tmp_path / "x.npz", "-m", tmp_path / "m.safetensors")
        text = self.page(command, tmp_path / "r.html", *common)
        assert "The 5 most frequent of 10 classes against the rest" in text
        assert text.count("line-4") >= 4
        assert "The positive class is 7" in self.page(command, tmp_path / "r.html", *common, "--positive", "7")

    def test_one_class_has_no_curves(self, command, digits, tmp_path):
        X, y = digits
        GCWSClassifier(32).fit(X, y % 2).save(tmp_path / "m.safetensors")
        np.savez(tmp_path / "x.npz", X=X[:5], y=np.ones(5, int))
        text = self.page(command, tmp_path / "r.html", tmp_path / "x.npz", "-m", tmp_path / "m.safetensors")
        assert "ROC curve" not in text
        assert "all rows have one class" in text


def test_one_class_has_the_baseline_0(command, tmp_path):
    X = np.random.default_rng(0).permutation(60).astype(float)
    GCWSTabularClassifier("quick").fit(X[:, None], np.where(X > 20, 1, 0)).save(tmp_path / "m.safetensors")
    (tmp_path / "x.csv").write_text("x0,y\n" + "".join(f"{x},1\n" for x in range(30, 60)))
    found = command("evaluate", tmp_path / "x.csv", "--label", "y", "-m", tmp_path / "m.safetensors")
    assert "(the shares of the classes: 0.0000)" in " ".join(found.output.split())
