"""Packed codes in files: what is in them, and how they are written, read and mapped.

Tensors: ``packed`` (rows, bytes a row), ``empty`` (rows), ``center`` where there is one; with labels ``labels`` (rows),
which are numbers, or numbers of names that ``names`` holds in UTF-8, each up to its place in ``names_ends``.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._tensors import (
    Declared,
    GrowingTensors,
    check_bytes,
    keep_text,
    map_tensors,
    read_tensors,
    stored_dtype,
    text_of,
    write_tensors,
)
from .._validation import check_positive, check_power
from ..backends import HASH_VERSION
from ..exceptions import InputError, InputTypeError
from ._hasher import Hasher

Array = NDArray[Any]

FORMAT = "kernelsketch.PackedCodes"
FORMAT_VERSION = 1
MOST_NAME = 1000  # letters of a label: an array of text is as wide as its longest
_WHOLE = {
    "format_version": (1, 2**31),
    "hash_version": (1, 2**31),
    "n_components": (1, 2**40),
    "bits": (1, 16),
    "t_bits": (0, 8),
    "seed": (0, 2**64 - 1),
    "n_features": (0, 2**62),
}
_NUMBERS = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")
_TENSORS = {
    "packed": (("u1",), 2),
    "empty": (("u1",), 1),
    "center": (("f8",), 1),
    "labels": (_NUMBERS, 1),
    "names": (("u1",), 1),
    "names_ends": (("i8",), 1),
}


class StoredCodes(NamedTuple):
    """The content of a file; ``names`` are those that ``labels`` are numbers of, None if labels are numbers."""

    packed: Array
    empty: Array
    hasher: Hasher
    n_features: int
    labels: Array | None
    names: Array | None


def save_codes(path: Path, codes: Any, y: Array | None) -> None:
    """Write a file, complete or not at all."""
    labels = Labels()
    if y is not None:
        if y.shape != (len(codes),):
            raise InputError(f"y has shape {y.shape}, but there are {len(codes)} rows.")
        labels.add(y, "y")
    tensors = {"packed": codes.packed, "empty": codes.empty.astype(np.uint8)}
    write_tensors(path, _header(codes), tensors | _center(codes.hasher) | labels.tensors())


class GrowingCodes:
    """A file of codes that come in blocks."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tensors = GrowingTensors(file, "packed")
        self._empty: list[Array] = []
        self._labels = Labels()
        self._like: Any = None
        self._n_features = 0

    def add(self, codes: Any, y: Array | None, name: str) -> None:
        """Append rows of the same hash as those before."""
        if self._like is None:
            self._like = codes[:0]
        self._like.check_same(codes)
        if codes.n_components != self._like.n_components:
            raise InputError(
                f"{name} has {codes.n_components} codes a row, the blocks before {self._like.n_components}."
            )
        if (y is None and self._labels.count) or (y is not None and self._empty and not self._labels.count):
            raise InputError(
                f"{name} has labels and a block before it has none, or the other way: all need them, or none."
            )
        if y is not None:
            self._labels.add(y, name)
        self._tensors.add(codes.packed)
        self._empty.append(codes.empty.astype(np.uint8))
        self._n_features = max(self._n_features, codes.n_features)

    def finish(self, path: str) -> None:
        header = _header(self._like) | {"n_features": self._n_features}
        tensors = {"empty": np.concatenate(self._empty)} | _center(self._like.hasher) | self._labels.tensors()
        self._tensors.finish(header, tensors, path)


class Labels:
    """Labels of rows as numbers: their own, or those of their names."""

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[Array] = []
        self._names: dict[str, int] | None = None

    def add(self, y: Array, name: str) -> None:
        text = y.dtype.kind in "OUST"
        if self._parts and text != (self._names is not None):
            raise InputError(f"{name}: some labels are numbers and some are text. Make all of one kind.")
        if text:
            self._names = {} if self._names is None else self._names
            if not all(isinstance(label, str) for label in y.tolist()):
                raise InputTypeError(f"{name}: labels must be numbers or text, got {y.dtype}.")
            y = np.array([self._names.setdefault(label, len(self._names)) for label in y.tolist()], np.int32)
        elif y.dtype.kind == "b":
            y = y.astype(np.uint8)
        elif stored_dtype(y.dtype) is None or y.dtype.kind not in "iuf":
            raise InputTypeError(f"{name}: labels of type {y.dtype} cannot be stored: convert them to numbers or text.")
        self._parts.append(y)
        self.count += len(y)

    def tensors(self) -> dict[str, Array]:
        if not self._parts:
            return {}
        found = {"labels": np.concatenate(self._parts)}
        if self._names is not None:
            keep_text(self._names, "names", found)
        return found


