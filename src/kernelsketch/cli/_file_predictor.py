"""A model file applied to the rows of another file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array
from .._frames import first_repeated
from .._validation import check_n_jobs, row_batches, widened
from ..exceptions import InputError
from ..formats import PartStream, RowBlock, RowStream
from ..hashing import PackedCodes
from ..tabular import load_model
from ._errors import tell
from ._hashing import codes_of
from ._options import KnownLabel, RowsOptions, open_input
from ._tables import NumberReader, TableReader

STEP_BYTES = 1 << 25  # of rows or values that are predicted at a time
VALUE_BYTES = 100  # of a value of a class, as a number and as text


class FilePredictor:
    """A model loaded from its file, which predicts rows as files give them.

    With ``learns``, rows that are wider than those of training are no surprise.
    """

    def __init__(self, path: Path, threads: int, *, learns: bool = False) -> None:
        self.model = load_model(path)
        self.model.n_jobs = threads
        self.has_several = bool(getattr(self.model, "_has_several", False))
        self._threads, self._warned = check_n_jobs(threads), learns
        self.is_regressor = not hasattr(self.model, "classes_")
        self.is_tabular = self.has_several or hasattr(self.model, "columns_")
        outputs = self.model.estimators_ if self.has_several else [self.model]
        self._one_output = outputs[0]
        labels = [getattr(one, "model_", one).fitted_.label_column for one in outputs]
        self.labels: list[str | int] = [] if None in labels else labels

    @contextmanager
    def open(
        self, path: list[str], options: RowsOptions, *, ignore_labels: bool, carry: list[str] | None = None
    ) -> Iterator[RowStream]:
        """Open files of rows, whose columns ``parts`` then matches with the features of the model.

        The files may have the label columns that the model was trained with. ``carry`` names further columns of a
        table.
        """
        features = None
        if hasattr(self.model, "feature_names_in_"):
            columns = self._one_output.columns_ if self.is_tabular else []
            left_out = {column.name for column in columns if column.choice == "dropped"}
            features = tuple(name for name in map(str, self.model.feature_names_in_) if name not in left_out)
        known = KnownLabel(self.labels, int(self.model.n_features_in_), ignore_labels, features)
        as_table = self.is_tabular or bool(carry)
        with open_input(path, options, as_table=as_table, known=known, several_labels=True, carry=carry) as stream:
            self._carried = list(carry or ())
            self._attach(stream, header_known=options.header is not None)
            yield stream

    def _attach(self, stream: RowStream, *, header_known: bool) -> None:
        self._stream = stream
        if self.is_tabular:
            self._table = TableReader(self._one_output, stream, header_known=header_known)
            return
        self._hasher = self.model.hasher_.hasher
        self._numbers = None
        names = getattr(self.model, "feature_names_in_", None)
        self._columns = feature_columns(names, stream, "the model was trained on")
        if hasattr(self.model, "feature_names_in_"):
            del self.model.feature_names_in_  # the columns are in their order now, and have no names
        if stream.is_table:
            self._numbers = NumberReader(stream, self._columns, self._carried, self.model.n_features_in_)
            self._columns = None

    def parts(self, block: RowBlock) -> Iterator[tuple[Any, Array | None]]:
        """Yield a block as the model takes it, and its labels, a part at a time.

        A tabular model takes the table, a model that scales the rows, and any other model codes.
        """
        if self.is_tabular:
            yield self._table.read(block.X), None if block.y is None else np.asarray(block.y)
            return
        X = block.X if self._numbers is None else self._numbers.read(block.X)
        X = X if self._columns is None else X[:, self._columns]
        width = self.model.n_features_in_
        if isinstance(X, np.ndarray) and X.shape[1] != width:
            raise InputError(
                f"{self._stream.name} has {X.shape[1]} feature columns, but the model was trained on {width}. If one "
                "of them is the label, name it with --label COLUMN; -1 is the last."
            )
        self._warn_about_width(X)
        row_bytes = VALUE_BYTES * (1 if self.is_regressor else len(self.model.classes_))
        scales = self.model.fitted_.scaling is not None
        parts = self._scaled_rows(X, row_bytes) if scales else codes_of(self._hasher, X, self._threads, row_bytes)
        for rows, codes in parts:
            yield codes, None if block.y is None else np.asarray(block.y)[rows]

    def _warn_about_width(self, X: Any) -> None:
        """Warn once about sparse rows with features that the training rows lack. With views they are an error."""
        found, width = getattr(X, "n_features", X.shape[1]), self.model.n_features_in_
        if self._warned or found <= width or isinstance(X, np.ndarray) or self._hasher.views:
            return
        self._warned = True
        tell(
            f"{self._stream.name} has {found:,} features, but the model was trained on {width:,}: the other "
            f"{found - width:,} have no weights and make rows less similar to those of training. Check that the file "
            "belongs to the model."
        )

    @contextmanager
    def counting_rows(self, start: int = 0) -> Iterator[None]:
        """Make errors of a tabular model name the row of the file: ``start`` rows after the last block began."""
        try:
            yield
        except InputError as error:
            row, several = self._stream.block_start + start, isinstance(self._stream, PartStream)
            if not (self.is_tabular and (row or several)):
                raise
            where = f" Row 0 is row {row} of {self._stream.name}."
            raise InputError(error.message, where, parameter=error.parameter) from None

    def _scaled_rows(self, X: Any, row_bytes: int) -> Iterator[tuple[slice, Any]]:
        """Yield the rows themselves, because the model scales them before it hashes them."""
        if isinstance(X, PackedCodes):
            raise InputError(
                f"{self._stream.name} holds codes, but the model scales rows before it hashes them: pass rows."
            )
        X = widened(X, max(X.shape[1], self.model.n_features_in_))
        makes_dense = self.model.fitted_.needs_dense and sparse.issparse(X)
        if makes_dense and X.shape[1] > self.model.n_features_in_:
            raise InputError(
                f"{self._stream.name} has {X.shape[1]} features, but the model was trained on "
                f"{self.model.n_features_in_} and scales each of them: check that the file belongs to the model."
            )
        for rows in row_batches(X.shape[0], max(row_bytes, 8 * X.shape[1] * makes_dense), STEP_BYTES):
            yield rows, X[rows].toarray() if makes_dense else X[rows]


def numbers_of_classes(model: Any, X: Any, decisions: Array) -> Array:
    """Return the classes that ``predict`` chooses, without computing the decision values again if they decide."""
    if getattr(model, "threshold_", None) is not None:  # of a probability
        return class_numbers(model.predict(X), model.classes_)
    return (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)


def feature_columns(wanted: Any, stream: RowStream, which: str) -> list[int] | None:
    """Find features with these names among the columns of a file; None if they are all columns, in order.

    None, too, if either side has no names. ``which`` features they are is part of errors: "the model was trained on".
    """
    found = stream.feature_names
    if wanted is None or found is None or tuple(wanted) == found:
        return None
    for names, where in ((tuple(wanted), f"the features that {which}"), (found, f"the columns of {stream.name}")):
        if (twice := first_repeated(names)) is not None:
            raise InputError(f"Several of {where} have the name {twice!r}, so they cannot be told apart: rename them.")
    places = {name: column for column, name in enumerate(found)}
    missing = [name for name in wanted if name not in places]
    if missing:
        raise InputError(
            f"{stream.name} has no column {missing[0]!r}, which {which}"
            f"{f', and {len(missing) - 1} more are missing' if len(missing) > 1 else ''}."
        )
    return [places[name] for name in wanted]


def check_label_types(labels: Array, classes: Array, name: str) -> None:
    """Refuse to compare numbers with text."""
    text = [kind.dtype.kind in "OUST" for kind in (labels, classes)]
    if text[0] != text[1]:
        what = [("numbers", "text")[kind] for kind in text]
        advice = "pass --text-labels" if text[1] else "check that the file belongs to the model"
        raise InputError(f"The labels of {name} are {what[0]}, but those of the model are {what[1]}: {advice}.")


def class_numbers(labels: Array, classes: Array) -> Array:
    """Return the number of each label among the classes; a label that is none of them gets the number of classes."""
    places = np.searchsorted(classes, labels)
    places[places == len(classes)] = 0
    return np.where(classes[places] == labels, places, len(classes))
