"""``kernelsketch train``: read and hash blocks, learn on the codes, save the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from ..._hash_parameters import hasher_for
from ..._losses import LOSSES, TABLE_LOSSES
from ..._rows import canonical_rows
from ..._validation import check_n_jobs
from ...exceptions import InputError, Setting
from ...formats import NotNumbersError, RowStream
from ...hashing import PackedCodes
from ...linear import FitProgress, GCWSClassifier, GCWSClassifierCV, GCWSRegressor, MemoryBoundError
from .._errors import UsageError
from .._hashing import codes_of
from .._memory import enough_memory, memory_left, peak_bytes
from .._options import HashOptions, open_input
from .._progress import CountedRows, ProgressMeter, format_duration
from .._results import labels_text, print_facts, print_json
from .._row_columns import RowColumns
from ..commands.train import Train
from .train_further import train_further
from .train_table import LABEL_COPIES, Labels, save_model, saved_lines, train_table

COPIES = 4  # of the codes that cross-validation holds at a time


OF_TABLES = (
    *("effort", "budget", "groups", "time", "categorical_features", "max_categories", "infinity"),
    *("on_interrupt", "scoring", "threshold", "sample"),
)
OF_PLAIN = ("n_components", "bits", "t_bits", "p", "gamma", "C", "cv", "tol", "max_iter", "temp_dir")


def train(task: Train) -> None:
    try:
        _train(task)
    except NotNumbersError as error:
        if not task.plain:
            raise
        raise InputError(
            error.message,
            " Without --plain, train takes categories, dates and gaps as they are; of a table larger than memory, "
            "--sample ROWS takes so many rows at random.",
        ) from None


def _train(task: Train) -> None:
    if task.classes:  # scikit-learn warns about many classes; --classes confirms them
        warnings.filterwarnings("ignore", "The number of unique classes")
    if task.continue_from is not None:
        facts, lines = train_further(task)
        print_json(facts) if task.json else print_facts(lines)
        return
    with (
        ProgressMeter("reading", task.quiet) as meter,
        open_input(task.inputs, task, as_table=not task.plain, several_labels=True, drops=task.plain) as stream,
    ):
        _refuse_options(task, stream)
        facts, lines = (train_table if stream.is_table else _train_plain)(task, stream, meter)
    print_json(facts) if task.json else print_facts(lines)


def _refuse_options(task: Train, stream: RowStream) -> None:
    is_table = stream.is_table
    given = [name for name in (OF_PLAIN if is_table else OF_TABLES) if task.is_given(name)]
    if not is_table and not task.plain and task.drop:
        given.append("drop")
    unused = ["--categorical" if name == "categorical_features" else f"--{name.replace('_', '-')}" for name in given]
    losses = TABLE_LOSSES if is_table else LOSSES
    if task.loss is not None and (task.loss not in losses or (is_table and not task.regression)):
        unused.append(f"--loss {task.loss}")
    if len(task.labels) > 1 and not is_table:
        raise UsageError(
            "--label is given several times, which only tables (CSV, TSV, Parquet, Arrow) without --plain have: name "
            "one label, and train a model for each."
        )
    if not unused:
        return
    shown = " and ".join(unused)
    if is_table:
        raise UsageError(
            f"{task.input} is a table, for which training chooses its own hash and solver: add --plain to use {shown}, "
            f"or leave {shown} out."
        )
    if unused == ["--drop"] and stream.format == "npy":
        raise UsageError(f"--drop leaves columns out of {task.input} if you add --plain, too.")
    raise UsageError(f"{shown}: only tables (CSV, TSV, Parquet, Arrow) without --plain have this option. Leave it out.")


def _train_plain(task: Train, stream: RowStream, meter: ProgressMeter) -> tuple[dict[str, Any], dict[str, str]]:
    meter.begin("hashing")
    counted = CountedRows(stream, meter)
    # Before the first block is read. Blocks need so little that the error of too little memory waits for their number.
    budget = memory_left(task, reading=False, least=1 << 25 if task.cv else None)
    rows = _TimedBlocks(counted, task, RowColumns(stream, task))
    made = _new_estimator(task, _hash_parameters(task, rows))
    if task.cv:
        _fit_in_memory(made, rows, task, budget, meter)
    else:
        _fit_blocks(made, rows, task, budget, _PassProgress(meter, task.tol).show)
    seconds = meter.seconds
    if stream.feature_names is not None:
        made.feature_names_in_ = np.array(stream.feature_names, dtype=object)
    facts = {
        **save_model(made, task, stream, counted.rows),
        **({"C": made.C_, "cv_accuracy": float(made.scores_.mean(axis=0).max())} if task.cv else {"C": made.C}),
        "passes": int(made.n_iter_),
        "duality_gap": max(0.0, float(np.max(made.dual_gap_ / np.maximum(made.objective_, np.finfo(float).tiny)))),
        "hash_seconds": rows.seconds,
        "learn_seconds": seconds - rows.seconds,
        "peak_bytes": peak_bytes(),
    }
    return facts, _lines(facts, made, stream)


def _new_estimator(task: Train, parameters: dict[str, Any]) -> Any:
    kind = GCWSRegressor if task.regression else GCWSClassifierCV if task.cv else GCWSClassifier
    parameters |= {"tol": task.tol, "max_iter": task.max_iter, "n_jobs": task.threads}
    parameters |= {n: value for n in ("C", "loss", "quantile") if (value := getattr(task, n)) is not None}
    if task.balanced:
        parameters["class_weight"] = "balanced"
    return kind(**parameters)


class _TimedBlocks:
    """X, y and weights, if there are any, of the blocks of files, and the seconds that reading and hashing took."""

    def __init__(self, rows: CountedRows, task: Train, columns: RowColumns) -> None:
        self._counted, self._name = rows, task.input
        self._rows = iter(rows)
        self._labels, self._columns = Labels(task), columns
        self.seconds = 0.0
        self.first = next(self._rows, None)
        if self.first is None:
            raise InputError(f"{task.input} has no rows.")

    @property
    def seen(self) -> int:
        """The number of rows so far."""
        return self._counted.rows

    @property
    def expected_rows(self) -> int:
        """The estimated number of all rows; fit_blocks reads it."""
        return self._counted.expected

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        assert self.first is not None
        for part in chain([self.first], self._rows):
            if part.y is None and isinstance(part.X, PackedCodes):
                raise InputError(f"{self._name} holds codes without labels: hash a file of rows that has labels.")
            self.first = None
            weights = self._columns.weights(part)
            y = self._labels.checked(part.y)
            yield (part.X, y) if weights is None else (part.X, y, weights)
        self._labels.check_count()
        self.seconds = self._counted.seconds


def _hash_parameters(task: Train, rows: _TimedBlocks) -> dict[str, Any]:
    """Return the parameters of the hash; those of the codes, if the file holds codes."""
    assert rows.first is not None
    codes, given = rows.first.X, {**task.hash_parameters(), "random_state": task.seed}
    if not isinstance(codes, PackedCodes):
        return given
    hasher = codes.hasher
    found = {name: getattr(hasher, name) for name in task.hash_parameters()} | {"random_state": hasher.seed}
    usual = {**HashOptions().hash_parameters(), "random_state": HashOptions.seed}
    for key, value in found.items():
        if given[key] not in (value, usual[key]):
            raise InputError(
                f"{task.input} holds codes with ",
                Setting(key, value),
                f", but the command line has {given[key]}: hash the rows again, or leave the option out.",
                parameter=key,
            )
    return {**found, "center": hasher.center, "views": list(hasher.views) or None}


def _fit_blocks(model: Any, rows: _TimedBlocks, task: Train, budget: int, progress: Any) -> None:
    try:
        model.fit_blocks(rows, memory=max(budget, 1), temp_dir=task.temp_dir, progress=progress)
    except MemoryBoundError as error:
        enough = enough_memory(task, budget, error.needed, reading=False)
        raise InputError(
            f"--memory {task.memory} is too small for the weights and the state of {_about(error.rows, rows)}: "
            f"pass --memory {enough} or more, or use fewer hashes or bits."
        ) from None


def _about(count: int, rows: _TimedBlocks) -> str:
    return f"{count:,} rows" if count <= rows.seen else f"about {count:,} rows"


class _PassProgress:
    """Passes as progress. The logarithm of the duality gap falls about evenly from pass to pass."""

    def __init__(self, meter: ProgressMeter, tol: float) -> None:
        self._meter, self._tol = meter, tol
        self._first: float | None = None

    def show(self, event: FitProgress) -> None:
        gap = float(np.max(event.gaps))
        if self._first is None and np.isfinite(gap):
            self._first = gap
            self._meter.begin("learning")
        fraction = None
        if self._first is not None and self._first > self._tol and gap > 0:
            fraction = float(np.clip(np.log(self._first / gap) / np.log(self._first / self._tol), 0, 1))
        self._meter.show(fraction, f"pass {event.passes}, duality gap {gap:.1e}, target {self._tol:.0e}")


class _FoldProgress:
    """Show a line for each fold, and the scores of every C after the last fold."""

    def __init__(self, meter: ProgressMeter, model: GCWSClassifierCV) -> None:
        self._meter, self._model, self._said = meter, model, 0

    def show(self, event: FitProgress) -> None:
        if event.fold == 0:
            self._meter.show(None, f"pass {event.passes}, duality gap {float(np.max(event.gaps)):.1e}")
            if self._said:
                self._say_scores()
            return
        text = f"fold {event.fold}/{event.n_folds}, C={event.C:g}: {event.passes} passes"
        if event.is_solved and event.fold > self._said:
            self._said = event.fold
            self._meter.say(text)
        else:
            self._meter.show((event.fold - 0.5) / event.n_folds, text)

    def _say_scores(self) -> None:
        for C, score in zip(self._model.Cs_, self._model.scores_.mean(axis=0), strict=True):
            self._meter.say(f"C={C:g}: mean score {score:.4f}")
        self._meter.say(f"training on all rows with C={self._model.C_:g}")
        self._said = 0


def _fit_in_memory(model: Any, rows: _TimedBlocks, task: Train, budget: int, meter: ProgressMeter) -> None:
    """Fit in memory: cross-validation passes over all codes for each fold."""
    size, label_bytes, count = 0, 0, 0
    parts, labels, weights, hasher = [], [], [], None
    for X, y, *weight in rows:
        if hasher is None and not isinstance(X, PackedCodes):
            hasher = hasher_for(model, canonical_rows(X[:1]))
        new = [X] if hasher is None else [codes for _, codes in codes_of(hasher, X, check_n_jobs(task.threads))]
        parts += new
        labels.append(y)
        weights += weight
        size += COPIES * sum(part.nbytes for part in new)
        label_bytes, count = max(label_bytes, y.dtype.itemsize), count + len(y)
        needed = size + LABEL_COPIES * label_bytes * count
        in_all = needed * rows.expected_rows / count
        if max(needed, in_all) > budget:
            raise InputError(
                f"--memory {task.memory} is too small for --cv, which holds the codes and labels of "
                f"{_about(rows.expected_rows, rows)} in memory: pass --memory "
                f"{enough_memory(task, budget, in_all, reading=False)} or more, use fewer hashes, or choose C on a "
                "part of the rows and train with --C."
            )
    widest = max(parts, key=lambda part: part.n_features)
    codes = PackedCodes.concatenate(parts)
    meter.say(f"{len(codes):,} rows")
    meter.begin("cross-validation")
    every = replace(codes, n_features=widest.n_features)
    sample_weight = np.concatenate(weights) if weights else None
    model.fit(every, np.concatenate(labels), sample_weight, progress=_FoldProgress(meter, model).show)


def _lines(facts: dict[str, Any], model: Any, stream: Any) -> dict[str, str]:
    hasher, classes = model.hasher_.hasher, facts.get("classes")
    hash_time, learn_time = facts["hash_seconds"], facts["learn_seconds"]
    lines = {
        "data": f"{facts['rows']:,} rows of {facts['n_features']:,} features ({stream.format})",
        **({} if classes is None else {"classes": labels_text(classes)}),
        "hash": f"{hasher.n_components} hashes of {hasher.width} bits, seed {hasher.seed}",
        "solver": f"{facts['passes']} passes, relative duality gap {facts['duality_gap']:.1e}",
    }
    if "cv_accuracy" in facts:
        lines["C"] = f"{facts['C']:g}, with accuracy {100 * facts['cv_accuracy']:.2f} % in cross-validation"
    lines["time"] = f"{format_duration(hash_time)} for reading and hashing, {format_duration(learn_time)} for learning"
    return lines | saved_lines(facts)
