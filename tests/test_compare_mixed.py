"""benchmarks/compare_mixed.py: its summary, what is left to measure, and the tuning and reading of table_peers.py."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.skipif(not (FOLDER / "compare_mixed.py").is_file(), reason="an installation has none")


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import compare_mixed

    return compare_mixed


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import table_peers

    return table_peers


def rows_of(study, found):
    """Return the rows of a result: per model, table and split a score of AUC and log-loss."""
    rows = []
    for (model, table, split), (auc, loss) in found.items():
        row = dict.fromkeys(study.COLUMNS, np.nan) | {"half": "report", "new": 1, "table": table, "split": split}
        rows.append(row | {"model": model, "auc": auc, "log_loss": loss, "fit_cpu_seconds": 2.0})
    return pd.DataFrame(rows)


def test_a_summary_names_ties_and_losses(study):
    found = {}
    for table, ours in (("won", (0.9, 0.9)), ("tied", (0.9, 0.7)), ("lost", (0.75, 0.7))):
        for split in (0, 1):
            found["ours", table, split] = ours[split], 0.5
            found["peer", table, split] = 0.8, 0.5
    head, auc, loss, seconds = study.summary(rows_of(study, found), "ours", "peer")
    assert head == "report, new tables, ours minus peer"
    assert auc == (
        "  AUC, points: +0.83 +- 5.07 over 3 tables; better on 1, tied on 1 (tied +0.00), worse on 1 (lost -7.50)"
    )
    assert "better on 0, tied on 3" in loss
    assert seconds == "  CPU seconds of fits: 12 against 12"


def test_a_smaller_error_is_better(study):
    found = {("ours", "a", 0): (np.nan, 0.4), ("peer", "a", 0): (np.nan, 0.5)}
    lines = study.summary(rows_of(study, found), "ours", "peer")
    assert lines[1] == "  log-loss: -0.1000 over 1 tables; better on 1, tied on 0, worse on 0"


def test_only_shared_rows_count(study):
    found = {("ours", "a", 0): (0.9, 0.4), ("ours", "b", 0): (0.1, 9.0), ("peer", "a", 0): (0.8, 0.5)}
    assert "over 1 tables" in study.summary(rows_of(study, found), "ours", "peer")[1]
    assert study.summary(rows_of(study, found), "ours", "nobody") == []


def test_what_is_there_is_not_measured_again(study):
    asked = Namespace(models="b,a", tables=["x", "y"], half="report", splits="0,1")
    left = study.jobs(asked, {("x", "0", "b"), ("y", "1", "b")})
    assert left == [("x", 1, "b"), ("y", 0, "b"), ("x", 0, "a"), ("x", 1, "a"), ("y", 0, "a"), ("y", 1, "a")]


def test_an_older_result_gets_the_new_columns(study, tmp_path):
    path = tmp_path / "mixed.csv"
    assert study.start_file(path) == set()
    assert path.read_text() == ",".join(study.COLUMNS) + "\n"
    path.write_text("table,split,model,auc\nx,0,ours,0.80000\n")
    assert study.start_file(path) == {("x", "0", "ours")}
    (row,) = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    assert list(row) == study.COLUMNS
    assert row["auc"] == "0.80000"
    assert row["model_bytes"] == ""


def test_the_setting_of_the_least_loss_is_taken(peers):
    losses = {("a", 0): (1.0, 10), ("a", 1): (3.0, 21), ("b", 0): (1.9, 30), ("b", 1): (1.9, 41)}
    trees, setting = peers.best_of(["a", "b"], [(0,), (1,)], lambda name, fold: (*losses[name, fold], name + "!"))
    assert (trees, setting) == (36, "b!")


def test_the_defaults_are_the_first_setting(peers):
    for settings, n in (
        (peers.LIGHTGBM_SETTINGS, 20),
        (peers.XGBOOST_SETTINGS, 20),
        (peers.CATBOOST_SETTINGS, 20),
        (peers.XRFM_SETTINGS, 5),
    ):
        assert len(settings) == n
        assert settings[0] == {}
        assert all(settings[1:])


def test_a_quarter_or_three_folds(peers):
    y = np.arange(2000) % 2
    ((train, held_out),) = peers.folds_of(y, 0, True)
    assert (len(train), len(held_out)) == (1500, 500)
    folds = peers.folds_of(y[:1499], 0, True)
    assert len(folds) == 3
    assert sum(len(held_out) for _, held_out in folds) == 1499


def test_frames_are_read_as_the_training_rows_say(peers):
    X = pd.DataFrame({"n": [1, 2, np.nan, 4], "k": ["a", "b", "a", None], "id": list("pqrs")})
    read = peers.reader(X)
    made = read(pd.DataFrame({"n": [7], "k": ["z"], "id": ["t"]}))
    assert list(made) == ["c0", "c1"]
    assert made["c0"][0] == 7
    assert made["c1"].isna()[0]
    assert peers.categories_of(made) == ["c1"]
    few = peers.reader(X, most=1)(X)
    assert list(few["c1"].cat.categories) == ["a"]


def test_gaps_become_medians_and_marks(peers):
    X = pd.DataFrame({"n": [1.0, 2, np.nan, 9], "whole": [1, 2, 3, 4]})
    read = peers.filler(X)
    made = read(pd.DataFrame({"n": [np.nan, 5], "whole": [np.nan, 1]}))
    assert made.to_dict("list") == {"c0": [2, 5], "c1": [2.5, 1], "c0_gap": [1, 0]}


def test_an_absent_package_says_how_to_get_it(peers):
    with pytest.raises(ImportError, match="pip install nothing-cpu"):
        peers.load_package("nothing_of_this_name", "nothing-cpu")


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_peers_predict_rows(peers, n_classes):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=300), "k": rng.choice(["a", "b"], 300)})
    X.loc[:20, "n"] = np.nan
    score = X["n"].fillna(0).to_numpy() + (X["k"] == "a")
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)) if n_classes else score
    model, predict = peers.hist_gradient_boosting(X, y, 0, n_classes)
    found = np.asarray(predict(X[:50]))
    assert found.shape == ((50, n_classes) if n_classes else (50,))
    assert peers.loss_of(found, y[:50], n_classes) < peers.loss_of(np.roll(found, 7, axis=0), y[:50], n_classes)
    assert peers.bytes_of(model) > 1000
    assert peers.version_of("HistGradientBoosting")
