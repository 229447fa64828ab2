"""``kernelsketch train``: from a file of rows to a model file, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import numpy as np
import typer

from .._rows import canonical_rows
from .._validation import check_n_jobs
from ..exceptions import InputError
from ..hashing import PackedCodes, hasher_for
from ..linear import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, MemoryBoundError
from ..storage import check_other, check_target
from ._codes import codes_of
from ._errors import UsageError
from ._groups import grouped
from ._options import Hashing, Input, Json, Model, Reading, Running, open_input
from ._output import bytes_text, label_value, labels_text, memory_left, peak_bytes, tell, tell_json
from ._progress import Counted, Meter, duration

LEARNING = "Learning"
COPIES = 4  # of the codes that cross-validation holds at a time
CLASS_LOSSES, VALUE_LOSSES = ("squared_hinge", "hinge", "log_loss"), ("squared_error", "huber")
Loss = Enum("Loss", {name: name for name in (*CLASS_LOSSES, *VALUE_LOSSES)}, type=str)  # type: ignore[misc]


@grouped
def train(
    *,
    input: Input,
    model: Model,
    hashing: Hashing,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            "-C",
            help="Weight of the losses: larger fits closer. 1 if not given.",
            show_default=False,
            rich_help_panel=LEARNING,
        ),
    ] = None,
    cv: Annotated[
        bool,
        typer.Option("--cv", help="Choose C by cross-validation. Codes stay in memory.", rich_help_panel=LEARNING),
    ] = False,
    regression: Annotated[
        bool, typer.Option("--regression", help="Labels are values, not classes.", rich_help_panel=LEARNING)
    ] = False,
    loss: Annotated[
        Loss | None,
        typer.Option(
            "--loss",
            help="squared_hinge unless told otherwise; log_loss gives probabilities. With --regression: squared_error.",
            show_default=False,
            rich_help_panel=LEARNING,
        ),
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Classes count alike, whatever their sizes.", rich_help_panel=LEARNING)
    ] = False,
    tol: Annotated[
        float, typer.Option("--tol", help="Duality gap to stop at, of the objective.", rich_help_panel=LEARNING)
    ] = 1e-3,
    max_iter: Annotated[
        int, typer.Option("--max-iter", min=1, help="Passes at most.", rich_help_panel=LEARNING)
    ] = 1000,
    reading: Reading,
    running: Running,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", help="For the temporary file of codes; by default the system's.", rich_help_panel="Running"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Learn from a file of rows that may be larger than memory, and write a model file.

    Rows are hashed as they are read; only their codes are kept, in a temporary file without a name, and the solver
    goes over it as often as it must. The weights are those that GCWSClassifier.fit finds on all rows at once, to the
    last bit, whatever --memory, --threads and the format of the file.

    The temporary file takes one byte a hash and row (two with more than 8 bits). INPUT may be a file of codes that
    [bold]hash[/bold] wrote: then leave the options of the hash out.
    """
    problem = _Problem(C, cv, regression, None if loss is None else loss.value, balanced, tol, max_iter)
    check_target(model)
    check_other(model, input, "the file of rows")
    with Meter("hashing", running.quiet) as meter, open_input(input, reading, running) as stream:
        counted = Counted(stream, meter)
        rows = _Labelled(counted, input, regression)
        made = problem.estimator(_parameters(hashing, rows, input), running)

        learning = _Learning(meter, tol)
        if cv:
            _fit_in_memory(made, rows, running)
        else:
            _fit_blocks(made, rows, running, folder, learning.show)
        seconds = meter.seconds
    if stream.feature_names is not None:
        made.feature_names_in_ = np.array(stream.feature_names, dtype=object)
    made.save(model)
    facts = {
        "model": str(model),
        "estimator": type(made).__name__,
        "bytes": model.stat().st_size,
        "rows": counted.rows,
        "n_features": int(made.n_features_in_),
        **({} if regression else {"classes": [label_value(label) for label in made.classes_.tolist()]}),
        **({"C": made.C_, "cv_accuracy": float(made.scores_.mean(axis=-1).max())} if cv else {"C": made.C}),
        "passes": int(made.n_iter_),
        "gap": max(0.0, float(np.max(made.dual_gap_ / np.maximum(made.objective_, np.finfo(float).tiny)))),
        "hash_seconds": rows.seconds,
        "learn_seconds": seconds - rows.seconds,
        "peak_bytes": peak_bytes(),
    }
    tell_json(facts) if json else tell(_lines(facts, made, stream))


@dataclass
class _Problem:
    """What is to be learned."""

    C: float | None
    cv: bool
    regression: bool
    loss: str | None
    balanced: bool
    tol: float
    max_iter: int

    def __post_init__(self) -> None:
        losses = VALUE_LOSSES if self.regression else CLASS_LOSSES
        if self.loss is not None and self.loss not in losses:
            what = "values" if self.regression else "classes"
            raise UsageError(f"--loss {self.loss} is not for {what}: use one of {', '.join(losses)}.")
        if self.cv and self.C is not None:
            raise UsageError("--cv chooses C by itself: leave --C out.")
        for name in ("cv", "balanced"):
            if self.regression and getattr(self, name):
                raise UsageError(f"--{name} is for classes, --regression for values: use one of them.")

    def estimator(self, parameters: dict[str, Any], running: Running) -> Any:
        kind = GCWSRegressor if self.regression else GCWSClassifierCV if self.cv else GCWSClassifier
        parameters |= {"tol": self.tol, "max_iter": self.max_iter, "n_jobs": running.threads}
        if self.C is not None:
            parameters["C"] = self.C
        if self.loss is not None:
            parameters["loss"] = self.loss
        if self.balanced:
            parameters["class_weight"] = "balanced"
        return kind(**parameters)


