"""Safetensors files with a header of ours and a checksum over every byte.

The file is plain safetensors: the length of a JSON text in 8 bytes, the text, the tensors. Its metadata have one key,
``kernelsketch``, whose value is a JSON object too. The first entry of that is ``sha256``: of the whole file, its own 64
digits taken as zeros. Any changed bit is found. The reader allocates nothing before sizes and types have been
checked, and never more than the file holds.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._files import write_atomically
from .exceptions import InputError

Array = NDArray[Any]

KEY = "kernelsketch"
MOST_HEADER = 1 << 20
MOST_SIDES, MOST = 3, 1 << 48  # of a tensor; its size is compared with that of the file
ZEROS = "0" * 64
GROWING_HEADER = 4096 - 8  # so that the tensors begin on a page
CHECKSUM = "its content does not have the checksum that it had when it was written."
DTYPES = {
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Declared(NamedTuple):
    """What the header says of a tensor."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def stored_dtype(dtype: Any) -> np.dtype[Any] | None:
    """The type in which an array is stored, None if it cannot be."""
    little = np.dtype(dtype).newbyteorder("<")
    return little if little in NAMES else None


def write_tensors(path: Path, header: Mapping[str, Any], tensors: Mapping[str, Array]) -> None:
    """Write a file, complete or not at all; the same content gives the same bytes."""
    parts = {name: _as_stored(t) for name, t in tensors.items()}
    names = sorted(parts, key=lambda name: (-parts[name].itemsize, name))  # so each is aligned
    text = _header_text(header, {name: parts[name] for name in names}, str(path))
    length, data = len(text).to_bytes(8, "little"), [_bytes_of(parts[name]) for name in names]
    digest = hashlib.sha256(length + text)
    for piece in data:
        digest.update(piece)
    write_atomically(path, length, text.replace(ZEROS.encode(), digest.hexdigest().encode(), 1), *data)


class GrowingTensors:
    """A file whose first tensor, a matrix of bytes, grows row by row; the header is filled in at the end."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name, self._rows, self._width = file, name, 0, 0
        file.write(bytes(8 + GROWING_HEADER))

    def add(self, rows: Array) -> None:
        self._rows, self._width = self._rows + len(rows), rows.shape[1]
        self._file.write(_bytes_of(np.ascontiguousarray(rows, np.uint8)))

    def finish(self, header: Mapping[str, Any], tensors: Mapping[str, Array], path: str) -> None:
        """Write the other tensors, the header and the checksum, for which the file is read once."""
        parts = {name: _as_stored(t) for name, t in tensors.items()}
        for part in parts.values():
            self._file.write(_bytes_of(part))
        grown = Declared(np.dtype(np.uint8), (self._rows, self._width))
        text = _header_text(header, {self._name: grown, **parts}, path).ljust(GROWING_HEADER)
        if len(text) > GROWING_HEADER:
            raise InputError(f"{path} cannot be written: its header takes {len(text)} bytes.")
        self._file.seek(0)
        self._file.write(GROWING_HEADER.to_bytes(8, "little") + text)
        self._file.flush()
        self._file.seek(0)
        digest = hashlib.file_digest(self._file, "sha256")  # type: ignore[arg-type]
        self._file.seek(8)
        self._file.write(text.replace(ZEROS.encode(), digest.hexdigest().encode(), 1))


def _as_stored(tensor: Array) -> Array:
    return np.ascontiguousarray(tensor, stored_dtype(tensor.dtype))


def _bytes_of(tensor: Array) -> Any:
    return tensor.reshape(-1).view(np.uint8).data


def _header_text(header: Mapping[str, Any], tensors: Mapping[str, Any], path: str) -> bytes:
    """JSON of the header, its checksum zeros, for tensors in the order of the file."""
    entries: dict[str, Any] = {"__metadata__": {KEY: json.dumps({"sha256": ZEROS, **header}, allow_nan=False)}}
    position = 0
    for name, tensor in tensors.items():
        size = math.prod(tensor.shape) * tensor.dtype.itemsize
        entries[name] = {
            "dtype": NAMES[tensor.dtype.newbyteorder("<")],
            "shape": list(tensor.shape),
            "data_offsets": [position, position + size],
        }
        position += size
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise InputError(
            f"{path} cannot be written: parameters take {len(text)} bytes of its header, which has room for "
            f"{MOST_HEADER}. Use fewer weights of classes."
        )
    return text


Check = Callable[[dict[str, Any], dict[str, Declared]], None]


class Layout(NamedTuple):
    """A checked header: where each tensor begins in the file, in that order, and what it is."""

    header: dict[str, Any]
    declared: dict[str, Declared]
    begins: dict[str, int]
    text: bytes  # all that is before the tensors


def read_layout(file: BinaryIO, name: str, check: Check) -> Layout:
    """The header of a file. ``check`` refuses tensors that it does not know, before they are read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if not 2 <= length <= size - 8:
        raise InputError(f"{name} is no safetensors file, or it is cut off: {size} bytes, a header of {length}.")
    if length > MOST_HEADER:
        raise InputError(f"{name} has a header of {length} bytes: one of kernelsketch's has at most {MOST_HEADER}.")
    text = file.read(length)
    entries = json.loads(text.decode(), parse_constant=_refuse_constant)
    header = json.loads(entries.get("__metadata__", {}).get(KEY, "null"), parse_constant=_refuse_constant)
    if not isinstance(header, dict):
        raise InputError(f"{name} is not from kernelsketch: its metadata have no object {KEY!r}.")
    order, declared = _declared(entries, name, size - 8 - length)
    check(header, declared)
    found = header.get("sha256")
    if not isinstance(found, str) or not re.fullmatch("[0-9a-f]{64}", found):
        raise InputError(f"{name} is damaged: it has no checksum.")
    begins, position = {}, 8 + length
    for key in order:
        begins[key] = position
        position += math.prod(declared[key].shape) * declared[key].dtype.itemsize
    return Layout(header, declared, begins, first + text)


