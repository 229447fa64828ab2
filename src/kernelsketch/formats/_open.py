"""``open_rows``: read blocks of rows from a path or stream."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from .._validation import FLOATS, check_n_jobs, check_positive_int
from ..exceptions import InputError, InputTypeError, Setting
from ._arrow import open_arrow, open_parquet
from ._codes import open_codes
from ._csv import open_csv, open_tsv
from ._detect import READABLE, format_of
from ._encoding import check_marks, checked_encoding
from ._libsvm import open_libsvm
from ._npy import open_npy
from ._npz import open_npz
from ._parts import PartStream
from ._source import Source
from ._stream import BLOCK_BYTES, Opened, Options, RowStream, check_delimiter

_OPENERS: dict[str, Callable[[Source, Options], Opened]] = {
    "libsvm": open_libsvm,
    "csv": open_csv,
    "tsv": open_tsv,
    "parquet": open_parquet,
    "arrow": open_arrow,
    "npy": open_npy,
    "npz": open_npz,
    "codes": open_codes,
}
# Options that not every format has.
_TAKES = {
    "label": {"csv", "tsv", "parquet", "arrow", "npy", "npz"},
    "header": {"csv", "tsv"},
    "delimiter": {"csv", "tsv"},
    "zero_based": {"libsvm"},
    "text_labels": {"libsvm", "csv", "tsv"},
    "carry": {"csv", "tsv", "parquet", "arrow"},
    "drop": {"csv", "tsv", "parquet", "arrow", "npy"},
    "beside": {"csv", "tsv", "parquet", "arrow", "npy"},
    "encoding": {"libsvm", "csv", "tsv"},
}


def open_rows(
    source: Any,
    *,
    format: str | None = None,
    label: str | int | None = None,
    n_features: int | None = None,
    dtype: Any = None,
    block_bytes: int = BLOCK_BYTES,
    header: bool | None = None,
    delimiter: str | None = None,
    zero_based: bool | None = None,
    text_labels: bool | None = None,
    n_jobs: int | None = None,
    as_table: bool = False,
    label_beside: int | None = None,
    ignore_labels: bool = False,
    batch_bytes: int | None = None,
    carry: Sequence[str] | None = None,
    drop: Any = None,
    beside: Any = None,
    features: Any = None,
    encoding: str | None = None,
    optional: Any = None,
) -> RowStream:
    """Open a file of rows, or the parts of a table, and read it block by block, in constant memory.

    Parameters
    ----------
    source : path, binary stream or list of paths
        ``"-"`` is standard input. Text may be compressed by gzip, bzip2 or xz, or by Zstandard with the extra ``zstd``.
        A list has the parts of a table, which are read one after the other: files of one format, with the same columns
        in any order; those of CSV all begin with names, or none does. ``row_files`` lists the parts in a folder.
    format : {"libsvm", "csv", "tsv", "parquet", "arrow", "npy", "npz", "codes"}, optional
        By default the ending of the name decides, otherwise the first bytes. Parquet and Arrow need the extra
        ``data``. Codes are files that :meth:`PackedCodes.save` writes: X of a block is :class:`PackedCodes`.
    label : str or int, optional
        Name of the label column, or its number from 0 (negative numbers count from the end). In an NPZ file it is the
        name of an array, by default ``y`` if there is one. LIBSVM text always has labels.
    n_features : int, optional
        Number of columns that X must have. LIBSVM text does not store it: by default a block has as many columns as the
        largest id so far.
    dtype : {float32, float64}, optional
        Dtype of X. The default is float64 for text, and the stored dtype otherwise.
    block_bytes : int, default=64 MiB
        Largest size of X in a block. A block has at least one row.
    header : bool, optional
        Whether CSV begins with a line of column names. By default it does if a feature cell of the first line is not a
        number.
    delimiter : str, optional
        Character between the cells: by default a comma for CSV and a tab for TSV.
    zero_based : bool, default=False
        Whether the ids of LIBSVM text count from 0.
    text_labels : bool, optional
        Whether the labels of CSV and LIBSVM text are strings. By default they are if a label among the first rows is
        not a number.
    n_jobs : int, optional
        Number of threads that parse LIBSVM text, CSV and TSV.
    as_table : bool, default=False
        Read tables as they are, for :class:`GCWSTabularClassifier`: text, dates and missing values are no errors. X of
        a block is then an array of cells as text for CSV and TSV, and a pyarrow table for Parquet and Arrow. The first
        line of CSV has names if none of its cells is a number or empty. Other formats, and Parquet and Arrow with
        sparse rows, are read as usual; see ``is_table`` of the stream.
    label_beside : int, optional
        Number of features beside the label. If it is given, the label column may be missing: it is there if a column
        has its name or, if ``label`` is a number, if the file has exactly one column more.
    ignore_labels : bool, default=False
        Leave the label column out without looking at its values, which may be missing. Lines of LIBSVM text may then
        begin with a pair, without a label.
    batch_bytes : int, optional
        Largest size in memory of a batch of rows of Parquet or Arrow: a larger one is refused. A batch is what pyarrow
        decodes at a time, and a few kilobytes of a file may hold gigabytes of it. The bound works on Linux, and holds
        for all threads of the process while a batch is decoded. It is exact if the environment has
        ``ARROW_DEFAULT_MEMORY_POOL=system``, because pyarrow's own pool reserves 1 GB in advance. By default
        there is no bound.
    carry : sequence of str, optional
        Columns of a table to return besides X, as they are, in ``carried`` of each block: their names or, in a file
        without names, their numbers from 0 as strings. They may be features, the label, or neither, and need
        ``as_table``.
    drop : list of str or int, optional
        Columns that are left out, by name or, in a file without names, by number.
    beside : list of pairs, optional
        Columns to return in ``carried`` of each block that are no features: pairs of the parameter that an error names,
        such as ``"sample_weight"``, and the column.
    features : list of str, optional
        The only columns that are features, if the file has columns of all these names. They may be in ``beside``.
    encoding : str, optional
        Encoding of text, such as ``"latin-1"`` or ``"utf-16"``. The default is UTF-8.
    optional : list of str, optional
        Columns that are left out if a part of the table lacks them, or has them with another type.

    Returns
    -------
    RowStream
        An iterator over :class:`RowBlock`.

    Examples
    --------
    >>> import io
    >>> from kernelsketch.formats import open_rows
    >>> for X, y in open_rows(io.BytesIO(b"1 1:0.5 3:2\\n-1 2:1\\n")):
    ...     print(X.toarray(), y)
    [[0.5 0.  2. ]
     [0.  1.  0. ]] [ 1. -1.]
    """
    options = Options(
        label=_label(label),
        n_features=None if n_features is None else check_positive_int(n_features, "n_features"),
        dtype=_dtype(dtype),
        block_bytes=check_positive_int(block_bytes, "block_bytes"),
        header=_flag(header, "header"),
        delimiter=check_delimiter(delimiter),
        zero_based=_flag(zero_based, "zero_based"),
        text_labels=_flag(text_labels, "text_labels"),
        threads=check_n_jobs(n_jobs),
        as_table=bool(_flag(as_table, "as_table")),
        label_beside=None if label_beside is None else check_positive_int(label_beside, "label_beside"),
        ignore_labels=bool(_flag(ignore_labels, "ignore_labels")),
        batch_bytes=None if batch_bytes is None else check_positive_int(batch_bytes, "batch_bytes"),
        carry=_carry(carry, as_table),
        drop=tuple(drop) if drop else None,
        beside=tuple(beside) if beside else None,
        features=None if features is None else tuple(features),
        encoding=checked_encoding(encoding),
        optional=tuple(optional or ()),
    )
    if format is not None and format not in READABLE:
        raise InputError(Setting("format"), f" must be one of {', '.join(READABLE)}, got {format!r}.")
    if isinstance(source, (list, tuple)):
        if len(source) == 1:
            return _open_file(source[0], format, options)
        return PartStream(source, format, options, _open_file)
    return _open_file(source, format, options)


def _open_file(source: Any, format: str | None, options: Options) -> RowStream:
    opened = Source(source, options.encoding)
    try:
        found = format or format_of(opened)
        _check_takes(found, opened, options)
        if found in _TAKES["encoding"]:
            check_marks(opened.head, opened.name)
        return RowStream(opened, found, _OPENERS[found](opened, options), options.block_bytes)
    except BaseException:
        opened.close()
        raise


def _check_takes(found: str, opened: Source, options: Options) -> None:
    """Refuse options that the format does not have."""
    for field in fields(options):
        takers, value = _TAKES.get(field.name, set(READABLE)), getattr(options, field.name)
        if field.name == "label" and options.label_beside is not None:
            continue  # a label that may be missing
        if found in takers or value is None:
            continue
        name, shown = value[0] if field.name == "beside" else (field.name, value)
        shown = shown[0] if field.name in ("drop", "carry") else shown
        raise InputError(
            Setting(name, shown),
            f" does not apply to {opened.name}, whose format is {found}: leave it out. It applies to "
            f"{', '.join(sorted(takers))}.",
            parameter=name,
        )


def _label(label: Any) -> str | int | None:
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, bool) or not isinstance(label, numbers.Integral):
        raise InputTypeError(Setting("label"), f" must be the name or the number of a column, got {label!r}.")
    return int(label)


def _carry(names: Any, as_table: bool) -> tuple[str, ...] | None:
    if names is None or not len(names):
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputTypeError(Setting("carry"), f" must be a list of names of columns, got {names!r}.")
    if not as_table:
        raise InputError(Setting("carry", names[0]), " needs ", Setting("as_table", True), ".", parameter="carry")
    return tuple(dict.fromkeys(names))


def _dtype(dtype: Any) -> Any:
    if dtype is None:
        return None
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in FLOATS:
        raise InputError(Setting("dtype"), f" must be float32 or float64, got {dtype!r}.")
    return found


def _flag(value: Any, name: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise InputTypeError(Setting(name), f" must be None, True or False, got {value!r}.")
    return value
