"""``kernelsketch demo``: tune, fit and time models on a table with categories and gaps, and compare them.

Two predictions are drawn with their explanations, one of them with an interval.

Every model gets the same effort: cross-validation with the same folds over four settings, on the training rows only.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from ..._array import Array
from ...backends import backend_for
from ...exceptions import InputError
from ...formats import write_rows
from ...storage import write_atomically
from ...tabular import Explanation, GCWSTabularClassifier, GCWSTabularRegressor
from .._articles import make_articles
from .._loans import Loans, loan_lines, make_loans
from .._progress import ProgressMeter
from .._results import print_json
from .._waterfall_lines import waterfall_lines
from ..commands.demo import Demo

N_FOLDS = 3
SVC_ROWS = 3000  # on which SVC is tuned
TRAINING_LOANS, TEST_LOANS = 2000, 1000  # in files
OURS = "GCWSTabularClassifier"
SHOWN_COLUMNS, MOST_WIDTH, COVERAGE = 6, 100, 0.9  # of the predictions that are drawn


class Contestant(NamedTuple):
    """A row of the table: its name, and a function that tunes and trains on rows and labels."""

    name: str
    train: Callable[[Array, Array], Any]


class Result(NamedTuple):
    """What a model did on the test rows: whether each is right, the loss of each, and the seconds that it took."""

    name: str
    is_right: Array
    losses: Array
    training: float
    prediction: float  # per row
    model: Any = None


def contestants(loans: Loans) -> list[Contestant]:
    """Return the models, each with four settings to choose from."""
    numbers, categories = np.flatnonzero(~loans.is_category), np.flatnonzero(loans.is_category)

    def prepared(model: Any) -> Any:
        impute = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
        encode = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10)
        return make_pipeline(make_column_transformer((impute, numbers), (encode, categories)), model)

    def linear(X: Array, y: Array) -> Any:
        grid = {"linearsvc__C": [0.01, 0.1, 1.0, 10.0]}
        return _calibrated(_tuned(prepared(LinearSVC(random_state=0)), grid, X, y), X, y)

    def rbf(X: Array, y: Array) -> Any:
        grid = {"svc__C": [1.0, 10.0], "svc__gamma": [0.02, 0.1]}
        return _calibrated(_tuned(prepared(SVC()), grid, X[:SVC_ROWS], y[:SVC_ROWS]), X, y)

    def trees(X: Array, y: Array) -> Any:
        name = "histgradientboostingclassifier"
        encode = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan, dtype=np.float64
        )
        boosting = HistGradientBoostingClassifier(
            categorical_features=range(len(categories)), max_iter=500, early_stopping=True, random_state=0
        )
        model = make_pipeline(make_column_transformer((encode, categories), ("passthrough", numbers)), boosting)
        grid: dict[str, list[Any]] = {f"{name}__learning_rate": [0.05, 0.1], f"{name}__max_leaf_nodes": [7, 31]}
        return _tuned(model, grid, X, y).fit(X, y)

    def ours(X: Array, y: Array) -> Any:
        return GCWSTabularClassifier().fit(X, y)  # it chooses among four values of C, and has trees of its own

    return [
        Contestant("LinearSVC", linear),
        Contestant("SVC (RBF)", rbf),
        Contestant("HistGradientBoosting", trees),
        Contestant(OURS, ours),
    ]


def _tuned(model: Any, grid: dict[str, list[Any]], X: Array, y: Array) -> Any:
    """Return the model, not yet fitted, with the setting that has the highest accuracy in cross-validation."""
    return model.set_params(**GridSearchCV(model, grid, cv=N_FOLDS, refit=False).fit(X, y).best_params_)


def _calibrated(model: Any, X: Array, y: Array) -> Any:
    """Return the fitted model with probabilities by Platt scaling of decision values out-of-fold."""
    return CalibratedClassifierCV(model, cv=N_FOLDS, ensemble=False).fit(X, y)


def demo(task: Demo) -> None:
    if task.write is None:
        compare_models(task)
    else:
        written = write_files(task.write)
        if task.json:
            print_json({"files": [{"path": path, "content": content} for path, content in written.items()]})
        else:
            print_facts_of_files(written)


def print_facts_of_files(written: dict[str, str]) -> None:
    for path, content in written.items():
        print(f"{path}: {content}")


def compare_models(task: Demo) -> None:
    """Print the table of models, who won what, and what to run next."""
    console, n_rows = Console(quiet=task.json), task.rows
    loans = make_loans(n_rows)
    rows = contestants(loans)
    train, test = train_test_split(np.arange(n_rows), test_size=0.5, random_state=0, stratify=loans.y)
    n_columns, n_categories = len(loans.names), int(loans.is_category.sum())
    tuned_on = min(SVC_ROWS, len(train))
    console.print(
        f"The data are {n_rows:,} invented loans: who fails to repay? {n_columns - n_categories} columns hold numbers "
        f"and {n_categories} hold categories, {_share_missing(loans):.0%} of the values are missing, and some columns "
        f"do not help. Half of the rows train the models and half test them. The others choose the most accurate of "
        f"4 settings by {N_FOLDS}-fold cross-validation on the training rows"
        + (f" (SVC on {tuned_on:,} of them, to save time)" if tuned_on < len(train) else "")
        + f"; {OURS} chooses among 4 values of C with held-out rows, and blends in boosted trees if these gain from "
        f"it. The SVMs get imputed, standardized and one-hot encoded columns; the other models take gaps as they are. "
        f"All models run on one thread ({backend_for().name}).",
        highlight=False,
    )
    results: list[Result] = []
    with threadpool_limits(1), ProgressMeter("comparing", task.quiet) as meter:
        for row in rows:
            meter.show(len(results) / len(rows), f"{row.name}, {len(results) + 1} of {len(rows)} models")
            results.append(run_model(row, loans, train, test))
    if task.json:
        print_json({"rows": n_rows, "models": list(map(_facts, results)), "seconds": meter.seconds})
        return
    console.print(_table(results))
    console.print(
        "Training includes tuning and calibration. Prediction is the time of predict_proba per row. "
        + " ".join(verdicts(results))
        + f" {_limit(loans, test)}",
        highlight=False,
    )
    with threadpool_limits(1):
        show_predictions(console, loans, results[-1].model, train, test)
    _next_steps(console)


def show_predictions(console: Console, loans: Loans, model: Any, train: Array, test: Array) -> None:
    """Draw two predictions: the probability of a loan, and an income that is missing, with its interval."""
    row, of_share = loans.X[test[:1]], f"{100 * COVERAGE:.0f} %"
    percent, found = 100 * model.predict_proba(row)[0, 1], model.classes_[model.predict_set(row, COVERAGE)[0]]
    console.print(
        f"\nThe first loan of the test rows is {model.classes_[1]} with a probability of {percent:.0f} %. Why? The "
        f"log-odds of this, by column. The set that has the label for {of_share} of the loans: {' or '.join(found)}.",
        highlight=False,
    )
    _draw(console, model.explain(row), loans.names)
    income = loans.names.index("income")
    others, known = np.delete(loans.X, income, axis=1), np.array([value is not None for value in loans.X[:, income]])
    rows, row = train[known[train]], others[test[~known[test]][:1]]
    if len(row) == 0:
        return
    numbers = GCWSTabularRegressor(effort="quick").fit(others[rows], loans.X[rows, income].astype(np.float64))
    lower, upper = numbers.predict_interval(row, COVERAGE)[0].tolist()
    console.print(
        f"\nOne applicant gives no income. A quick fit of GCWSTabularRegressor to the other loans predicts "
        f"{numbers.predict(row)[0]:,.0f}, and {lower:,.0f} to {upper:,.0f} for {of_share} of such applicants:",
        highlight=False,
    )
    names = [name for name in loans.names if name != "income"]
    _draw(console, numbers.explain(row), names, (f"{of_share} interval", lower, upper))


def _draw(
    console: Console, explanation: Explanation, names: list[str], interval: tuple[str, float, float] | None = None
) -> None:
    row = replace(explanation[0], feature_names=tuple(names))  # the model has learned from rows without names
    for line in waterfall_lines(row, SHOWN_COLUMNS, min(console.width, MOST_WIDTH), interval):
        console.print(line, highlight=False, soft_wrap=True)


def _share_missing(loans: Loans) -> float:
    return float(np.mean([value is None for value in loans.X.flat]))


def run_model(row: Contestant, loans: Loans, train: Array, test: Array) -> Result:
    """Tune and train a model, and predict the test rows."""
    X, y = loans.X[test], loans.y[test]
    start = perf_counter()
    model = row.train(loans.X[train], loans.y[train])
    trained = perf_counter()
    probabilities = model.predict_proba(X)
    predicted = perf_counter()
    is_right = model.classes_[probabilities.argmax(axis=1)] == y
    chances = probabilities[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    losses = -np.log(np.maximum(chances, np.finfo(float).tiny))
    return Result(row.name, is_right, losses, trained - start, (predicted - trained) / len(y), model)


def _facts(result: Result) -> dict[str, Any]:
    return {
        "model": result.name,
        "accuracy": result.is_right.mean(),
        "log_loss": result.losses.mean(),
        "training_seconds": result.training,
        "prediction_seconds": result.prediction,
    }


def _table(results: list[Result]) -> Table:
    table = Table("model", "accuracy, %", "log-loss", "training", "prediction")
    for column in table.columns:
        column.justify = "left" if column.header == "model" else "right"
        column.no_wrap = True
    for result in results:
        table.add_row(
            result.name,
            f"{100 * result.is_right.mean():.2f}",
            f"{result.losses.mean():.4f}",
            f"{result.training:.1f} s",
            f"{1e6 * result.prediction:.1f} µs",
            style="bold" if result.name == OURS else None,
        )
    return table


def verdicts(results: list[Result]) -> list[str]:
    """Return which model is best in what, and whether the second is within the noise of the test rows."""
    trained = min(results, key=lambda result: result.training)
    predicted = min(results, key=lambda result: result.prediction)
    return [
        _better("the highest accuracy", "points above", 100, 2, [(row.name, 1.0 - row.is_right) for row in results]),
        _better("the lowest log-loss", "below", 1, 4, [(row.name, row.losses) for row in results]),
        f"{trained.name} trains fastest, and {predicted.name} predicts fastest.",
    ]


def _better(what: str, than: str, unit: float, digits: int, errors: list[tuple[str, Array]]) -> str:
    """Compare the two models with the smallest mean errors, row by row."""
    (first, least), (second, more) = sorted(errors, key=lambda pair: float(pair[1].mean()))[:2]
    differences = unit * (more - least)
    gap, noise = differences.mean(), differences.std() / np.sqrt(len(differences))
    is_clear = gap > 2 * noise
    doubt = (
        "" if is_clear else f", which is within the noise of the {len(differences):,} test rows (two standard errors)"
    )
    return f"{first} has {what}, {gap:.{digits}f} {than} {second}{doubt}."


def _limit(loans: Loans, test: Array) -> str:
    """Return the best values that a model can reach, by the probabilities from which labels were drawn."""
    p = loans.probability[test]
    accuracy = np.maximum(p, 1 - p).mean()
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()
    return f"Labels are partly chance: no model can expect more than {100 * accuracy:.1f} % or less than {entropy:.4f}."


def _next_steps(console: Console) -> None:
    console.print("\nTo try the other commands on files of handwritten digits and of articles, run:", highlight=False)
    program = "kernelsketch" if shutil.which("kernelsketch") else os.path.relpath(f"{sys.prefix}/bin/kernelsketch")
    for line in (
        "demo --write .",
        "train digits.svm -m digits.safetensors -C 10",
        "evaluate digits.t.svm -m digits.safetensors",
        "predict digits.t.svm -m digits.safetensors | head",
        "index dedup digits.svm --threshold 0.85 | head",
        "train loans.csv --label outcome -m loans.safetensors",
        "dedup articles.jsonl --text body -t 0.7 -o clean.jsonl",
    ):
        console.print(f"  {program} {line}", highlight=False, soft_wrap=True)
    console.print(
        "The commands of the paper are datasets, reproduce and report. In a checkout of kernelsketch, run  "
        "pip install ./paper  to get them.",
        highlight=False,
    )


def write_files(folder: Path) -> dict[str, str]:
    """Write digits and loans to train on and to test on, and articles; return what each file holds.

    The user has not chosen the names, so files of these names that hold something else are not replaced.
    """
    X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    made: dict[str, tuple[bytes, str]] = {}
    with tempfile.TemporaryDirectory() as own:
        for name, X, y in (("digits.svm", X_train, y_train), ("digits.t.svm", X_test, y_test)):
            count = write_rows(Path(own) / name, [(X, y)])
            made[name] = (Path(own) / name).read_bytes(), f"{count:,} rows"
    names, loans = loan_lines(TRAINING_LOANS + TEST_LOANS)
    for name, part in (("loans.csv", loans[:TRAINING_LOANS]), ("loans.t.csv", loans[TRAINING_LOANS:])):
        made[name] = "".join(f"{line}\n" for line in [names, *part]).encode(), f"{len(part):,} rows"
    articles = make_articles()
    lines = "".join(json.dumps(article) + "\n" for article in articles)
    made["articles.jsonl"] = lines.encode(), f"{len(articles):,} documents"
    for name, (content, _) in made.items():
        if (folder / name).exists() and (folder / name).read_bytes() != content:
            raise InputError(f"{folder / name} holds something else and is not replaced: name another folder.")
    for name, (content, _) in made.items():
        write_atomically(folder / name, content)
    return {str(folder / name): size for name, (_, size) in made.items()}
