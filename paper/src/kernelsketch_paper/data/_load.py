"""From a name to rows: where the file of a dataset is searched for, and the dataset made from it."""

from __future__ import annotations

import numbers
import os
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from scipy import sparse

from kernelsketch.exceptions import InputError, InputTypeError, UnavailableError

from ._bundled import bundled
from ._dataset import Dataset
from ._entry import Entry
from ._entry import entry as registered_entry
from ._mnist import regenerate
from ._npz import StoredRows, read_npz
from ._own import own_datasets
from ._remote import download as fetch_dataset
from ._remote import record
from ._splits import OFFICIAL, split_rows

VARIABLE = "KERNELSKETCH_DATA"


def entry(name: str) -> Entry:
    """Return what is known about a dataset: sizes, split, source, licence, and what is uncertain.

    Parameters
    ----------
    name : str
        One of :func:`names`, or the name of a file that was imported.

    Returns
    -------
    Entry

    Examples
    --------
    >>> from kernelsketch_paper.data import entry
    >>> letter = entry("Letter")
    >>> letter.n_train, letter.n_test, letter.n_features, letter.split
    (15000, 5000, 16, 'official')
    """
    own = own_datasets().get(name) if isinstance(name, str) else None
    return registered_entry(name) if own is None else own[0]


def load(
    name: str,
    *,
    split: int = 0,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
    verify: bool = True,
) -> Dataset:
    """Load a dataset of the registry, with its training and test rows.

    Datasets of scikit-learn and generated ones need no file. For the others, the function searches for the ``.npz``
    file of the dataset in ``folder``, in the folder that the environment
    variable ``KERNELSKETCH_DATA`` names, and in the user's cache. If the file is in none of them, it is downloaded
    into the cache where that is possible.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    split : int, default 0
        Number of the random split. Each number has a draw of its own, which is the same on every machine. An official
        split has number 0.
    folder : path, default None
        Folder of ``.npz`` files to search first.
    download : bool, default True
        Whether to download a dataset that is not on this machine.
    verify : bool, default True
        Whether a file must have the checksum of the registry, where that is known. False accepts a version of your own.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from kernelsketch_paper.data import load
    >>> data = load("Letter", download=False)  # doctest: +SKIP
    >>> data.X_train.shape, data.split  # doctest: +SKIP
    ((15000, 16), 'official')
    """
    found = entry(name)
    number = _check_split(split)
    stored = bundled(found, found.part_of or name) if found.is_bundled else _stored(found, folder, download, verify)
    if found.n_features is not None and stored.X.shape[1] != found.n_features:
        raise InputError(
            f"{name} has {found.n_features} features, but its file has {stored.X.shape[1]}: the file is another "
            "version of the dataset."
        )
    if found.recipe and found.source != "generated":
        return _variant(found, stored, number)
    train, test = split_rows(found, stored.X.shape[0], stored.is_test, number)
    kind = OFFICIAL if found.split == OFFICIAL else "random"
    return Dataset(name, _scaled(stored.X, found), stored.y, stored.classes, train, test, kind, found)


def _variant(found: Entry, digits: StoredRows, split: int) -> Dataset:
    X, chosen = regenerate(found, digits.X, split)
    rows = np.arange(len(X))
    train, test = rows[: found.n_train], rows[found.n_train :]
    return Dataset(found.name, X, digits.y[chosen], digits.classes, train, test, "regenerated", found)


def is_here(name: str, *, folder: str | os.PathLike[str] | None = None) -> bool:
    """Return whether a dataset can be loaded without a download. Nothing is read."""
    return entry(name).is_bundled or where(name, folder=folder) is not None


def where(name: str, *, folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the local file from which a dataset would be loaded, or None if there is none. Nothing is read.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    folder : path, default None
        Folder to search first, as in :func:`load`.

    Returns
    -------
    Path or None

    Examples
    --------
    >>> from kernelsketch_paper.data import where
    >>> where("Letter")  # doctest: +SKIP
    PosixPath('/home/me/.cache/kernelsketch/datasets/Letter.npz')
    """
    if name in own_datasets():
        return own_datasets()[name][1]
    found = entry(name)
    paths = (place / found.file for place in _places(folder))
    return next((path for path in paths if path.is_file()), None)


def cache_folder() -> Path:
    """Return the folder that keeps downloads, inside the user's cache of this platform."""
    return platformdirs.user_cache_path("kernelsketch", appauthor=False) / "datasets"


def _places(folder: str | os.PathLike[str] | None) -> list[Path]:
    if not (folder is None or isinstance(folder, str | os.PathLike)):
        raise InputTypeError(f"folder must be a path or None, got {folder!r} of type {type(folder).__name__}.")
    found = []
    for name, place in (("folder", folder), (VARIABLE, os.environ.get(VARIABLE))):
        if place:
            found.append(Path(place).expanduser())
            if not found[-1].is_dir():
                raise InputError(
                    f"{name}={str(place)!r} is not a folder: name a folder of .npz files, or leave it out."
                )
    return [*found, cache_folder()]


def _check_split(split: Any) -> int:
    if isinstance(split, bool) or not isinstance(split, numbers.Integral):
        raise InputTypeError(f"split must be a whole number, got {split!r} of type {type(split).__name__}.")
    if not 0 <= int(split) < 2**32:
        raise InputError(f"split must be between 0 and 2**32 - 1, got {split!r}.")
    return int(split)


def _stored(found: Entry, folder: str | os.PathLike[str] | None, download: bool, verify: bool) -> StoredRows:
    path = where(found.name, folder=folder)
    if path is None and download and found.remote is not None:
        path = fetch_dataset(entry(found.part_of or found.name), cache_folder())
    if path is None:
        raise UnavailableError(_not_found(found, folder, download))
    return read_npz(path, record(path).get("sha256", found.sha256), verify=verify)


def _not_found(found: Entry, folder: str | os.PathLike[str] | None, download: bool) -> str:
    places = ", ".join(str(place) for place in _places(folder))
    if found.remote is not None:
        assert not download
        advice = f"Pass download=True to get it from {', '.join(found.remote.urls)}"
    else:
        advice = f"It cannot be downloaded automatically. Get it from {found.page}. {found.by_hand}".rstrip(". ")
    return (
        f"{found.name} is not on this machine: there is no {found.file} in {places}. {advice}. To use a file of your "
        f"own, store the arrays X, y and, for an official split, is_test in a folder that {VARIABLE} names."
    )


def _scaled(X: Any, found: Entry) -> Any:
    if found.scale == 1 and found.shift == 0:
        return X
    if sparse.issparse(X):
        assert found.shift == 0
        return X * X.dtype.type(found.scale)
    return np.ascontiguousarray((X.astype(np.float64) * found.scale + found.shift).astype(X.dtype))
