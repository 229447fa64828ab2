"""Compare fits for a goal (a scoring, a threshold, a loss) with the default fit, and with LightGBM for the same goal.

    KERNELSKETCH_DATA=/folder python benchmarks/compare_goals.py [--splits 0,1] [--goals f1,absolute_error]
                              [--out benchmarks/results/goals.csv] [TABLE ...]
    python benchmarks/compare_goals.py --summary

The tables are those of ``compare_mixed.py`` on which choices are made (``develop``): the classifications with two
classes, and three regressions; three generated tables of counts join them. A row has the score of the test rows of one
split by three models: ``default`` does not know the goal, ``ours`` does, and ``LightGBM`` has its defaults and the same
objective; for scores of labels scikit-learn's ``TunedThresholdClassifierCV`` chooses its threshold. Rows that the file
has already are kept.
``--summary`` prints for each goal the mean gain over the tables, with its standard error: percentage points of a score,
or percent of an error.
"""

import argparse
import csv
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from compare_mixed import HALVES, NEW_REGRESSION, OF_CLASSES, load
from lightgbm import LGBMClassifier, LGBMRegressor
from machine import RESULTS
from sklearn import metrics
from sklearn.model_selection import TunedThresholdClassifierCV
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

CLASS_GOALS = ("f1", "balanced_accuracy", "accuracy", "roc_auc", "neg_log_loss")
NUMBER_GOALS = {  # name: parameters of ours and of LightGBM
    "absolute_error": ({"loss": "absolute_error"}, {"objective": "l1"}),
    "quantile 0.1": ({"loss": "quantile", "quantile": 0.1}, {"objective": "quantile", "alpha": 0.1}),
    "quantile 0.9": ({"loss": "quantile", "quantile": 0.9}, {"objective": "quantile", "alpha": 0.9}),
}
COUNT_GOALS = {"poisson": ({"loss": "poisson"}, {"objective": "poisson"})}
COUNTS = ("bikeshare_dc", "rare counts", "small counts", "large counts")
LEAST = 0.02  # of the mean count: smaller predictions of models for numbers count as it
COLUMNS = ("goal", "table", "split", "model", "score", "share_below", "fit_cpu_seconds")


def generated(name, split):
    """Return a table of counts; the logarithm of the mean has steps, products and waves of six columns."""
    rng = np.random.default_rng(split)
    X = rng.normal(size=(8000, 6))
    logs = {
        "rare counts": -1.2 + 0.7 * X[:, 0] - 0.5 * X[:, 1] * X[:, 2],
        "small counts": 1 + 0.5 * np.sin(2 * X[:, 0]) + 0.4 * np.abs(X[:, 1]),
        "large counts": 3 + 0.8 * (X[:, 0] > 0) + 0.5 * X[:, 1] * (X[:, 2] > 0),
    }[name]
    y = rng.poisson(np.exp(logs)).astype(float)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(6)])
    return frame[:4000], y[:4000], frame[4000:], y[4000:]


def encoded(X, X_test):
    """Return tables as LightGBM takes them: what is not a number is a category."""
    X, X_test = X.copy(), X_test.copy()
    for name in X.columns:
        if not pd.api.types.is_numeric_dtype(X[name]):
            X[name] = X[name].astype("category")
            X_test[name] = X_test[name].astype(pd.CategoricalDtype(X[name].cat.categories))
    clean = [f"c{i}" for i in range(X.shape[1])]
    return X.set_axis(clean, axis=1), X_test.set_axis(clean, axis=1)


def class_score(goal, y, classes, upper):
    if goal in ("roc_auc", "neg_log_loss"):
        return metrics.roc_auc_score(y, upper) if goal == "roc_auc" else -metrics.log_loss(y, upper)
    return getattr(metrics, f"{goal}_score")(y, classes)


def number_score(goal, y, predicted):
    if goal == "absolute_error":
        return metrics.mean_absolute_error(y, predicted)
    if goal == "poisson":
        return metrics.mean_poisson_deviance(y, np.maximum(predicted, LEAST * y.mean()))
    return metrics.mean_pinball_loss(y, predicted, alpha=float(goal.split()[1]))


