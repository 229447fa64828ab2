"""NPZ files: X or the parts of a CSR matrix, named as scipy.sparse.save_npz does, and y.

Where y holds class numbers, an array ``class_names`` has their names.
"""

from __future__ import annotations

import math
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from .._array import Array
from .._validation import check_rows
from ..exceptions import InputError, Setting
from ._labels import MOST_LENGTH, numbered_texts
from ._npy import StoredArray, as_floats, check_matrix
from ._source import Source
from ._stream import Opened, Options, RowBlock, Writer, check_block, float_dtype, wrong_width

_LEAST_WHOLE = 1 << 20  # bytes that an array may have that is read as a whole, however small blocks are
_CSR = ("data", "indices", "indptr", "shape")
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, UnicodeError, struct.error),
    RuntimeError,  # an encrypted archive, or a compression that is not implemented
)


class _Archive:
    """The arrays of a file."""

    def __init__(self, source: Source, options: Options) -> None:
        self._source, self._most_whole = source, max(_LEAST_WHOLE, options.block_bytes)
        try:
            self._zip = zipfile.ZipFile(source.seekable("npz"))
        except _DAMAGE as error:
            raise InputError(f"{source.name} is not a whole NPZ file: {error}. Get it again.") from None
        self.names = {name.removesuffix(".npy") for name in self._zip.namelist() if name.endswith(".npy")}

    def array(self, name: str) -> StoredArray:
        shown = f"{self._source.name}: {name!r}"
        try:
            info = self._zip.getinfo(f"{name}.npy")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # Python reads others as a whole
                raise InputError(
                    f"{shown} is compressed by a method that NumPy does not write: write the file with "
                    "numpy.savez_compressed."
                )
            file = self._zip.open(info)
            array = StoredArray(shown, file)
            if self._source.path is not None and info.compress_type == zipfile.ZIP_STORED:
                array.map(self._source.path, self._data_offset(info) + file.tell())
        except _DAMAGE as error:
            raise InputError(f"{shown} is damaged: {error}. Get it again.") from None
        return array

    def whole(self, name: str, most: int) -> Array:
        array = self.array(name)
        if len(array.shape) > 1 or math.prod(array.shape) > most:
            raise InputError(
                f"{array.name} has shape {array.shape} of {array.dtype}: that is not what an array of this name holds."
            )
        if (size := math.prod(array.shape) * array.dtype.itemsize) > self._most_whole:
            raise InputError(
                f"{array.name} has shape {array.shape} of {array.dtype}, which takes {size} bytes, more than "
                f"{self._most_whole}. Use shorter names, or raise ",
                Setting("block_bytes"),
                ".",
            )
        return array.read(most) if array.shape else array.read(1).reshape(())

    def _data_offset(self, info: zipfile.ZipInfo) -> int:
        """Return where data begin: after 30 bytes of local header, the name and the extra field."""
        with open(self._source.path or "", "rb") as file:
            file.seek(info.header_offset + 26)
            name, extra = struct.unpack("<HH", file.read(4))
            return info.header_offset + 30 + int(name) + int(extra)


def open_npz(source: Source, options: Options) -> Opened:
    archive = _Archive(source, options)
    label = options.label
    if options.label_beside is not None and label not in archive.names:
        label = None  # it may be missing
    if isinstance(label, int) or (label is not None and label not in archive.names):
        shown = ", ".join(sorted(archive.names)) or "none"
        raise InputError(Setting("label", label), f" must name an array of {source.name}, which has {shown}.")
    label = "y" if label is None and "y" in archive.names else label
    y = None if label is None else archive.array(label)
    label_bytes = 0 if y is None else y.dtype.itemsize
    if y is not None and label_bytes > 4 * MOST_LENGTH:
        raise InputError(f"{source.name}: {label!r} is {y.dtype}: labels have at most {MOST_LENGTH} characters.")
    classes = archive.whole("class_names", 1 << 20) if label == "y" and "class_names" in archive.names else None
    if set(_CSR) <= archive.names:
        n, width, blocks, dtype = _open_csr(source, archive, options, label_bytes)
    else:
        n, width, blocks, dtype = _open_dense(source, archive, label, options, label_bytes)
    if y is not None and y.shape != (n,):
        raise InputError(f"{y.name} has shape {y.shape}, but there are {n} rows.")
    return Opened(_checked(source, blocks, y, classes, options.block_bytes), width, n, dtype=dtype)


