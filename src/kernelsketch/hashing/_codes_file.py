"""Files of packed codes: their schema, and functions that write, read and memory-map them.

Labels of rows are stored as numbers. Text labels are stored as positions in the list ``names``.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

from .._array import Array
from ..backends import on_host
from ..exceptions import InputError, InputTypeError
from ..storage import Field, GrowingFile, Schema, Tensor, Tensors, Text, When, load_file, save_file, stored_dtype
from ._codes import PackedCodes
from ._hash_fields import HASH_FIELDS, HASH_TENSORS, hash_content, stored_hasher

CODES_FORMAT = "kernelsketch.PackedCodes"
MAX_NAME = 1000  # characters of a label; an array of strings is as wide as its longest string
NUMBERS, TEXT = "numbers", "text"


def _row_bytes(header: Any) -> int:
    found = header["hash"]
    return -(-int(found["n_components"]) * (int(found["bits"]) + int(found["t_bits"])) // 8)


CODES_SCHEMA = Schema(
    kind="packed codes",
    format=CODES_FORMAT,
    version=1,
    fields={
        "hash": Field(dict, fields=HASH_FIELDS),
        "labels": Field(str, choices=(NUMBERS, TEXT), nullable=True),
    },
    tensors={
        "packed": Tensor("u1", ("rows", "bytes per row")),
        "empty": Tensor("u1", ("rows",)),
        **HASH_TENSORS,
        "labels": Tensor("u1 i1 u2 i2 u4 i4 u8 i8 f4 f8", ("rows",), When("labels", (NUMBERS, TEXT))),
        "names": Text("names", When("labels", (TEXT,))),
    },
    sizes={"features": "hash.n_features", "bytes per row": _row_bytes},
)


def save_codes(path: Path, codes: PackedCodes, y: Array | None) -> None:
    """Write packed codes and, if ``y`` is not None, one label per row to a file atomically."""
    labels = StoredLabels()
    if y is not None:
        if y.shape != (len(codes),):
            raise InputError(f"y has shape {y.shape}, but there are {len(codes)} rows.")
        labels.add(y, "y")
    fields, tensors = hash_content(codes.hasher, codes.n_features)
    rows: Tensors = {"packed": on_host(codes.packed), "empty": on_host(codes.empty).astype(np.uint8)}
    save_file(path, CODES_SCHEMA, {"hash": fields, "labels": labels.kind}, rows | tensors | labels.tensors())


class GrowingCodes:
    """Write packed codes that arrive in blocks to one file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._growing = GrowingFile(file, CODES_SCHEMA, "packed")
        self._empty: list[Array] = []
        self._labels = StoredLabels()
        self._like: PackedCodes | None = None
        self._n_features = 0

    def add(self, codes: PackedCodes, y: Array | None, name: str) -> None:
        """Append rows, which must come from the same hash as the rows before."""
        if self._like is None:
            self._like = codes[:0]
        self._like.check_same(codes)
        if codes.n_components != self._like.n_components:
            raise InputError(
                f"{name} has {codes.n_components} codes per row, but the blocks before it have "
                f"{self._like.n_components}: take the leading hashes of all, codes[:, :k]."
            )
        if (y is None and self._labels.count) or (y is not None and self._empty and not self._labels.count):
            have, before = ("no labels", "have some") if y is None else ("labels", "have none")
            raise InputError(
                f"{name} has {have}, but the blocks before it {before}: give labels to all rows or to none."
            )
        if y is not None:
            self._labels.add(y, name)
        self._growing.add(codes.packed)
        self._empty.append(codes.empty.astype(np.uint8))
        self._n_features = max(self._n_features, codes.n_features)

    def finish(self, path: str) -> None:
        """Write the header and everything that is not in the file yet."""
        assert self._like is not None
        fields, tensors = hash_content(self._like.hasher, self._n_features)
        tensors |= {"empty": np.concatenate(self._empty)} | self._labels.tensors()
        self._growing.finish({"hash": fields, "labels": self._labels.kind}, tensors, path)


class StoredLabels:
    """Labels of rows in the form of a file of codes: numbers unchanged, strings as positions in a list of names."""

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[Array] = []
        self._names: dict[str, int] | None = None

    @property
    def kind(self) -> str | None:
        """The kind of labels as the header names it, or None without labels."""
        return (NUMBERS if self._names is None else TEXT) if self._parts else None

    def add(self, y: Array, name: str) -> None:
        """Append the labels of a block. Error messages refer to the block by ``name``."""
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

    def tensors(self) -> Tensors:
        """Return the tensors of the file. Without labels there are none."""
        if not self._parts:
            return {}
        found: Tensors = {"labels": np.concatenate(self._parts)}
        return found if self._names is None else found | {"names": list(self._names)}


def load_codes(
    path: Path, *, mmap: bool = False, verify: bool = False
) -> tuple[PackedCodes, Array | None, Array | None]:
    """Read a file of packed codes, or memory-map its codes; ``verify`` checks the checksum before mapping.

    The results are the codes, the labels or None, and the names in which labels are positions, or None.
    """

    def restore(header: dict[str, Any], tensors: Tensors) -> tuple[PackedCodes, Array | None, Array | None]:
        fields, labels, names = header["hash"], tensors.get("labels"), tensors.get("names")
        if names is not None and max(map(len, names), default=0) > MAX_NAME:
            raise InputError(f"{path} is damaged: a label has more than {MAX_NAME} characters.")
        if names is not None and labels is not None and not _are_positions(labels, len(names)):
            raise InputError(f"{path} is damaged: its labels are not positions in its {len(names)} names.")
        hasher = stored_hasher(str(path), fields, tensors)
        codes = PackedCodes(tensors["packed"], tensors["empty"].astype(bool), hasher, fields["n_features"])
        return codes, labels, None if names is None else np.array(names, dtype=np.str_)

    return load_file(path, CODES_SCHEMA, restore, mmap=mmap, verify=verify)


def _are_positions(labels: Array, count: int) -> bool:
    return labels.dtype.kind in "iu" and (len(labels) == 0 or bool(0 <= labels.min() <= labels.max() < count))
