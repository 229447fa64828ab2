"""A model from its file, and the decisions it makes about rows of another file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import check_n_jobs
from ..exceptions import InputError
from ..formats import RowBlock, RowStream
from ..hashing import PackedCodes
from ..linear import load_model
from ._codes import codes_of

Array = NDArray[Any]


class Decider:
    """A model that decides about rows as files give them."""

    def __init__(self, path: Path, stream: RowStream, threads: int) -> None:
        self.model = load_model(path)
        self.model.n_jobs = threads
        self._hasher, self._threads = self.model.hasher_.hasher, check_n_jobs(threads)
        self.is_regressor = not hasattr(self.model, "classes_")
        self._columns, self._name = columns_of(self.model, stream), stream.name

    def parts(self, rows: RowBlock) -> Iterator[tuple[PackedCodes, Array | None]]:
        """Codes of a block and its labels, a part at a time."""
        X = rows.X if self._columns is None else rows.X[:, self._columns]
        width = self.model.n_features_in_
        if isinstance(X, np.ndarray) and X.shape[1] != width:
            raise InputError(
                f"{self._name} has {X.shape[1]} columns of features, the model was trained on {width}. If one is a "
                "label, name it: --label COLUMN, -1 for the last."
            )
        for part, codes in codes_of(self._hasher, X, self._threads):
            yield codes, None if rows.y is None else np.asarray(rows.y)[part]


def columns_of(model: Any, stream: RowStream) -> list[int] | None:
    """Where the model's features are in a file with names; None if they are all there is, in order."""
    wanted, found = getattr(model, "feature_names_in_", None), stream.feature_names
    if wanted is None or found is None or tuple(wanted) == found:
        return None
    for names, where in ((tuple(wanted), "the model's features"), (found, f"columns of {stream.name}")):
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"several of {where} are named {twice!r}, so they cannot be told apart: rename them.")
    places = {name: column for column, name in enumerate(found)}
    missing = [name for name in wanted if name not in places]
    if missing:
        raise InputError(
            f"{stream.name} has no column {missing[0]!r}, which the model was trained on"
            f"{f', and {len(missing) - 1} more are missing' if len(missing) > 1 else ''}."
        )
    return [places[name] for name in wanted]


def check_kinds(labels: Array, classes: Array, name: str) -> None:
    """Refuse to compare numbers with text."""
    text = [kind.dtype.kind in "OUST" for kind in (labels, classes)]
    if text[0] != text[1]:
        what = [("numbers", "text")[kind] for kind in text]
        advice = "pass --text-labels" if text[1] else "are they of the same problem?"
        raise InputError(f"labels of {name} are {what[0]}, those of the model {what[1]}: {advice}")


def class_numbers(labels: Array, classes: Array) -> Array:
    """The number of each label among the classes, and of none of them their count."""
    places = np.searchsorted(classes, labels)
    places[places == len(classes)] = 0
    return np.where(classes[places] == labels, places, len(classes))