def measure(goal, name, split, model, cache):
    """Return the score of a model for a goal, the share of rows below it, and the CPU seconds of its fit."""
    X, y, X_test, y_test = (generated if name in COUNTS[1:] else load)(name, split)
    is_class, start = name in OF_CLASSES, process_time()
    if model == "default":
        if (name, split) not in cache:
            kind = GCWSTabularClassifier if is_class else GCWSTabularRegressor
            made = kind(random_state=split).fit(X, y)
            cache[name, split] = made, process_time() - start
        made, seconds = cache[name, split]
    elif model == "ours":
        kind = GCWSTabularClassifier if is_class else GCWSTabularRegressor
        options = {"scoring": goal} if is_class else (NUMBER_GOALS | COUNT_GOALS)[goal][0]
        made = kind(random_state=split, **options).fit(X, y)
        seconds = process_time() - start
    else:
        X, X_test = encoded(X, X_test)
        start = process_time()
        if is_class:
            made = LGBMClassifier(n_jobs=1, verbose=-1, random_state=split)
            if goal not in ("roc_auc", "neg_log_loss"):
                made = TunedThresholdClassifierCV(made, scoring=goal, random_state=split)
        else:
            made = LGBMRegressor(n_jobs=1, verbose=-1, random_state=split, **(NUMBER_GOALS | COUNT_GOALS)[goal][1])
        made.fit(X, y)
        seconds = process_time() - start
    if is_class:
        return class_score(goal, y_test, made.predict(X_test), made.predict_proba(X_test)[:, 1]), "", seconds
    predicted = made.predict(X_test)
    return number_score(goal, y_test, predicted), f"{np.mean(y_test < predicted):.4f}", seconds


def jobs(asked):
    two = [name for name in HALVES["develop"] if name in OF_CLASSES]
    numbers = [name for name in HALVES["develop"] if name in NEW_REGRESSION]
    for split in map(int, asked.splits.split(",")):
        for names, goals in ((two, CLASS_GOALS), (numbers, NUMBER_GOALS), (COUNTS, COUNT_GOALS)):
            for name in names:
                if asked.tables and name not in asked.tables:
                    continue
                for goal in goals:
                    if asked.goals is None or goal in asked.goals.split(","):
                        yield from ((goal, name, split, model) for model in ("default", "ours", "LightGBM"))


def summary(path):
    """Yield a line per goal and peer."""
    rows = pd.read_csv(path)
    for goal, part in rows.groupby("goal", sort=False):
        table = part.pivot_table(index=["table", "split"], columns="model", values="score")
        for peer in ("default", "LightGBM"):
            is_score = goal in CLASS_GOALS
            found = 100 * ((table["ours"] - table[peer]) if is_score else np.log(table[peer] / table["ours"]))
            means = found.groupby(level="table").mean()
            unit = "points" if is_score else "% less"
            worst = ", ".join(f"{name} {value:+.2f}" for name, value in means.sort_values().items())
            yield f"{goal} against {peer}: {means.mean():+.2f} +- {means.std() / len(means) ** 0.5:.2f} {unit}: {worst}"
        shares = part[part["model"] == "ours"]["share_below"]
        if goal.startswith("quantile"):
            yield f"  share below: {shares.mean():.4f} +- {shares.std() / len(shares) ** 0.5:.4f}"


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--splits", default="0,1")
    parser.add_argument("--goals")
    parser.add_argument("--out", type=Path, default=RESULTS / "goals.csv")
    parser.add_argument("--summary", action="store_true", help="print the comparison from the file, and train nothing")
    asked = parser.parse_args()
    if asked.summary:
        return print(*summary(asked.out), sep="\n")
    done = set()
    if asked.out.exists():
        done = {tuple(row) for row in pd.read_csv(asked.out, dtype=str)[list(COLUMNS[:4])].itertuples(index=False)}
    cache = {}
    with threadpool_limits(1), asked.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        for goal, name, split, model in jobs(asked):
            if (goal, name, str(split), model) in done:
                continue
            if name in OF_CLASSES and load(name, split)[1].max() > 1:
                continue
            score, share, seconds = measure(goal, name, split, model, cache)
            writer.writerow([goal, name, split, model, f"{score:.6g}", share, f"{seconds:.2f}"])
            file.flush()
    return None


if __name__ == "__main__":
    main()
