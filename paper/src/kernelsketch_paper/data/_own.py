"""Files of a user as datasets: read once, stored in the layout of the registry's files, and split at random."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelsketch.exceptions import InputError

from .._library import open_rows, write_atomically
from ._entry import Entry, names
from ._npz import StoredRows, npz_bytes

MOST_CLASSES = 200
_registered: dict[str, tuple[Entry, Path]] = {}


def own_datasets() -> dict[str, tuple[Entry, Path]]:
    """Return the registered datasets by name: the entry of each, and the file of its rows."""
    return _registered


def register(found: dict[str, tuple[Entry, Path]]) -> None:
    """Make datasets known to :func:`entry` and :func:`load` in this process."""
    _registered.update(found)


def is_own(name: str) -> bool:
    """Return whether a name is that of a file, and not of a dataset of the registry. The file need not exist."""
    path = Path(name)
    return name not in names() and name not in _registered and (path.exists() or path.suffix != "" or "/" in name)


def import_file(path: str, label: str | int | None, folder: Path) -> str:
    """Read a file of rows with labels, store it in a folder, and register it under its name. Return the name.

    Parameters
    ----------
    path : str
        CSV, TSV, LIBSVM text, Parquet, Arrow or NPZ. Features must be numbers without gaps.
    label : str, int or None
        Name or number of the column of labels. LIBSVM text has labels, and in NPZ files they are the array ``y``.
    folder : Path
        Folder for the rows, which is made if it does not exist.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{path} is neither a dataset of the registry nor a file: check the name.")
    rows = _read(file, label)
    n, classes = len(rows.y), len(rows.classes)
    if not 2 <= classes <= MOST_CLASSES:
        raise InputError(
            f"{path} has {classes} different labels: the paper's experiments need 2 to {MOST_CLASSES} classes. Name "
            "the column of the classes with --label."
        )
    folder.mkdir(parents=True, exist_ok=True)
    stored = folder / f"{file.name}.npz"
    write_atomically(stored, npz_bytes(rows))
    found = Entry(
        name=file.name,
        title=f"{file.name}, your file",
        source="own",
        in_paper=False,
        split="random",
        n_train=(n + 1) // 2,
        n_test=n // 2,
        n_features=rows.X.shape[1],
        n_classes=classes,
        note=digest(file, label),
    )
    register({file.name: (found, stored)})
    return file.name


def digest(file: Path, label: str | int | None) -> str:
    """Return the checksum of a file and of the choice of its label, which results belong to."""
    with file.open("rb") as content:
        return f"{hashlib.file_digest(content, 'sha256').hexdigest()}, label {label}"


def _read(file: Path, label: str | int | None) -> StoredRows:
    with open_rows(str(file), label=label) as stream:
        blocks = [(X, y) for X, y in stream]
    if not blocks or any(y is None for _, y in blocks):
        raise InputError(f"{file} has no labels: name the column of the classes with --label.")
    X = _stacked([X for X, _ in blocks])
    found, y = np.unique(np.concatenate([np.asarray(y).astype(str) for _, y in blocks]), return_inverse=True)
    return StoredRows(X, y.astype(np.int64), tuple(map(str, found)), None)


def _stacked(parts: list[Any]) -> Any:
    """Return blocks of rows as one matrix. Blocks of LIBSVM text may have different widths."""
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    wide = [sparse.csr_array((part.data, part.indices, part.indptr), shape=(part.shape[0], width)) for part in parts]
    return sparse.csr_array(sparse.vstack(wide, format="csr"))
