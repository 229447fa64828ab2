"""``PartStream``: the parts of a table, as Spark and pandas write them, read as one stream.

All parts are opened once before the first row is read, so that a part with other columns is refused at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from .._frames import first_repeated
from .._validation import widened
from ..exceptions import InputError, InputTypeError, Setting
from ..hashing import PackedCodes
from ._arrow_types import SharedTypes
from ._stream import Layout, Options, RowBlock, RowStream

_OpenPart = Callable[[Any, "str | None", Options], RowStream]
_SHOWN = 5  # columns in a message


class PartStream(RowStream):
    """A stream of the rows of several files, in their order. ``name`` is that of the file that is being read."""

    def __init__(self, paths: Sequence[Any], format: str | None, options: Options, open_part: _OpenPart) -> None:
        if not paths:
            raise InputError(Setting("source"), " is an empty list: name at least one file.")
        if any(not isinstance(path, (str, os.PathLike)) or path == "-" for path in paths):
            raise InputTypeError(Setting("source"), ": a list must have paths of files; read standard input alone.")
        self._paths, self._open_part, self._asked = [os.fspath(path) for path in paths], open_part, format
        self._types: SharedTypes | None = None
        self._sizes: list[int] = []
        with open_part(self._paths[0], format, options) as first:
            opened = first.opened
            self.opened, self.name, self.format = opened, first.name, first.format
            self.feature_names, self.label_name = first.feature_names, first.label_name
            self.is_table, self.n_features, self.n_rows = first.is_table, first.n_features, first.n_rows
        label = options.label if first.label_name is None else first.label_name
        self._first = Layout(self.name, self.format, opened.columns, first.n_features)
        self._options = replace(options, label=label, part_of=self._first)
        self.left_out: set[str] = set()  # optional columns that are not the same in all parts
        self._check_all(opened, options)
        self._at, self._is_text = -1, options.text_labels
        self._part: RowStream | None = None
        self._width, self._hasher = 0, cast(Any, None)
        self.block_start = 0

    def _check_all(self, first: Any, options: Options) -> None:
        """Open each part to compare its columns with those of the first one."""
        schemas, dtypes, unlike = [(self.name, first.schema)], [first.dtype], set()
        for path in self._paths[1:]:
            with self._open_part(path, self._asked, self._options) as part:
                self._check_columns(part)
                unlike |= set(options.optional) & (set(first.columns or ()) ^ set(part.opened.columns or ()))
                schemas.append((part.name, part.opened.schema))
                dtypes.append(part.opened.dtype)
                rows, widths = (self.n_rows, part.n_rows), (self.n_features, part.n_features)
                self.n_rows = None if None in rows else sum(map(int, filter(None, rows)))
                if self.format in ("npz", "parquet", "codes") and self.feature_names is None:  # of sparse rows
                    self.n_features = None if None in widths else max(map(int, filter(None, widths)))
        self._sizes = [os.path.getsize(path) if os.path.isfile(path) else 1 for path in self._paths]
        if first.schema is not None:
            self._types = SharedTypes(schemas, options.drop or (), options.optional)
            unlike |= self._types.unlike
        self.left_out = unlike
        if unlike:
            self._options = replace(self._options, drop=(*(options.drop or ()), *unlike))
            self.feature_names = tuple(name for name in self.feature_names or () if name not in unlike)
        if options.dtype is None and all(dtype is not None for dtype in dtypes):
            self._options = replace(self._options, dtype=np.result_type(*dtypes))

    def _check_columns(self, part: RowStream) -> None:
        first, columns = self._first, part.opened.columns
        if part.format != first.format:
            raise InputError(
                f"{part.name} has the format {part.format}, but {first.name} has {first.format}: pass parts of one "
                "format, or convert them first."
            )
        if columns is None or first.columns is None:
            if self.format in ("csv", "tsv", "npy") and part.n_features != first.n_features:
                raise InputError(
                    f"{part.name} has {part.n_features} columns of features, but {first.name} has "
                    f"{first.n_features}: all parts of a table need the same columns."
                )
            return
        dropped = {*(self._options.drop or ()), *self._options.optional}
        for where, there, what in (
            (columns, first.columns, f"has no column {{}}, but {first.name} has"),
            (first.columns, columns, f"has the column {{}}, but {first.name} has not"),
        ):
            missing = [name for name in there if name not in where and name not in dropped]
            if missing:
                shown = ", ".join(map(repr, missing[:_SHOWN])) + (", ..." if len(missing) > _SHOWN else "")
                raise InputError(
                    f"{part.name} {what.format(shown)}: all parts of a table need the same columns. Add the column, "
                    "leave it out with ",
                    Setting("drop", missing[0]),
                    ", or leave the file out.",
                )
        if columns != first.columns and (twice := first_repeated(columns)) is not None:
            raise InputError(
                f"{part.name} has several columns of the name {twice!r}, and {first.name} has its columns in another "
                "order: rename them."
            )

    @property
    def fraction(self) -> float | None:
        if self._at < 0:
            return 0.0
        if self._at == len(self._paths):
            return 1.0
        part = 0.0 if self._part is None else self._part.fraction or 0.0
        done = sum(self._sizes[: self._at]) + part * self._sizes[self._at]
        return done / max(1, sum(self._sizes))

    def __repr__(self) -> str:
        return f"PartStream({len(self._paths)} files, {self.format}, the first {self._first.name!r})"

    def __next__(self) -> RowBlock:
        try:
            while True:
                if self._part is None:
                    if self._at + 1 >= len(self._paths):
                        self._at = len(self._paths)
                        raise StopIteration
                    self._begin_part(self._at + 1)
                assert self._part is not None
                block = next(self._part, None)
                if block is not None:
                    self.block_start = self._part.block_start
                    return self._fitted(block)
                self._close_part()
        except BaseException:
            self.close()
            raise

    def _begin_part(self, number: int) -> None:
        options = self._options
        if self.format in ("csv", "tsv", "libsvm"):
            options = replace(options, text_labels=self._is_text)
        self._at = number
        if not number:
            options = replace(options, part_of=None)
        part = self._part = self._open_part(self._paths[number], self._asked, options)
        self.name, names = part.name, part.feature_names
        if number:
            self._check_columns(part)  # the file may have changed
        self._places = None
        if names is not None and names != self.feature_names:
            place = {name: column for column, name in enumerate(names)}
            self._places = [place[name] for name in self.feature_names or ()]

    def _fitted(self, block: RowBlock) -> RowBlock:
        """Return a block as those of the first part are."""
        X, y = block.X, block.y
        if isinstance(X, np.ndarray):
            X = X if self._places is None else X[:, self._places]
        elif isinstance(X, PackedCodes):
            self._check_hasher(X)
        elif self._types is not None and self.is_table:
            X = self._types.cast(X.select(list(self.feature_names or ())), self.name)
        else:
            self._width = max(self._width, X.shape[1])
            X = widened(X, self._width)
        if y is not None and len(y) and not self._options.ignore_labels:
            self._check_labels(y)
        return replace(block, X=X)

    def _check_hasher(self, codes: PackedCodes) -> None:
        if self._hasher is None:
            self._hasher = codes.hasher
        difference = self._hasher.difference(codes.hasher)
        if difference is not None:
            raise InputError(
                f"{self.name} holds codes of another hash than {self._first.name} ({difference}): hash all parts by "
                "one command, with the same parameters and seed."
            )

    def _check_labels(self, y: Any) -> None:
        is_text = y.dtype.kind in "OUST"
        if self._is_text is None:
            self._is_text = is_text
        elif self._is_text != is_text and self._options.text_labels is None:
            what = ("numbers", "text")
            raise InputError(
                f"{self.name}: its labels are {what[is_text]}, for example {y.tolist()[0]!r}, but those of the parts "
                f"before it are {what[not is_text]}: write all parts with labels of one type."
            )

    def _close_part(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None

    def close(self) -> None:
        """Close the file that is being read; the iteration ends."""
        self._close_part()
        self._at = len(self._paths)
