"""What reading returns: blocks of rows, and the stream that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._array import Array
from .._validation import FLOATS, check_finite
from ..exceptions import InputError, InputTypeError, Setting
from ._lines import longest_line
from ._source import Source

BLOCK_BYTES = 1 << 26


@dataclass(frozen=True, eq=False)
class RowBlock:
    """A block of rows; ``X, y = block`` unpacks it.

    Attributes
    ----------
    X : array or CSR array
        The features.
    y : array or None
        The labels, numbers or strings; None if the file has none.
    qid : array or None
        The query ids of LIBSVM text, -1 for a row without one; None if no row of the block has one.
    carried : dict
        The columns that ``carry`` and ``beside`` of :func:`.open_rows` name, by name and in this order: arrays of text
        for CSV and TSV, pyarrow arrays for Parquet and Arrow.
    lines : array or None
        The line of CSV where each row ends, if there are such columns.
    """

    X: Any
    y: Array | None = None
    qid: Array | None = None
    carried: dict[str, Any] = field(default_factory=dict, repr=False)
    lines: Array | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))


class NotNumbersError(InputError):
    """A column of features that holds text or gaps, of which a plain hash makes nothing."""


@dataclass(frozen=True)
class Layout:
    """What all parts of a table have in common, as the first of them has it."""

    name: str  # of the first part
    format: str
    columns: tuple[str, ...] | None  # names of all of its columns
    n_features: int | None


@dataclass(frozen=True)
class Options:
    """How to read a file; None stands for the default of the format."""

    label: str | int | None = None
    n_features: int | None = None
    dtype: Any = None
    block_bytes: int = BLOCK_BYTES
    header: bool | None = None
    delimiter: str | None = None
    zero_based: bool | None = None
    text_labels: bool | None = None
    threads: int = 1
    as_table: bool = False
    label_beside: int | None = None
    ignore_labels: bool = False
    batch_bytes: int | None = None
    carry: tuple[str, ...] | None = None
    drop: tuple[str | int, ...] | None = None
    beside: tuple[tuple[str, str | int], ...] | None = None  # pairs of the option that names a column, and the column
    features: tuple[str, ...] | None = None
    encoding: str | None = None
    optional: tuple[str, ...] = ()  # columns that are left out if they are not the same in all parts
    part_of: Layout | None = None

    def rows_a_block(self, n_features: int, itemsize: int, label_bytes: int = 0) -> int:
        return max(1, self.block_bytes // max(1, n_features * itemsize + label_bytes))

    def check_row(self, name: str, row_bytes: int) -> None:
        """Refuse rows of which one takes several blocks, as a hostile file of a few kilobytes may have."""
        limit = longest_line(self.block_bytes)
        if row_bytes > limit:
            raise InputError(
                f"{name} has a row that takes {row_bytes} bytes, more than {limit}: is it damaged? If not, raise ",
                Setting("block_bytes"),
                ".",
            )


@dataclass(frozen=True)
class Opened:
    """What a format has read before the rows, and the iterator over blocks."""

    blocks: Iterator[RowBlock]
    n_features: int | None = None
    n_rows: int | None = None
    feature_names: tuple[str, ...] | None = None
    is_table: bool = False
    label_name: str | None = None
    columns: tuple[str, ...] | None = None  # names of all columns of the file
    places: tuple[int, ...] | None = None  # of the features among these
    dtype: Any = None  # of X, where the file has it
    schema: Any = None  # of Parquet and Arrow


@dataclass
class Writer:
    """Writes blocks of rows to a file."""

    file: IO[bytes]
    zero_based: bool
    names: tuple[str, ...] | None

    def __post_init__(self) -> None:
        """Prepare what the format needs."""

    def write(self, rows: RowBlock, name: str) -> None:
        """Write a block, which messages call by its name."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is left; the file stays open."""

    def abandon(self) -> None:
        """Release resources after an error."""