def read_tensors(file: BinaryIO, name: str, check: Check) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and tensors of a file, every byte of which is checked."""
    layout = read_layout(file, name, check)
    found = layout.header["sha256"]
    digest = hashlib.sha256(layout.text.replace(found.encode(), ZEROS.encode(), 1))
    tensors = {}
    for key in layout.begins:
        array = np.empty(layout.declared[key].shape, layout.declared[key].dtype)
        place = _bytes_of(array)
        done = 0
        while done < len(place):
            read = file.readinto(place[done:])  # type: ignore[attr-defined]
            if not read:
                raise InputError(f"{name} is cut off within {key}.")
            done += read
        digest.update(place)
        tensors[key] = array.astype(array.dtype.newbyteorder("="), copy=False)
    if digest.hexdigest() != found:
        raise InputError(f"{name} is damaged: {CHECKSUM}")
    return layout.header, tensors


def map_tensors(path: Path, check: Check) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and tensors of a file, mapped: the header is checked, the bytes of the tensors are not."""
    with path.open("rb") as file:
        layout = read_layout(file, str(path), check)
    whole, tensors = np.memmap(path, np.uint8, "r"), {}
    for key, begin in layout.begins.items():
        dtype, shape = layout.declared[key]
        array = whole[begin : begin + math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
        tensors[key] = array.astype(dtype.newbyteorder("="), copy=False)
    return layout.header, tensors


def check_bytes(path: Path, check: Check) -> None:
    """Read a file and compare its checksum, a piece at a time."""
    with path.open("rb") as file:
        layout = read_layout(file, str(path), check)
        found = layout.header["sha256"]
        digest = hashlib.sha256(layout.text.replace(found.encode(), ZEROS.encode(), 1))
        while piece := file.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != found:
        raise InputError(f"{path} is damaged: {CHECKSUM}")


def keep_text(names: Iterable[Any], key: str, tensors: dict[str, Array]) -> None:
    """Strings as two tensors: their letters, and where each ends."""
    encoded = [str(name).encode("utf-8", "surrogatepass") for name in names]
    tensors[key] = np.frombuffer(b"".join(encoded), np.uint8)
    tensors[key + "_ends"] = np.cumsum([len(name) for name in encoded], dtype=np.int64)


def text_of(tensors: dict[str, Array], key: str) -> list[str]:
    content, ends = tensors[key].tobytes(), [0, *tensors[key + "_ends"].tolist()]
    if ends != sorted(ends) or ends[-1] != len(content):
        raise InputError(f"the file is damaged: {key} do not end where they should.")
    return [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(ends)]


def _declared(entries: dict[str, Any], name: str, size: int) -> tuple[list[str], dict[str, Declared]]:
    """Tensors in the order of the file, which they fill without gaps, and what they are."""
    found, spans = {}, {}
    for key, entry in entries.items():
        if key == "__metadata__":
            continue
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        if len(shape) > MOST_SIDES or not all(type(x) is int and 0 <= x <= MOST for x in (*shape, begin, end)):
            raise InputError(f"{name} is damaged: {key} has a shape that none of ours has.")
        count = 1
        for side in shape:
            count *= side
        if begin + count * dtype.itemsize != end:
            raise InputError(f"{name} is damaged: {key} has {end - begin} bytes for {count} numbers of {dtype}.")
        found[key], spans[key] = Declared(dtype, tuple(shape)), (begin, end)
    order = sorted(spans, key=lambda key: spans[key])
    ends = [0, *(spans[key][1] for key in order)]
    if any(spans[key][0] != end for key, end in zip(order, ends, strict=False)) or ends[-1] != size:
        raise InputError(f"{name} is cut off or damaged: its tensors do not fill the {size} bytes after the header.")
    return order, found


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number")
