"""The container: a safetensors file with a header of ours and checksums over every byte.

The file is plain safetensors: the length of a JSON text in 8 bytes, the text, the tensors. Its metadata have one key,
``kernelsketch``, whose value is a JSON object again. That object begins with two checksums:

``sha256``
    of the whole file, with the 64 digits of this entry taken as zeros. Reading a file checks it, so any changed bit is
    found.
``header_sha256``
    of everything before the tensors, with the digits of both entries taken as zeros. Mapping a file checks this one,
    since the tensors are not read then.

The reader checks types and sizes before it allocates, and never allocates more than the file holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from .._array import Array
from ..exceptions import InputError
from ._atomic import pieces, write_atomically

KEY = "kernelsketch"
MAX_HEADER = 1 << 20
MAX_DIMS, MAX_SIZE = 3, 1 << 48  # of a tensor; the number of bytes is compared with the file
ZEROS = b"0" * 64
GROWING_HEADER = 4096 - 8  # so that the tensors begin on a page
DTYPES = {
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class TensorInfo(NamedTuple):
    """A tensor in the directory of a file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Directory(NamedTuple):
    """What stands before the tensors of a file: the header, and the tensors in the order of the file."""

    header: dict[str, Any]
    tensors: dict[str, TensorInfo]
    begins: dict[str, int]  # where each tensor begins, in bytes from the start of the file
    text: bytes  # all bytes before the tensors


Check = Callable[[dict[str, Any], dict[str, TensorInfo]], None]


def stored_dtype(dtype: Any) -> np.dtype[Any] | None:
    """Return the dtype in which an array of this dtype is stored, or None if a file cannot hold it."""
    little = np.dtype(dtype).newbyteorder("<")
    return little if little in NAMES else None


def write_container(
    path: Path, header: Mapping[str, Any], tensors: Mapping[str, Array], *, like: Path | None = None
) -> None:
    """Write a file atomically. Equal content gives equal bytes. ``like`` is as in :func:`atomic_file`."""
    parts = {name: _as_stored(tensor) for name, tensor in tensors.items()}
    names = sorted(parts, key=lambda name: (-parts[name].itemsize, name))  # so that each tensor is aligned
    text = _directory_text(header, {name: TensorInfo(parts[name].dtype, parts[name].shape) for name in names}, path)
    length, data = len(text).to_bytes(8, "little"), [_bytes_of(parts[name]) for name in names]
    text = _with_header_checksum(length, text)
    digest = hashlib.sha256(length + text)
    for tensor in data:
        for piece in pieces(tensor):
            digest.update(piece)
    write_atomically(path, length, text.replace(ZEROS, digest.hexdigest().encode(), 1), *data, like=like)