class _Labelled:
    """Pairs (X, y) of a file, and how long they took."""

    def __init__(self, rows: Counted, name: str, regression: bool) -> None:
        self._rows, self._name, self._start = iter(rows), name, monotonic()
        self._regression = regression
        self.seconds = 0.0
        self.first = next(self._rows, None)
        if self.first is None:
            raise InputError(f"{name} has no rows.")

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        assert self.first is not None
        for part in chain([self.first], self._rows):
            if part.y is None:
                raise InputError(f"{self._name} has no labels. Name their column: --label COLUMN, -1 for the last.")
            self.first = None
            self._check(np.asarray(part.y))
            yield part.X, part.y
        self.seconds = monotonic() - self._start

    def _check(self, y: Any) -> None:
        is_text = y.dtype.kind in "OUST"
        if self._regression and is_text:
            raise InputError(f"labels of {self._name} are text, {str(y[0])!r} for one: --regression needs numbers.")
        if y.dtype.kind != "f":
            return
        if not np.isfinite(y).all():
            raise InputError(
                f"a label of {self._name} is {y[np.argmin(np.isfinite(y))]}. Drop the row, or give it a label."
            )
        if not self._regression and (y != np.floor(y)).any():
            value = float(y[np.argmax(y != np.floor(y))])
            raise InputError(
                f"labels of {self._name} are not whole numbers, {value!r} for one. If they are values to predict, "
                "pass --regression; if they are names of classes, --text-labels."
            )


def _parameters(hashing: Hashing, rows: _Labelled, name: str) -> dict[str, Any]:
    """Of the hash: those of the codes, where the file holds codes."""
    assert rows.first is not None
    codes = rows.first.X
    if not isinstance(codes, PackedCodes):
        return hashing.parameters()
    hasher = codes.hasher
    found: dict[str, Any] = {
        "n_components": codes.n_components,
        "bits": codes.bits,
        "t_bits": codes.t_bits,
        "p": hasher.p,
    }
    found |= {"gamma": hasher.gamma, "random_state": hasher.seed}
    given, usual = hashing.parameters(), Hashing().parameters()
    for key, value in found.items():
        if given[key] not in (value, usual[key]):
            raise InputError(
                f"{name} holds codes with {key}={value}, but {given[key]} is asked for: hash the rows anew."
            )
    return {**found, "center": hasher.center}


def _fit_blocks(model: Any, rows: _Labelled, running: Running, folder: Path | None, progress: Any) -> None:
    budget = memory_left(running)
    try:
        model.fit_blocks(rows, memory=budget, folder=folder, progress=progress)
    except MemoryBoundError as error:
        least = bytes_text(1.05 * (running.bytes - budget + error.needed))
        raise InputError(
            f"--memory {running.memory} is too small: weights, and what is kept of each row, take {least} after "
            f"{error.rows:,} rows. Raise it, or use fewer hashes or bits."
        ) from None


class _Learning:
    """Passes as progress: the gap falls about as fast from one to the next."""

    def __init__(self, meter: Meter, tol: float) -> None:
        self._meter, self._tol = meter, tol
        self._first: float | None = None

    def show(self, number: int, gaps: Any) -> None:
        gap = float(np.max(gaps))
        if self._first is None and np.isfinite(gap):
            self._first = gap
            self._meter.begin("learning")
        share = None
        if self._first is not None and self._first > self._tol and gap > 0:
            share = float(np.clip(np.log(self._first / gap) / np.log(self._first / self._tol), 0, 1))
        self._meter.show(share, f"pass {number}, duality gap {gap:.1e}, to reach {self._tol:.0e}")


def _fit_in_memory(model: Any, rows: _Labelled, running: Running) -> None:
    """Cross-validation goes over all codes for each fold: they are not spilled."""
    budget, size = memory_left(running), 0
    parts, labels, hasher = [], [], None
    for X, y in rows:
        if hasher is None and not isinstance(X, PackedCodes):
            hasher = hasher_for(model, canonical_rows(X[:1]))
        new = [X] if hasher is None else [codes for _, codes in codes_of(hasher, X, check_n_jobs(running.threads))]
        parts += new
        labels.append(y)
        size += COPIES * sum(part.nbytes for part in new)
        if size > budget:
            raise InputError(
                f"--memory {running.memory} is too small for --cv, which keeps all codes in memory. Raise it, use "
                "fewer hashes, or choose C on a part of the rows and train with --C."
            )
    widest = max(parts, key=lambda part: part.n_features)
    codes = PackedCodes.concatenate(parts)
    model.fit(replace(codes, n_features=widest.n_features), np.concatenate(labels))


def _lines(facts: dict[str, Any], model: Any, stream: Any) -> dict[str, str]:
    hasher, classes = model.hasher_.hasher, facts.get("classes")
    hash_time, learn_time = facts["hash_seconds"], facts["learn_seconds"]
    lines = {
        "rows": f"{facts['rows']:,} of {facts['n_features']:,} features ({stream.format})",
        **({} if classes is None else {"classes": labels_text(classes)}),
        "hash": f"{hasher.n_components} codes of {hasher.width} bits, seed {hasher.seed}",
        "learned": f"{facts['passes']} passes, duality gap {facts['gap']:.1e} of the objective",
    }
    if "cv_accuracy" in facts:
        lines["C"] = f"{facts['C']:g}, accuracy {100 * facts['cv_accuracy']:.2f} % in cross-validation"
    lines["time"] = f"{duration(hash_time)} reading and hashing, {duration(learn_time)} learning"
    if facts["peak_bytes"] is not None:
        lines["memory"] = f"{bytes_text(facts['peak_bytes'])} at the peak"
    lines["model"] = f"{facts['model']}, {bytes_text(facts['bytes'])}"
    return lines