def load_codes(path: Path, *, mmap: bool = False, checked: bool = False) -> StoredCodes:
    """Read a file, or map its codes; ``checked`` goes over its bytes before it maps them."""

    def check(header: dict[str, Any], declared: dict[str, Declared]) -> None:
        _check_layout(str(path), header, declared)

    try:
        if checked:
            check_bytes(path, check)
        if mmap:
            header, tensors = map_tensors(path, check)
        else:
            with path.open("rb") as file:
                header, tensors = read_tensors(file, str(path), check)
        return _restore(str(path), header, tensors)
    except (InputError, OSError):
        raise
    except Exception as error:  # whatever a damaged or hostile file makes the readers say
        raise InputError(f"{path} cannot be read as packed codes: {type(error).__name__}: {error}") from error


def _header(codes: Any) -> dict[str, Any]:
    hasher = codes.hasher
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "n_components": hasher.n_components,
        "bits": hasher.bits,
        "t_bits": hasher.t_bits,
        "hash_version": hasher.hash_version,
        "seed": hasher.seed,
        "p": hasher.p,
        "gamma": hasher.gamma,
        "n_features": codes.n_features,
    }


def _center(hasher: Hasher) -> dict[str, Array]:
    return {} if hasher.center is None else {"center": np.asarray(hasher.center, np.float64)}


def _check_layout(path: str, header: dict[str, Any], declared: dict[str, Declared]) -> None:
    """Refuse a header that is not of codes, and tensors that do not fit to it."""
    if header.get("format") != FORMAT:
        raise InputError(f"{path} holds no packed codes: its header does not name {FORMAT}.")
    whole = {name: _whole(header[name], *limits, f"{path} is damaged: {name}") for name, limits in _WHOLE.items()}
    if whole["format_version"] > FORMAT_VERSION or whole["hash_version"] > HASH_VERSION:
        raise InputError(f"{path} was written by a newer kernelsketch: update to read it.")
    wrong = [*({"packed", "empty"} - set(declared)), *(set(declared) - set(_TENSORS))]
    for name in set(declared) - set(wrong):
        dtypes, sides = _TENSORS[name]
        if declared[name].dtype.str[1:] not in dtypes or len(declared[name].shape) != sides:
            wrong.append(name)
    if ("names" in declared) != ("names_ends" in declared) or ("names" in declared and "labels" not in declared):
        wrong.append("names")
    if wrong:
        raise InputError(f"{path} is damaged: {sorted(wrong)[0]} is missing, unknown or of the wrong type or shape.")
    rows = declared["empty"].shape[0]
    row_bytes = -(-whole["n_components"] * (whole["bits"] + whole["t_bits"]) // 8)
    expected = {"packed": (rows, row_bytes), "labels": (rows,), "center": (whole["n_features"],)}
    for name, shape in expected.items():
        if name in declared and declared[name].shape != shape:
            raise InputError(f"{path} is damaged: {name} has shape {declared[name].shape}, not {shape}.")


def _restore(path: str, header: dict[str, Any], tensors: dict[str, Array]) -> StoredCodes:
    p = check_power(header["p"])
    gamma = None if header["gamma"] is None else check_positive(header["gamma"], "gamma")
    center = np.array(tensors["center"]) if "center" in tensors else None
    if center is not None and not np.isfinite(center).all():
        raise InputError(f"{path} is damaged: its center is not finite.")
    names = _names(path, tensors) if "names" in tensors else None
    labels = tensors.get("labels")
    if names is not None and labels is not None and not _are_numbers_of(names, labels):
        raise InputError(f"{path} is damaged: its labels are no numbers of its {len(names)} names.")
    k, bits, t_bits = (header[name] for name in ("n_components", "bits", "t_bits"))
    hasher = Hasher(k, header["seed"], bits, t_bits, p, gamma, center, header["hash_version"])
    return StoredCodes(tensors["packed"], tensors["empty"].astype(bool), hasher, header["n_features"], labels, names)


def _are_numbers_of(names: Array, labels: Array) -> bool:
    if labels.dtype.kind not in "iu":
        return False
    return len(labels) == 0 or bool(0 <= labels.min() <= labels.max() < len(names))


def _names(path: str, tensors: dict[str, Array]) -> Array:
    names = text_of(tensors, "names")
    if max(map(len, names), default=0) > MOST_NAME:
        raise InputError(f"{path} is damaged: a label of more than {MOST_NAME} letters.")
    return np.array(names, dtype=np.str_)


def _whole(value: Any, least: int, most: int, what: str) -> int:
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{what} is {str(value)[:40]}, not a whole number from {least} to {most}.")
    return value