class GrowingContainer:
    """A file whose first tensor, a matrix of bytes, grows block by block; the directory is filled in at the end."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name, self._rows, self._width = file, name, 0, 0
        file.write(bytes(8 + GROWING_HEADER))

    @property
    def info(self) -> TensorInfo:
        """What the growing tensor is by now."""
        return TensorInfo(np.dtype(np.uint8), (self._rows, self._width))

    def add(self, rows: Array) -> None:
        """Append rows to the growing tensor."""
        self._rows, self._width = self._rows + len(rows), rows.shape[1]
        for piece in pieces(_bytes_of(np.ascontiguousarray(rows, np.uint8))):
            self._file.write(piece)

    def finish(self, header: Mapping[str, Any], tensors: Mapping[str, Array], path: str) -> None:
        """Write the other tensors, the directory and the checksums; the file is read once for them."""
        parts = {name: _as_stored(tensor) for name, tensor in tensors.items()}
        for part in parts.values():
            for piece in pieces(_bytes_of(part)):
                self._file.write(piece)
        infos = {self._name: self.info} | {name: TensorInfo(part.dtype, part.shape) for name, part in parts.items()}
        text = _directory_text(header, infos, path).ljust(GROWING_HEADER)
        if len(text) > GROWING_HEADER:
            raise InputError(f"{path} cannot be written: its header takes {len(text)} bytes of {GROWING_HEADER}.")
        length = GROWING_HEADER.to_bytes(8, "little")
        text = _with_header_checksum(length, text)
        self._file.seek(0)
        self._file.write(length + text)
        self._file.flush()
        self._file.seek(0)
        digest = hashlib.file_digest(self._file, "sha256")  # type: ignore[arg-type]
        self._file.seek(8)
        self._file.write(text.replace(ZEROS, digest.hexdigest().encode(), 1))


def read_directory(file: BinaryIO, name: str, check: Check | None = None) -> Directory:
    """Read and check all that stands before the tensors.

    ``check`` gets the header and the declared tensors. It runs before the checksum of the header is compared, so that
    its more telling errors come first.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if not 2 <= length <= size - 8:
        raise InputError(f"{name} is not a safetensors file, or it is cut off: it has {size} bytes.")
    if length > MAX_HEADER:
        raise InputError(f"{name} has a header of {length} bytes: kernelsketch writes at most {MAX_HEADER}.")
    text = file.read(length)
    entries = json.loads(text.decode(), parse_constant=_refuse_constant)
    header = json.loads(entries.get("__metadata__", {}).get(KEY, "null"), parse_constant=_refuse_constant)
    if not isinstance(header, dict):
        raise InputError(f"{name} was not written by kernelsketch: its metadata have no object {KEY!r}.")
    tensors, begins = _declared(entries, name, 8 + length, size)
    if check is not None:
        check(header, tensors)
    found = Directory(header, tensors, begins, first + text)
    for key in ("sha256", "header_sha256"):
        if not isinstance(header.get(key), str) or not re.fullmatch("[0-9a-f]{64}", header[key]):
            raise InputError(f"{name} is damaged: the checksum {key} is missing from its header.")
    whole, own = header["sha256"].encode(), header["header_sha256"].encode()
    if hashlib.sha256(found.text.replace(whole, ZEROS, 1).replace(own, ZEROS, 1)).hexdigest() != own.decode():
        raise InputError(f"{name} is damaged: its header has changed since it was written.")
    return found


