"""``kernelsketch train`` on a table: read all of it, fit a tabular estimator, save the model."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from ..._rounding import floats_of
from ...exceptions import InputError
from ...formats import PartStream, RowStream, joined_labels
from ...tabular import (
    EFFORTS,
    FEWEST_CATEGORIES,
    MOST_CLASSES,
    GCWSTabularClassifier,
    GCWSTabularRegressor,
    summary_of,
)
from .._errors import UsageError
from .._memory import enough_memory, memory_left, peak_bytes
from .._options import label_of
from .._progress import CountedRows, ProgressMeter, format_duration
from .._results import format_bytes, label_value, labels_text
from .._row_columns import RowColumns
from .._row_sample import KeptRows
from .._table_facts import column_facts, important_columns
from .._tables import joined_table
from ..commands.train import Train

MANY_LABELS, ROWS_PER_LABEL = 200, 100  # more labels, each with fewer rows, are probably no classes
OF_SECOND_CLASS = ("f1", "average_precision")  # scores of one of two classes
CELL_BYTES = 120  # of a cell as text, as a number, and in each view: measured
FEATURE_BYTES = 6  # of a category in a row, which is a feature in the bins of the trees of all folds
MEANS_BYTES = 120  # of a column of many categories in a row, whose mean targets are features of each fold
OUTPUT_BYTES = 120  # of a class in a row, in the trees of all folds, where there are more than two
SHORT_CELL = 32  # bytes of text that CELL_BYTES has room for
LABELS_BYTES = 1 << 24  # of an array of text labels: one long label gives every row as much room
LABEL_COPIES = 3  # of a label: in its block, in the array of all, and sorted
SAFELY = 0.8  # of the rows that may fit, because the categories are not counted yet
CODE_BYTES = 2  # of a hash of a row, with the copies for folds: measured


def train_table(task: Train, stream: RowStream, meter: ProgressMeter) -> tuple[dict[str, Any], dict[str, str]]:
    """Train on a table, save the model, and return facts about it, also as lines."""
    counted = CountedRows(stream, meter)
    X, y, weights = _read(task, counted, RowColumns(stream, task, task.labels))
    read_seconds = meter.seconds
    parameters: dict[str, Any] = {"effort": task.effort, "budget": task.budget}
    parameters |= {"random_state": task.seed, "n_jobs": task.threads}
    if task.regression:
        parameters |= {name: getattr(task, name) for name in ("loss", "quantile") if getattr(task, name) is not None}
    else:
        parameters["threshold"] = task.threshold_value()
    parameters |= {"scoring": task.scoring, "on_interrupt": task.on_interrupt}
    parameters |= {"max_categories": task.max_categories, "infinity": task.infinity}
    parameters["categorical_features"] = _columns("categorical", task.categorical_features, stream)
    parameters["drop"] = _columns("drop", _dropped(task, stream), stream)
    if task.balanced:
        parameters["class_weight"] = "balanced"
    kind = GCWSTabularRegressor if task.regression else GCWSTabularClassifier
    meter.begin("learning")
    model = kind(**parameters).fit(
        X, y, weights, groups=task.groups, time=task.time, progress=lambda text: meter.show(None, text)
    )
    if y.ndim > 1:
        from .train_several import save_several, several_lines

        facts = save_several(model, task, stream, counted.rows)
        facts |= {"training_rows": len(y), "learn_seconds": meter.seconds - read_seconds, "peak_bytes": peak_bytes()}
        return facts, several_lines(facts, stream)
    facts = {
        **save_model(model, task, stream, counted.rows),
        "training_rows": len(y),
        "effort": model.effort,
        "budget": model.budget,
        "fitted_effort": model.effort_,
        "n_components": int(model.model_.n_components),
        "C": float(model.model_.C),
        **_held_out(model),
        "trees_share": model.trees_share_,
        "columns": column_facts(model),
        "read_seconds": read_seconds,
        "learn_seconds": meter.seconds - read_seconds,
        "peak_bytes": peak_bytes(),
    }
    return facts, _lines(facts, stream)


def _dropped(task: Train, stream: RowStream) -> list[str] | None:
    """Return the columns that the fit leaves out. Reading has left out those that some of several files lack."""
    if not isinstance(stream, PartStream) or stream.feature_names is None:
        return task.drop
    return [column for column in task.drop or () if column in stream.feature_names or column not in stream.left_out]


def _columns(option: str, given: list[str] | None, stream: RowStream) -> list[str | int] | None:
    """Return columns that an option names, as estimators take them: positions count the features only."""
    if not given or stream.feature_names is not None:
        return list(given) if given else None
    places = stream.opened.places
    found: list[str | int] = []
    for text in given:
        if not text.isdecimal() or places is None or int(text) > max(places):
            found.append(int(text) if text.isdecimal() else text)
            continue
        if int(text) not in places:
            raise UsageError(f"--{option} {text} is the label column, or another one that is no feature.")
        found.append(places.index(int(text)))
    return found


def _held_out(model: Any) -> dict[str, Any]:
    """Return the scores of held-out rows, whose names begin with ``held_out_``."""
    error = model.held_out_error_
    return {
        "held_out_metric": model.held_out_metric_,
        _key_of(model.held_out_metric_): model.held_out_score_ if math.isfinite(model.held_out_score_) else None,
        "held_out_standard_error": error if math.isfinite(error) else None,
        **({} if getattr(model, "threshold_", None) is None else {"threshold": model.threshold_}),
        **{f"held_out_{name}": score for name, score in model.held_out_scores_.items()},
    }


def _key_of(metric: str) -> str:
    """Return the name of the score of held-out rows among the facts."""
    if metric in ("accuracy", "balanced accuracy", "weighted accuracy"):
        return "held_out_accuracy"
    return "held_out_r2" if metric == "R2" else "held_out_score"


def save_model(model: Any, task: Train, stream: RowStream, rows: int) -> dict[str, Any]:
    """Save a model with the label column of its rows, and return the facts that every model has."""
    head = getattr(model, "model_", model)
    head.fitted_ = replace(head.fitted_, label_column=label_of(stream, task))
    return saved_facts(model, task, rows)


def saved_facts(model: Any, task: Train, rows: int) -> dict[str, Any]:
    """Save a model, and return the facts that every model has."""
    model.save(task.model)
    classes = [label_value(label) for label in getattr(model, "classes_", np.empty(0)).tolist()]
    return {
        "model": str(task.model),
        "estimator": type(model).__name__,
        "bytes": task.model.stat().st_size,
        "rows": rows,
        "n_features": int(model.n_features_in_),
        **({"classes": classes} if classes else {}),
    }


def saved_lines(facts: dict[str, Any]) -> dict[str, str]:
    """Return the last lines about every model."""
    peak = {} if facts["peak_bytes"] is None else {"memory": f"{format_bytes(facts['peak_bytes'])} at the peak"}
    return {**peak, "model": f"{facts['model']}, {format_bytes(facts['bytes'])}"}


def _read(task: Train, rows: CountedRows, columns: RowColumns) -> tuple[Any, Any, Any]:
    """Return the whole table, its labels and the weights of its rows, which may be None."""
    budget, kept, checks = memory_left(task), KeptRows(task.sample, task.seed), Labels(task)
    text_bytes = label_bytes = 0
    for block in rows:
        y = np.asarray(checks.checked(columns.labels(block)))
        kept.add(block.X, y, columns.weights(block))
        text_bytes += _text_bytes(block.X)
        label_bytes = max(label_bytes, y.dtype.itemsize * (y.shape[1] if y.ndim > 1 else 1))
        row_bytes = CELL_BYTES * block.X.shape[1] + LABEL_COPIES * label_bytes
        # at the end, all rows are counted first
        if not rows.at_end or len(kept) * row_bytes + text_bytes * len(kept) // rows.rows > budget:
            _check_memory(task, budget, text_bytes, rows, row_bytes)
    if not len(kept):
        raise InputError(f"{task.input} has no rows.")
    checks.check_count()
    kept.finish()
    table = joined_table(kept.X, rows.feature_names)
    counts = [len(set(column.values)) for column in table.columns if column.kind == "category"]
    categories, many = sum(min(task.max_categories, n) for n in counts), sum(n >= FEWEST_CATEGORIES for n in counts)
    y = joined_labels(kept.y, LABELS_BYTES)
    n_classes = 0 if task.regression else len(np.unique(y))  # 0 and 1, of several labels
    row_bytes = CELL_BYTES * len(table.columns) + FEATURE_BYTES * categories + LABEL_COPIES * label_bytes
    row_bytes += OUTPUT_BYTES * n_classes if n_classes > 2 and EFFORTS[task.effort].n_trees else 0
    row_bytes += MEANS_BYTES * many * (n_classes if n_classes > 2 else 1) if n_classes <= MOST_CLASSES else 0
    _check_memory(task, budget, text_bytes, rows, row_bytes)
    weights = np.concatenate(kept.weights) if kept.weights[0].ndim == 1 else None
    return table, y, weights


def _text_bytes(X: Any) -> int:
    """Return the bytes of cells as text beyond those of a short word."""
    if not isinstance(X, np.ndarray):
        return int(max(0, X.nbytes - SHORT_CELL * X.shape[0] * X.shape[1]))
    return sum(max(0, len(cell) - SHORT_CELL) for cell in X.ravel().tolist())


def _check_memory(task: Train, budget: int, text_bytes: int, rows: CountedRows, row_bytes: int) -> None:
    """Refuse a table that does not fit, as soon as the number of rows can be estimated."""
    n = rows.expected if task.sample is None else min(rows.expected, task.sample)
    size = n * (CODE_BYTES * EFFORTS[task.effort].n_components + row_bytes) + text_bytes * n // rows.rows
    if size > budget:
        about = "" if n in (rows.rows, task.sample) else "about "
        quick = "" if task.effort == "quick" else "take --effort quick, "
        fitting = _rounded_down(SAFELY * n * budget / size)
        sample = f"pass --sample {fitting} to train on so many rows at random, " if fitting > 1 else ""
        raise InputError(
            f"--memory {task.memory} is too small to train on {about}{n:,} rows: pass --memory "
            f"{enough_memory(task, budget, size)} or more, {sample}{quick}or add --plain if all columns are "
            "numbers: it learns in bounded memory."
        )


def _rounded_down(number: float) -> int:
    """Return a number with two digits that are not 0."""
    unit = 10 ** max(0, int(math.log10(max(number, 1))) - 1)
    return int(number // unit * unit)


def as_targets(labels: Any) -> Any:
    """Return labels as numbers if they are numbers stored as text, such as whole numbers with very many digits."""
    y = np.asarray(labels)
    if y.dtype.kind not in "OUT":
        return labels
    found = floats_of([str(label) for label in y.tolist()])
    return labels if found is None else found


class Labels:
    """Checks the labels of a file, and counts the different ones to notice numbers that are no classes."""

    def __init__(self, task: Train) -> None:
        self._name, self._regression = task.input, task.regression
        self._counts = not (task.regression or task.classes)
        self._seen: set[Any] = set()
        self._rows = 0

    def checked(self, labels: Any) -> Any:
        """Return the labels of a block as models take them; refuse those that are missing or do not fit the task."""
        if labels is None:
            raise InputError(f"{self._name} has no labels. Name their column with --label COLUMN; -1 is the last.")
        labels = as_targets(labels) if self._regression else labels
        y = np.asarray(labels)
        if y.ndim > 1 and not self._regression:
            return self._flags(y)
        if self._regression and y.dtype.kind in "OUST":
            raise InputError(
                f"The labels of {self._name} are text, for example {str(y[0])!r}, but --regression needs numbers. "
                "Convert them, or leave --regression out."
            )
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            value = y[np.argmin(np.isfinite(y))]
            raise InputError(f"A label of {self._name} is {value}. Remove the row, or give it a label.")
        if y.dtype.kind == "f" and not self._regression and (y != np.floor(y)).any():
            raise InputError(
                f"The labels of {self._name} are not integers, for example {float(y[np.argmax(y != np.floor(y))])!r}. "
                "To predict numbers, pass --regression; if the labels are names of classes, pass --text-labels."
            )
        if self._counts and y.dtype.kind in "fiu":
            self._rows += len(y)
            self._seen.update(np.unique(y).tolist())
        return labels

    def _flags(self, y: Any) -> Any:
        """Return several labels per row, which are 0 or 1, as integers."""
        if not np.isin(y, (0, 1)).all():
            raise InputError(
                f"The labels of {self._name} have {y[~np.isin(y, (0, 1))][0]:g}. Several labels per row are 0 or 1: to "
                "predict numbers, pass --regression; of more classes, train a model for each label."
            )
        return y.astype(np.int64)

    def check_count(self) -> None:
        """Refuse very many different numbers as classes, unless the command line insists."""
        if len(self._seen) > MANY_LABELS and self._rows < ROWS_PER_LABEL * len(self._seen):
            raise UsageError(
                f"The labels of {self._name} are {len(self._seen):,} different numbers in {self._rows:,} rows. To "
                "predict numbers, pass --regression; to learn a class for each of them, which takes long, pass "
                "--classes."
            )


def _lines(facts: dict[str, Any], stream: Any) -> dict[str, str]:
    columns, classes = facts["columns"], facts.get("classes")
    kinds = Counter(column["kind"] for column in columns if column["used"])
    plural = {"number": "numbers", "date": "dates", "category": "categories"}
    few = facts["training_rows"] < facts["rows"]
    sampled = f"; {facts['training_rows']:,} rows at random train" if few else ""
    lines = {
        "data": f"{facts['rows']:,} rows, {facts['n_features']:,} columns ({stream.format}){sampled}",
        **({} if classes is None else {"classes": labels_text(classes)}),
        "columns": ", ".join(f"{count} {kind if count == 1 else plural[kind]}" for kind, count in kinds.items()),
    }
    unused = [
        f"{column['name']} ({column['treatment'].partition(': ')[2]})" for column in columns if not column["used"]
    ]
    if unused:
        lines["not used"] = "; ".join(unused[:5]) + (f"; and {len(unused) - 5} more" if len(unused) > 5 else "")
    lines["important"] = important_columns(columns)
    lines["hash"] = f"{facts['n_components']} hashes, effort {facts['effort']}"
    if facts["budget"] is not None:
        lines["budget"] = summary_of(facts["fitted_effort"], facts["training_rows"], facts["budget"])
    elif facts["fitted_effort"] != EFFORTS[facts["effort"]].settings():
        lines["interrupted"] = summary_of(facts["fitted_effort"], facts["training_rows"], None)
    lines["blend"] = f"C={facts['C']:g}, " + (
        f"boosted trees have a share of {100 * facts['trees_share']:.0f} %" if facts["trees_share"] else "no trees"
    )
    lines["held out"] = _held_out_text(facts)
    times = [format_duration(facts[name]) for name in ("read_seconds", "learn_seconds")]
    lines["time"] = f"{times[0]} for reading, {times[1]} for learning"
    return lines | saved_lines(facts)


def _held_out_text(facts: dict[str, Any]) -> str:
    """Return the scores of held-out rows beside those of predicting the same for every row."""
    error = facts["held_out_standard_error"]
    if "held_out_score" in facts:
        score, margin = facts["held_out_score"], "" if error is None else f" ± {error:.4f}"
        shown = "unknown" if score is None else f"{score:.4f}{margin}"
        usual = {name: facts[f"held_out_{name}"] for name in ("accuracy", "rmse") if f"held_out_{name}" in facts}
        more = "".join(f", {'RMSE' if name == 'rmse' else name} {value:.4g}" for name, value in usual.items())
        from_threshold = f", threshold {facts['threshold']:.3g}" if "threshold" in facts else ""
        name = facts["held_out_metric"]
        of_class = f" of {facts['classes'][1]}" if name in OF_SECOND_CLASS and len(facts["classes"]) == 2 else ""
        return f"{name}{of_class} {shown}{more}{from_threshold}"
    if "held_out_r2" in facts:
        margin = "" if error is None else f" ± {error:.4f}"
        rmse, baseline = facts["held_out_rmse"], facts["held_out_baseline_rmse"]
        return f"R2 {facts['held_out_r2']:.4f}{margin}, RMSE {rmse:.4g} (the mean: {baseline:.4g})"
    margin = "" if error is None else f" ± {100 * error:.2f}"
    auc = f", AUC {facts['held_out_auc']:.4f}" if "held_out_auc" in facts else ""
    return (
        f"{facts['held_out_metric']} {100 * facts['held_out_accuracy']:.2f} %{margin} (the largest class: "
        f"{100 * facts['held_out_baseline_accuracy']:.2f} %){auc}, log-loss {facts['held_out_log_loss']:.4f}"
    )
