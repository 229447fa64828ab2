"""``write_rows``: write blocks of rows to a file, which appears when it is complete."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..exceptions import InputError, InputTypeError, Setting
from ..storage import atomic_file, is_device
from ._arrow import ParquetWriter
from ._codes import CodesWriter
from ._compressed import compressor
from ._detect import BY_ENDING
from ._libsvm import LibsvmWriter
from ._npz import NpzWriter
from ._source import endings
from ._stream import RowBlock, Writer

_WRITERS: dict[str, type[Writer]] = {
    "libsvm": LibsvmWriter,
    "npz": NpzWriter,
    "parquet": ParquetWriter,
    "codes": CodesWriter,
}
_TEXT = ("libsvm",)
STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")  # a pipe, under these names, has no folder


def write_rows(
    path: Any,
    rows: Iterable[Any],
    *,
    format: str | None = None,
    zero_based: bool = False,
    feature_names: Iterable[str] | None = None,
) -> int:
    """Write blocks of rows one after the other. The file appears when all of them are written.

    Parameters
    ----------
    path : path
        The ending ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` compresses text. ``"-"`` is standard output, for text.
    rows : RowStream or iterable of pairs (X, y)
        Dense or CSR blocks; ``y`` may be None. For one block pass ``[(X, y)]``.
    format : {"libsvm", "npz", "parquet", "codes"}, optional
        By default the ending of the name decides. Parquet needs the extra ``data``. ``codes``
        (``.safetensors``) takes blocks whose X is :class:`PackedCodes`.
    zero_based : bool, default=False
        Whether ids in text count from 0. LIBLINEAR needs ids from 1.
    feature_names : iterable of str, optional
        Names of the columns of dense Parquet. The default is the names of the stream, or else ``x0``, ``x1``, ...

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from kernelsketch.formats import write_rows
    >>> path = Path(tempfile.mkdtemp()) / "rows.libsvm"
    >>> write_rows(path, [(np.array([[0.5, 0.0], [0.0, 2.0]]), np.array([1, -1]))])
    2
    >>> print(path.read_text(), end="")
    1 1:0.5
    -1 2:2
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError(Setting("path"), f" must be a path or '-' for standard output, got {type(path).__name__}.")
    compression, suffix = endings(os.fspath(path))
    format = format or BY_ENDING.get(suffix)
    if format not in _WRITERS:
        given = (
            f"the name {os.fspath(path)!r} has no ending of a known format"
            if format is None
            else f"{format} is not written"
        )
        raise InputError(
            f"{given}: choose one of {', '.join(_WRITERS)}, by the ending of the name or by ",
            Setting("format", ...),
            ".",
            parameter="format",
        )
    if (compression or os.fspath(path) in STANDARD_OUTPUT) and format not in _TEXT:
        raise InputError(
            f"{format} can be written to uncompressed files only, got {os.fspath(path)!r}: choose another name, or "
            "pass ",
            Setting("format", ...),
            f" with {' or '.join(_TEXT)}.",
            parameter="format",
        )
    names = getattr(rows, "feature_names", None) if feature_names is None else tuple(feature_names)
    count = 0
    with open_target(path, text=format in _TEXT) as file:
        inner = compressor(file, compression) if compression else file
        writer = _WRITERS[format](inner, zero_based, names)
        try:
            for block, given in enumerate(rows):
                part = _rows(given, block)
                if part.X.shape[0]:
                    _check(part, names, block)
                    writer.write(part, f"rows[{block}]")
                    count += part.X.shape[0]
            if count == 0 and format not in _TEXT:
                raise InputError(f"rows is empty: {format} cannot hold a table without rows.")
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        finally:
            if compression:
                inner.close()
    return count


@contextmanager
def open_target(path: Any, *, text: bool = False) -> Iterator[IO[bytes]]:
    """Open a file that appears when the block ends without an error.

    ``"-"`` and ``/dev/stdout`` are standard output. Text may also go to a character device such as ``/dev/null`` or a
    terminal, directly.
    """
    if os.fspath(path) in STANDARD_OUTPUT:
        if sys.stdout is None:
            raise InputError("standard output is closed: name a file.")
        file: IO[bytes] = sys.stdout.buffer
        if isinstance(file, io.RawIOBase):  # of python -u: it may take less than it is given
            file = open(sys.stdout.fileno(), "wb", closefd=False)  # noqa: SIM115
        try:
            yield file
            file.flush()
        except OSError as error:
            if error.filename is not None:
                raise
            raise OSError(error.errno, error.strerror, "standard output") from error
        return
    if text and is_device(Path(path)):
        with open(path, "wb") as file:
            yield file
        return
    try:
        with atomic_file(Path(path)) as file:
            yield file
    except FileNotFoundError as error:
        if Path(path).parent.is_dir():
            raise
        raise InputError(f"{path} cannot be written: there is no such folder. Make the folder first.") from error


def encoded(text: str) -> bytes:
    r"""Return text as UTF-8, with lone surrogates as escapes such as ``\udce9``, which JSON reads as the same string.

    Names of files that are not UTF-8 have such characters in Python, and strings of JSON may have them.
    """
    return text.encode("utf-8", "backslashreplace")


@contextmanager
def open_text(path: Any) -> Iterator[IO[bytes]]:
    """Open a target for text as ``open_target`` does; an ending such as .gz compresses it."""
    compression, _ = endings(os.fspath(path))
    with open_target(path, text=True) as file:
        if not compression:
            yield file
            return
        inner = compressor(file, compression)
        try:
            yield inner
        finally:
            inner.close()


def _rows(given: Any, block: int) -> RowBlock:
    if isinstance(given, RowBlock):
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 2 or not hasattr(given[0], "shape"):
        raise InputTypeError(f"rows[{block}] must be a pair (X, y) of arrays, got {type(given).__name__}.")
    X, y = given
    return RowBlock(X, None if y is None else np.asarray(y))


def _check(part: RowBlock, names: tuple[str, ...] | None, block: int) -> None:
    n = part.X.shape[0]
    for name, values in (("y", part.y), ("qid", part.qid)):
        if values is not None and values.shape != (n,):
            raise InputError(f"rows[{block}]: {name} has shape {values.shape}, but there are {n} rows.")
    if names is not None and len(names) != part.X.shape[1]:
        raise InputError(
            Setting("feature_names"), f" has {len(names)} names, but rows[{block}] has {part.X.shape[1]} columns."
        )