class RowStream:
    """An iterator over the rows of a file, block by block; :func:`.open_rows` makes it.

    Iterating gives :class:`RowBlock`, of at most ``block_bytes`` or one row each. The file is closed at the end; call
    ``close`` to stop earlier, or use a ``with`` block.

    Attributes
    ----------
    format : str
        The format of the file.
    n_features, n_rows : int or None
        Sizes, where the format stores them before the rows.
    feature_names : tuple of str or None
        Names of the columns of X, where the file has them.
    label_name : str or None
        Name of the label column, where the file has names of columns.
    fraction : float or None
        The part of the file that has been read.
    is_table : bool
        Whether X of a block is a table as it is, with text and gaps.
    """

    def __init__(self, source: Source, format: str, opened: Opened, block_bytes: int) -> None:
        self._source, self._blocks = source, _with_text_labels(opened.blocks, block_bytes)
        self.opened = replace(opened, blocks=iter(()))
        self.name, self.format = source.name, format
        self.n_features, self.n_rows = opened.n_features, opened.n_rows
        self.feature_names, self.is_table = opened.feature_names, opened.is_table
        self.label_name = opened.label_name
        self.block_start = self._rows_read = 0

    @property
    def fraction(self) -> float | None:
        """The part of the file that has been read, from 0 to 1; None for a stream of unknown length."""
        if self.n_rows is not None:
            return self._rows_read / max(1, self.n_rows)
        return None if self._source.size is None else self._source.bytes_read / max(1, self._source.size)

    def __repr__(self) -> str:
        rows, features = ("?" if size is None else size for size in (self.n_rows, self.n_features))
        return f"RowStream({self.name!r}: {self.format}, {rows} rows, {features} features)"

    def __iter__(self) -> RowStream:
        return self

    def __next__(self) -> RowBlock:
        try:
            rows = next(self._blocks)
        except BaseException:
            self.close()
            raise
        self.block_start = self._rows_read
        self._rows_read += rows.X.shape[0]
        return rows

    def place(self, block: RowBlock, row: int) -> str:
        """Return where a row of the last block is, for messages."""
        if block.lines is not None:
            return f"{self.name}, line {block.lines[row]}"
        return f"{self.name}, row {self.block_start + row}"

    def __enter__(self) -> RowStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file if open_rows opened it; the iteration ends."""
        self._blocks = iter(())
        self._source.close()


def _with_text_labels(blocks: Iterator[RowBlock], block_bytes: int) -> Iterator[RowBlock]:
    """Yield blocks whose labels are no objects; text that takes more than a block may is cut into several blocks."""
    for block in blocks:
        if block.y is None or block.y.dtype != object:
            yield block
            continue
        step = max(1, block_bytes // max(1, 4 * max(map(len, block.y.tolist()))))
        for start in range(0, len(block.y), step):
            rows = slice(start, start + step)
            X = block.X.slice(start, step) if hasattr(block.X, "to_batches") else block.X[rows]
            qid, lines = (None if part is None else part[rows] for part in (block.qid, block.lines))
            carried = {name: values[rows] for name, values in block.carried.items()}
            yield RowBlock(X, block.y[rows].astype(np.str_), qid, carried, lines)


def float_dtype(stored: Any, wanted: Any) -> Any:
    """Return the dtype of X: the wanted one, or the stored float, or the smallest float that holds the stored type."""
    if wanted is not None:
        return wanted
    stored = np.dtype(stored)
    if stored.newbyteorder("=") in FLOATS:
        return stored.newbyteorder("=")
    return np.dtype(np.float32 if stored.itemsize < 4 else np.float64)


def check_block(X: Any, first_row: int, name: str, y: Array | None = None) -> None:
    """Refuse NaN and infinity, naming the row in the file, and labels that are neither numbers nor strings."""
    check_labels(y, first_row, name)
    if sparse.issparse(X):

        def locate(k: int) -> tuple[int, int]:
            return first_row + int(np.searchsorted(X.indptr, k, side="right")) - 1, int(X.indices[k])

        check_finite(X.data, name, locate)
    else:
        check_finite(X, name, lambda k: (first_row + k // X.shape[1], k % X.shape[1]))


def check_labels(y: Array | None, first_row: int, name: str) -> None:
    """Refuse labels that are neither finite numbers nor strings."""
    is_text = (
        y is not None and y.dtype == object and isinstance(y[0], str)
    )  # of a reader, which has checked all of them
    if y is not None and y.dtype.kind not in "fiubUS" and not is_text:
        raise InputError(f"{name}: labels of type {y.dtype} cannot be read. Convert them to numbers or strings.")
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argmin(np.isfinite(y)))
        raise InputError(f"{name}, row {first_row + row}: the label is {y[row]}. Drop the row, or give it a label.")


def label_column(options: Options, names: tuple[str, ...] | None, width: int, name: str) -> int | None:
    """Return the number of the label column, or None if there is none.

    With ``label_beside`` the column may be missing: it is there if the file has its name or, for a column that is given
    by number, if the file has one column more than ``label_beside``.
    """
    label = options.label
    if label is None:
        return None
    is_there = label in (names or ()) if isinstance(label, str) else width == (options.label_beside or 0) + 1
    if options.label_beside is not None and not is_there:
        return None
    if isinstance(label, str):
        if names is None:
            raise InputError(Setting("label", label), f": {name} has no column names. Pass the number of the column.")
        if names.count(label) != 1:
            what = "several columns" if label in names else "no column"
            raise InputError(
                Setting("label", label), f": {name} has {what} of that name. Its columns are {shown_names(names)}."
            )
        return names.index(label)
    if not -width <= label < width:
        raise InputError(
            Setting("label", label), f": {name} has {width} columns. Pass 0 to {width - 1}, or -1 for the last."
        )
    return label % width


def shown_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")


def wrong_width(name: str, found: str, options: Options) -> InputError:
    """Return the error about a file that has another number of features than ``n_features``."""
    given = Setting("n_features", options.n_features)
    return InputError(f"{name} has {found}, but ", given, ".", parameter="n_features")


def check_delimiter(delimiter: Any) -> str | None:
    """Return a delimiter of CSV, or None; what is not one character is refused."""
    if delimiter is None:
        return None
    if not isinstance(delimiter, str):
        raise InputTypeError(Setting("delimiter"), f" must be one character, got {delimiter!r}.")
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(
            Setting("delimiter"), f" must be one character other than a quote and a line end, got {delimiter!r}."
        )
    return delimiter
