"""``kernelsketch train --continue``: learn from new rows, in one pass, with an earlier model as the start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._array import Array
from ...exceptions import InputError
from ...hashing import PackedCodes
from .._errors import UsageError
from .._file_predictor import FilePredictor, check_label_types, class_numbers, numbers_of_classes
from .._file_versions import why_not
from .._memory import memory_left, peak_bytes
from .._progress import CountedRows, ProgressMeter, format_duration
from .._results import label_value, labels_text
from ..commands.train import Train
from .train_table import as_targets, saved_facts, saved_lines

STEP = 1 << 14  # rows that are learned at a time, so that the model does not depend on --memory

# Options of training that a model keeps, and those that no model on codes goes on with.
KEPT = ("n_components", "bits", "t_bits", "p", "gamma", "C", "loss", "quantile", "tol", "max_iter")
REFUSED = (
    *("cv", "balanced", "classes", "effort", "budget", "sample", "groups", "time", "categorical_features"),
    *("max_categories", "drop", "infinity", "scoring", "threshold", "temp_dir", "sample_weight", "on_interrupt"),
)


def train_further(task: Train) -> tuple[dict[str, Any], dict[str, str]]:
    """Learn from the rows of INPUT, save the model, and return facts about it, also as lines."""
    assert task.continue_from is not None
    predictor = FilePredictor(task.continue_from, task.threads, learns=True)
    model = predictor.model
    _check_model(task, predictor)
    names = getattr(model, "feature_names_in_", None)
    with (
        ProgressMeter("learning", task.quiet) as meter,
        predictor.open(task.inputs, task, ignore_labels=False) as stream,
    ):
        memory_left(task)
        counted = CountedRows(stream, meter)
        rows = _Rows(task, predictor)
        for block in counted:
            if block.y is None:
                raise InputError(f"{task.input} has no labels. Name their column with --label COLUMN; -1 is the last.")
            for codes, y in predictor.parts(block):
                rows.add(codes, y)
        rows.learn_all()
    if not counted.rows:
        raise InputError(f"{task.input} has no rows.")
    if names is not None:
        model.feature_names_in_ = names
    elif counted.n_features > model.n_features_in_ and not model.hasher_.hasher.views:
        model.n_features_in_ = counted.n_features  # sparse rows may be wider than those before
        model.fitted_ = replace(model.fitted_, n_features=counted.n_features)
    facts = {
        **saved_facts(model, task, counted.rows),
        "continued": str(task.continue_from),
        **rows.facts(),
        "seconds": meter.seconds,
        "peak_bytes": peak_bytes(),
    }
    return facts, _lines(facts, stream)


class _Rows:
    """Collects codes and labels, and learns them in steps of equal size, after the model has predicted them."""

    def __init__(self, task: Train, predictor: FilePredictor) -> None:
        self._task, self._predictor, self._model = task, predictor, predictor.model
        self._codes: list[PackedCodes] = []
        self._labels: list[Array] = []
        self._waiting = self._done = 0
        self._sum = 0.0  # of rows that were right, or of squared errors

    def add(self, codes: PackedCodes, labels: Any) -> None:
        """Add rows; learn as soon as there are enough."""
        self._codes.append(codes)
        self._labels.append(self._checked(labels))
        self._waiting += len(codes)
        if self._waiting < STEP:
            return
        joined, y = PackedCodes.concatenate(self._codes), np.concatenate(self._labels)
        for start in range(0, self._waiting - STEP + 1, STEP):
            self._learn(joined[start : start + STEP], y[start : start + STEP])
        rest = slice(self._waiting - self._waiting % STEP, None)
        self._codes, self._labels, self._waiting = [joined[rest]], [y[rest]], self._waiting % STEP

    def learn_all(self) -> None:
        """Learn the last rows."""
        if self._waiting:
            self._learn(PackedCodes.concatenate(self._codes), np.concatenate(self._labels))

    def _learn(self, codes: PackedCodes, y: Array) -> None:
        if self._predictor.is_regressor:
            self._sum += float(np.sum((self._model.predict(codes) - y) ** 2))
        else:
            chosen = numbers_of_classes(self._model, codes, self._model.decision_function(codes))
            self._sum += int(np.count_nonzero(chosen == class_numbers(y, self._model.classes_)))
        self._done += len(y)
        self._model.partial_fit(codes, y)

    def _checked(self, labels: Any) -> Array:
        name, source = self._task.input, self._task.continue_from
        if self._predictor.is_regressor:
            y = np.asarray(as_targets(labels))
            if y.dtype.kind not in "iufb":
                raise InputError(
                    f"The labels of {name} are text, for example {str(y[0])!r}, but {source} predicts numbers: check "
                    "that they belong together."
                )
            return y.astype(np.float64)
        y, classes = np.asarray(labels), self._model.classes_
        check_label_types(y, classes, name)
        unknown = np.flatnonzero(class_numbers(y, classes) == len(classes))
        if len(unknown):
            shown = labels_text(classes.tolist())
            raise InputError(
                f"{name} has the label {str(label_value(y[unknown[0]].item()))!r}, but the classes of {source} are "
                f"{shown}. A model cannot get a new class: train one on all rows, old and new, without --continue."
            )
        return np.asarray(classes[class_numbers(y, classes)])

    def facts(self) -> dict[str, Any]:
        """Return how well rows were predicted before they were learned."""
        if self._predictor.is_regressor:
            return {"progressive_root_mean_squared_error": float(np.sqrt(self._sum / self._done))}
        return {"progressive_accuracy": self._sum / self._done}


def _check_model(task: Train, predictor: FilePredictor) -> None:
    """Refuse models that cannot learn from new rows alone, and options that the model does not have."""
    model, source = predictor.model, task.continue_from
    reason = why_not(model)
    if reason:
        how = "-m NEW_MODEL" if predictor.is_tabular else "--plain -m NEW_MODEL"
        raise InputError(
            f"{source} {reason}. Train a new model on all rows, old and new: kernelsketch train ALL_ROWS --label "
            f"COLUMN {how}. A model that is trained with --plain, without --cv and --balanced, can go on with new rows."
        )
    for name in REFUSED:
        if task.is_given(name):
            option = "--categorical" if name == "categorical_features" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} and --continue exclude each other: leave one of them out.")
    if task.is_given("regression") and not predictor.is_regressor:
        raise UsageError(f"--regression: {source} is a classifier. Leave --regression out, or train a new model.")
    if task.is_given("seed") and task.seed != model.hasher_.seed_:
        raise _differs("seed", task.seed, model.hasher_.seed_, source)
    for name in KEPT:
        if task.is_given(name) and getattr(task, name) != getattr(model, name, None):
            raise _differs(name, getattr(task, name), getattr(model, name, None), source)


def _differs(name: str, given: Any, own: Any, source: Any) -> UsageError:
    option = f"--{name.replace('_', '-')}"
    own = "has none" if own is None else f"has {option} {own}"
    return UsageError(
        f"{option} {given}: {source} {own}, and a model keeps its options. Leave {option} out, or train a new model on "
        "all rows, old and new, without --continue."
    )


def _lines(facts: dict[str, Any], stream: Any) -> dict[str, str]:
    classes = facts.get("classes")
    if "progressive_accuracy" in facts:
        score = f"accuracy {100 * facts['progressive_accuracy']:.2f} %"
    else:
        score = f"RMSE {facts['progressive_root_mean_squared_error']:.6g}"
    lines = {
        "data": f"{facts['rows']:,} new rows of {facts['n_features']:,} features ({stream.format})",
        **({} if classes is None else {"classes": labels_text(classes)}),
        "continued": f"{facts['continued']}, in one pass",
        "before": f"{score}: rows predicted before they were learned, {STEP:,} at a time",
        "time": format_duration(facts["seconds"]),
    }
    return lines | saved_lines(facts)