def read_container(file: BinaryIO, name: str, check: Check | None = None) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header and all tensors, and check every byte."""
    directory = read_directory(file, name, check)
    digest = _begin_checksum(directory)
    tensors = {}
    for key, info in directory.tensors.items():
        array = np.empty(info.shape, info.dtype)
        for piece in pieces(_bytes_of(array)):
            done = 0
            while done < len(piece):
                read = file.readinto(piece[done:])  # type: ignore[attr-defined]
                if not read:
                    raise InputError(f"{name} is cut off within {key}.")
                done += read
            digest.update(piece)
        tensors[key] = array.astype(array.dtype.newbyteorder("="), copy=False)
    _compare_checksum(digest, directory, name)
    return directory.header, tensors


def map_container(path: Path, check: Check | None = None) -> tuple[dict[str, Any], dict[str, Array]]:
    """Map the tensors of a file into memory: the header is checked, the bytes of the tensors are not read."""
    with path.open("rb") as file:
        directory = read_directory(file, str(path), check)
        whole, tensors = np.memmap(file, np.uint8, "r"), {}  # the file that was checked, whatever its name means by now
    for key, info in directory.tensors.items():
        # One step instead of a slice, a view and a reshape, each of which costs a memmap some microseconds.
        array: Array = np.ndarray.__new__(np.memmap, info.shape, info.dtype, whole, directory.begins[key])
        array._mmap = whole._mmap  # type: ignore[attr-defined]
        tensors[key] = array if info.dtype.isnative else array.astype(info.dtype.newbyteorder("="))
    return directory.header, tensors


def check_mapped(array: Array) -> None:
    """Refuse a mapped array whose file has become shorter. Other arrays pass.

    Reading beyond the end of a mapped file kills the process. A file that is cut off during a call cannot be noticed.
    """
    mapped = getattr(array, "_mmap", None)
    if mapped is not None and mapped.size() < len(mapped):
        raise InputError(
            f"the mapped file has been cut off to {mapped.size()} of {len(mapped)} bytes by another program: load it "
            "again, and replace files by renaming, as save does, instead of writing into them."
        )


def others_may_write(path: Path) -> bool:
    """Return whether every user may write to a file, so that anybody could kill a process that has mapped it."""
    return sys.platform != "win32" and bool(path.stat().st_mode & stat.S_IWOTH)


def verify_container(path: Path, check: Check | None = None) -> None:
    """Compare the checksum of a file in constant memory."""
    with path.open("rb") as file:
        directory = read_directory(file, str(path), check)
        digest = _begin_checksum(directory)
        while piece := file.read(1 << 20):
            digest.update(piece)
    _compare_checksum(digest, directory, str(path))


def _begin_checksum(directory: Directory) -> Any:
    return hashlib.sha256(directory.text.replace(directory.header["sha256"].encode(), ZEROS, 1))


def _compare_checksum(digest: Any, directory: Directory, name: str) -> None:
    if digest.hexdigest() != directory.header["sha256"]:
        raise InputError(f"{name} is damaged: its content does not have the checksum that it had when it was written.")


def _with_header_checksum(length: bytes, text: bytes) -> bytes:
    """Fill in ``header_sha256``, the second entry of zeros."""
    before, after = text.split(ZEROS, 1)
    return before + ZEROS + after.replace(ZEROS, hashlib.sha256(length + text).hexdigest().encode(), 1)


def _as_stored(tensor: Array) -> Array:
    return np.ascontiguousarray(tensor, stored_dtype(tensor.dtype))


def _bytes_of(tensor: Array) -> Any:
    return tensor.reshape(-1).view(np.uint8).data


def _directory_text(header: Mapping[str, Any], tensors: Mapping[str, TensorInfo], path: Any) -> bytes:
    """Return the JSON text of the directory, with zeros in place of the checksums."""
    blank = {"sha256": ZEROS.decode(), "header_sha256": ZEROS.decode()}
    entries: dict[str, Any] = {"__metadata__": {KEY: json.dumps(blank | dict(header), allow_nan=False)}}
    position = 0
    for name, info in tensors.items():
        entries[name] = {
            "dtype": NAMES[info.dtype.newbyteorder("<")],
            "shape": list(info.shape),
            "data_offsets": [position, position + info.nbytes],
        }
        position += info.nbytes
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise InputError(
            f"{path} cannot be written: its header takes {len(text)} bytes, and {MAX_HEADER} are allowed. Shorten the "
            "parameters, for example class_weight."
        )
    return text


def _declared(
    entries: dict[str, Any], name: str, start: int, size: int
) -> tuple[dict[str, TensorInfo], dict[str, int]]:
    """Return the tensors and where they begin, in the order of the file, which they must fill without gaps."""
    found, begins = {}, {}
    for key, entry in entries.items():
        if key == "__metadata__":
            continue
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if len(shape) > MAX_DIMS or not all(type(x) is int and 0 <= x <= MAX_SIZE for x in (*shape, begin, end)):
            raise InputError(f"{name} is damaged: {key} has a shape or an offset that kernelsketch does not write.")
        found[key], begins[key] = TensorInfo(dtype, tuple(shape)), begin
        if begin + found[key].nbytes != end:
            raise InputError(
                f"{name} is damaged: {key} has {end - begin} bytes, but its shape {tuple(shape)} of {dtype} needs "
                f"{found[key].nbytes}."
            )
    position = 0
    order = sorted(begins, key=lambda key: (begins[key], found[key].nbytes))
    for key in order:
        if begins[key] != position:
            break
        position += found[key].nbytes
    else:
        if start + position == size:
            return {key: found[key] for key in order}, {key: start + begins[key] for key in order}
    raise InputError(
        f"{name} is cut off or damaged: its tensors do not fill the {size - start} bytes after the header."
    )


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number that JSON has")
