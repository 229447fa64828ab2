"""NPY files, read: mapped into memory if they lie uncompressed on the disk, otherwise read from first to last."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from .._array import Array
from ..exceptions import InputError
from ._columns import Columns, columns_of
from ._source import Source
from ._stream import Opened, Options, RowBlock, check_block, float_dtype, wrong_width

_PIECE = 1 << 24  # bytes at a time, whatever a header claims


class StoredArray:
    """An array in a file, read from its first row to its last."""

    def __init__(self, name: str, file: IO[bytes]) -> None:
        self.name, self._file, self._row = name, file, 0
        self._at: tuple[Any, int] | None = None  # path and offset, where it is mapped
        try:
            version = npy.read_magic(file)
            read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
            self.shape, self.fortran, self.dtype = read(file)
        except Exception as error:  # any error of NumPy and Python's parser about a damaged header
            raise InputError(
                f"{name} is not an NPY array that can be read: {error}. Write it with numpy.save."
            ) from None
        if not all(isinstance(size, int) and size >= 0 for size in self.shape):
            raise InputError(
                f"{name} is damaged: its header declares the shape {self.shape}. Write it with numpy.save."
            )
        if self.dtype.hasobject:
            raise InputError(f"{name} holds Python objects, which may run code: store numbers or text instead.")

    def map(self, path: Any, offset: int) -> StoredArray:
        """Map the file into memory and read from there; its data starts at ``offset``."""
        if self.shape and 0 not in self.shape:
            self._at = (path, offset)
            self._mapped()
        return self

    def _mapped(self) -> Array:
        """Map the file anew for each block, so that pages that were read do not stay in memory."""
        order: Any = "F" if self.fortran else "C"
        path, offset = self._at or ("", 0)
        size = os.path.getsize(path)
        if math.prod(self.shape) * self.dtype.itemsize > size - offset:
            raise InputError(
                f"{self.name} is truncated: its {size} bytes do not hold an array of shape {self.shape}. Get it again."
            )
        try:
            return np.memmap(path, self.dtype, "r", offset, self.shape, order)
        except (ValueError, OSError) as error:
            raise InputError(f"{self.name} is truncated: {error}. Get it again.") from None

    def read(self, count: int) -> Array:
        """Return the next ``count`` rows, fewer at the end."""
        count = min(count, (self.shape[0] if self.shape else 1) - self._row)
        self._row += count
        if self._at is not None:
            return np.array(self._mapped()[self._row - count : self._row])
        if self.fortran and len(self.shape) > 1:
            raise InputError(
                f"{self.name} is in Fortran order, which cannot be read from first row to last here. Store it "
                "uncompressed in a file, or in C order (numpy.ascontiguousarray)."
            )
        shape = (count, *self.shape[1:])
        wanted = math.prod(shape) * self.dtype.itemsize
        data = bytearray()
        while len(data) < wanted and (piece := self._file.read(min(_PIECE, wanted - len(data)))):
            data += piece
        if len(data) < wanted:
            raise InputError(f"{self.name} is truncated: its header declares more rows than there are. Get it again.")
        return np.frombuffer(data, self.dtype).reshape(shape)


def open_npy(source: Source, options: Options) -> Opened:
    if source.path is None:
        array = StoredArray(source.name, source.file)
    else:
        with open(source.path, "rb") as file:
            array = StoredArray(source.name, file).map(source.path, file.tell())
    check_matrix(array, replace(options, n_features=None), 0)
    columns = columns_of(options, None, array.shape[1], source.name)
    width = check_matrix(array, options, array.shape[1] - len(columns.features))
    dtype = float_dtype(array.dtype, options.dtype)
    return Opened(
        _blocks(source, array, columns, options, dtype), width, array.shape[0], places=columns.features, dtype=dtype
    )


def check_matrix(array: StoredArray, options: Options, others: int) -> int:
    """Return the number of features of a 2-D array of numbers, of which some columns are no features."""
    if len(array.shape) != 2 or array.dtype.kind not in "fiub":
        raise InputError(
            f"{array.name} must be a 2-D array of real numbers, got shape {array.shape} of {array.dtype}: "
            "reshape or convert it."
        )
    width = array.shape[1] - others
    if width < 1:
        raise InputError(f"{array.name} has no column of features: its shape is {array.shape}.")
    if options.n_features not in (None, width):
        raise wrong_width(array.name, f"{width} features", options)
    if array.shape[0]:
        options.check_row(array.name, array.shape[1] * array.dtype.itemsize)
    return int(width)


def _blocks(source: Source, array: StoredArray, columns: Columns, options: Options, dtype: Any) -> Iterator[RowBlock]:
    label = columns.label
    n, width = array.shape
    step, done = options.rows_a_block(width, max(dtype.itemsize, array.dtype.itemsize)), 0
    while done < n:
        source.check_size()  # reading mapped pages beyond the end of a file would kill the process
        block = array.read(step)
        source.check_size()
        y = None if label is None else block[:, label].copy()
        X = as_floats(block if len(columns.features) == width else block[:, columns.features], dtype)
        check_block(X, done, source.name, y)
        done += len(block)
        yield RowBlock(X, y, None, {name: block[:, place] for name, place in columns.carried.items()})
    if source.path is None:
        _refuse_more(source)


def as_floats(X: Array, dtype: Any) -> Array:
    with np.errstate(over="ignore"):  # values beyond the largest float32 become infinity, which is refused
        return np.ascontiguousarray(X, dtype)


def _refuse_more(source: Source) -> None:
    if source.file.read(1):
        raise InputError(f"{source.name} has more bytes after its array: it is damaged, or holds several arrays.")