def _open_dense(
    source: Source, archive: _Archive, label: str | None, options: Options, label_bytes: int
) -> tuple[int, int, Iterator[Any], Any]:
    others = archive.names - {label, "class_names", "is_test"}
    name = "X" if "X" in others else next(iter(others)) if len(others) == 1 else None
    if name is None:
        shown = ", ".join(sorted(archive.names)) or "none"
        raise InputError(f"{source.name} has neither an array X nor all of {', '.join(_CSR)}. Its arrays are {shown}.")
    array = archive.array(name)
    width = check_matrix(array, options, 0)
    dtype = float_dtype(array.dtype, options.dtype)
    step = options.rows_a_block(width, max(dtype.itemsize, array.dtype.itemsize), label_bytes)

    def blocks() -> Iterator[Array]:
        for _ in range(0, array.shape[0], step):
            yield as_floats(array.read(step), dtype)

    return array.shape[0], width, blocks(), dtype


def _open_csr(
    source: Source, archive: _Archive, options: Options, label_bytes: int
) -> tuple[int, int, Iterator[Any], Any]:
    kind = archive.whole("format", 1).item() if "format" in archive.names else "csr"
    if kind not in ("csr", b"csr"):
        raise InputError(f"{source.name} holds a matrix of format {kind!r}: store X.tocsr().")
    shape = archive.whole("shape", 2)
    data, indices, indptr = (archive.array(name) for name in ("data", "indices", "indptr"))
    good = shape.shape == (2,) and shape.dtype.kind in "iu" and len(indptr.shape) == 1 == len(data.shape)
    good = good and indices.shape == data.shape and indptr.dtype.kind in "iu" and indices.dtype.kind in "iu"
    if not good or indptr.shape[0] != int(shape[0]) + 1 or data.dtype.kind not in "fiub":
        raise InputError(
            f"{source.name}: the parts of its CSR matrix do not fit together. Write it with scipy.sparse.save_npz."
        )
    n, width = int(shape[0]), int(shape[1])
    if options.n_features not in (None, width):
        raise wrong_width(source.name, f"{width} features", options)
    dtype = float_dtype(data.dtype, options.dtype)
    value_bytes = dtype.itemsize + indices.dtype.itemsize + 8
    room = max(1, options.block_bytes // value_bytes)
    most_rows = options.rows_a_block(1, 16, label_bytes)

    def blocks() -> Iterator[Any]:
        ends, done = indptr.read(1).astype(np.int64), 0
        while done < n:
            ends = np.concatenate([ends, indptr.read(most_rows - len(ends) + 1).astype(np.int64)])
            if ends[0] < 0 or (ends[1:] < ends[:-1]).any() or ends[-1] > data.shape[0]:
                raise InputError(f"{source.name}: 'indptr' must ascend to the number of values, {data.shape[0]}.")
            rows = max(1, int(np.searchsorted(ends, ends[0] + room, side="right")) - 1)
            count = int(ends[rows] - ends[0])
            options.check_row(source.name, value_bytes * count if rows == 1 else 0)
            parts = as_floats(data.read(count), dtype), indices.read(count).astype(np.int64), ends[: rows + 1] - ends[0]
            if count and not 0 <= parts[1].min() <= parts[1].max() < width:
                raise InputError(f"{source.name}: 'indices' must be from 0 to {width - 1}.")
            yield check_rows(sparse.csr_array(parts, shape=(rows, width)), source.name)
            ends, done = ends[rows:], done + rows

    return n, width, blocks(), dtype


def _checked(
    source: Source, blocks: Iterator[Any], y: StoredArray | None, classes: Array | None, block_bytes: int
) -> Iterator[RowBlock]:
    done, is_text = 0, classes is not None and classes.dtype.kind == "U"
    while True:
        source.check_size()  # reading mapped pages beyond the end of a file would kill the process
        try:
            X = next(blocks, None)
            labels = None if X is None or y is None else y.read(X.shape[0])
        except _DAMAGE as error:
            raise InputError(f"{source.name} is damaged: {error}. Get it again.") from None
        source.check_size()
        if X is None:
            return
        check_block(X, done, source.name, labels)
        if labels is not None and classes is not None:
            if labels.dtype.kind not in "iu" or not 0 <= labels.min() <= labels.max() < len(classes):
                raise InputError(f"{source.name}: 'y' must hold class numbers from 0 to {len(classes) - 1}.")
            labels = numbered_texts(classes.tolist(), labels, block_bytes) if is_text else classes[labels]
        done += X.shape[0]
        yield RowBlock(X, labels)


class NpzWriter(Writer):
    """Collects arrays in temporary files until their lengths are known, then writes them into one file."""

    def __post_init__(self) -> None:
        self._arrays: dict[str, _Spool] = {}
        self._classes: dict[str, int] = {}
        self._sparse: bool | None = None
        self._rows, self._pairs, self._width = 0, 0, 0

    def write(self, rows: RowBlock, name: str) -> None:
        X = check_rows(rows.X, name)
        check_block(X, self._rows, name)
        if self._sparse is None:
            self._sparse = sparse.issparse(X)
            if self._sparse:
                self._spool("indptr", np.zeros(1, np.int64))
        if sparse.issparse(X) != self._sparse or (not self._sparse and self._rows and X.shape[1] != self._width):
            raise InputError(
                f"{name} is not like the blocks before it: make all blocks sparse, or all dense and of equal width."
            )
        self._width = max(self._width, X.shape[1])
        if self._sparse:
            self._spool("data", X.data)
            self._spool("indices", X.indices.astype(np.int64))
            self._spool("indptr", X.indptr[1:].astype(np.int64) + self._pairs)
            self._pairs += X.nnz
        else:
            self._spool("X", X)
        if rows.y is not None:
            self._spool("y", self._numbered(np.asarray(rows.y)))
        if (rows.y is not None) != ("y" in self._arrays):
            raise InputError(f"{name} has no y, but the blocks before it have: give labels to all rows or to none.")
        self._rows += X.shape[0]

    def _numbered(self, y: Array) -> Array:
        if y.dtype.kind in "fiub":
            return y
        numbers = [self._classes.setdefault(str(label), len(self._classes)) for label in y.tolist()]
        return np.array(numbers, np.int32)

    def _spool(self, name: str, values: Array) -> None:
        if name not in self._arrays:
            self._arrays[name] = _Spool(values.dtype, os.path.dirname(self.file.name))
        self._arrays[name].write(name, values)

    def close(self) -> None:
        small: dict[str, Array] = {}
        if self._sparse:
            small = {"shape": np.array([self._rows, self._width]), "format": np.array(b"csr")}
        if self._classes:
            small["class_names"] = np.array(list(self._classes))
        with zipfile.ZipFile(self.file, "w", zipfile.ZIP_STORED) as archive:
            for name, spool in self._arrays.items():
                width = (self._width,) if name == "X" else ()
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    spool.copy(member, width)
            for name, values in small.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                    npy.write_array(member, values, allow_pickle=False)
        self.abandon()

    def abandon(self) -> None:
        for spool in self._arrays.values():
            spool.close()


class _Spool:
    """An array that grows in a temporary file in the folder of the result, which should have space for it."""

    def __init__(self, dtype: Any, folder: str) -> None:
        self._dtype, self._count = dtype, 0
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed by close()

    def write(self, name: str, values: Array) -> None:
        if values.dtype != self._dtype:
            raise InputError(f"{name!r} is {values.dtype}, the blocks before it were {self._dtype}: convert them.")
        self._file.write(np.ascontiguousarray(values).tobytes())
        self._count += values.size

    def copy(self, to: IO[bytes], width: tuple[int, ...]) -> None:
        rows = self._count // (width[0] if width else 1)
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (rows, *width)}
        npy.write_array_header_1_0(to, header)
        self._file.seek(0)
        while piece := self._file.read(1 << 20):
            to.write(piece)

    def close(self) -> None:
        self._file.close()
