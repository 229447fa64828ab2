"""The layout of a dataset's ``.npz`` file.

A file holds ``X``, or the parts ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix. It holds the labels
``y``, the flags ``is_test`` where the split is official, and ``class_names`` where ``y`` holds their positions. Other
arrays are ignored.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelsketch.exceptions import InputError

from .._checks import Array

_CSR = ("data", "indices", "indptr", "shape")
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, eq=False)
class StoredRows:
    """All rows of a dataset as its file stores them, before they are split."""

    X: Any
    y: Array
    classes: tuple[str, ...]
    is_test: Array | None


def read_npz(path: Path, sha256: str | None, *, verify: bool = True) -> StoredRows:
    """Read and check a file. ``sha256`` is the checksum that it should have, or None if it is unknown."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    found = hashlib.sha256(content).hexdigest()
    checksum = f"SHA-256 expected {sha256 or 'unknown'}, found {found} ({len(content)} bytes)"
    if verify and sha256 and found != sha256:
        raise InputError(
            f"{path} is not the file of the registry: {checksum}. The file is damaged or another version. Get it "
            "again, or pass verify=False (--skip-checksum) to use it as it is."
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return _stored_rows({name: arrays[name] for name in arrays.files if name in _KNOWN}, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, AttributeError, KeyError) as error:
        raise InputError(f"{path} is damaged: {error}; {checksum}. Get it again.") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} holds an array that cannot be read: {error}; {checksum}. Get it again.") from None


def npz_bytes(rows: StoredRows) -> bytes:
    """Return the content of a file of this layout."""
    arrays: dict[str, Any] = {"y": rows.y.astype(np.int32), "class_names": np.array(rows.classes)}
    if rows.is_test is not None:
        arrays["is_test"] = rows.is_test
    if sparse.issparse(rows.X):
        arrays |= {"data": rows.X.data, "indices": rows.X.indices, "indptr": rows.X.indptr}
        arrays["shape"] = np.array(rows.X.shape)
    else:
        arrays["X"] = rows.X
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


_KNOWN = {"X", "y", "is_test", "class_names", *_CSR}


def _stored_rows(arrays: dict[str, Array], path: Path) -> StoredRows:
    X = _features(arrays, path)
    if "y" not in arrays:
        raise InputError(f"{path} has no array 'y': the labels of the rows are needed.")
    y, classes = _labels(arrays["y"], arrays.get("class_names"), path)
    is_test = arrays.get("is_test")
    for name, values in (("y", y), ("is_test", is_test)):
        if values is not None and values.shape != (X.shape[0],):
            raise InputError(f"{path}: '{name}' has shape {values.shape}, but there are {X.shape[0]} rows.")
    return StoredRows(X, y, classes, None if is_test is None else is_test.astype(bool))


def _features(arrays: dict[str, Array], path: Path) -> Any:
    if "X" in arrays:
        X: Any = np.ascontiguousarray(arrays["X"])
    elif set(_CSR) <= set(arrays):
        shape = tuple(int(side) for side in arrays["shape"])
        try:
            X = sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
            X.check_format(full_check=True)
            X.sum_duplicates()
        except (ValueError, IndexError) as error:
            raise InputError(f"{path}: the CSR parts do not fit together: {error}") from None
    else:
        raise InputError(f"{path} has neither an array 'X' nor all of {', '.join(_CSR)}: it is not a dataset.")
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: X must be a table of numbers with rows and columns, got shape {X.shape} of type {X.dtype}."
        )
    if X.dtype not in _FLOATS:
        X = X.astype(np.float32 if X.dtype.itemsize < 4 else np.float64)
    check_no_nan(X.data if sparse.issparse(X) else X, str(path))
    return X


def check_no_nan(values: Array, where: str) -> None:
    """Refuse missing values, since the paper states no rule for them."""
    bad = int(values.size - np.isfinite(values).sum())
    if bad:
        raise InputError(
            f"{where}: X has {bad} of {values.size} values that are NaN or infinite, and the paper states no rule for "
            "them. Impute or drop them, and store the result as a file of your own."
        )


def _labels(y: Array, class_names: Array | None, path: Path) -> tuple[Array, tuple[str, ...]]:
    if class_names is None:
        found, numbers = np.unique(y, return_inverse=True)
        return numbers.astype(np.int64), tuple(str(label) for label in found)
    if y.dtype.kind not in "iu" or (len(y) and not 0 <= y.min() <= y.max() < len(class_names)):
        raise InputError(f"{path}: 'y' must hold whole numbers from 0 to {len(class_names) - 1}, one per class name.")
    return y.astype(np.int64), tuple(str(name) for name in class_names)
