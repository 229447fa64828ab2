"""From a name to rows: where a file is looked for, and what is made of it."""

from __future__ import annotations

import numbers
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelsketch.exceptions import InputError, InputTypeError, UnavailableError

from ._dataset import Dataset
from ._entry import Entry, entry
from ._mnist import regenerate
from ._npz import Table, read_npz
from ._remote import download as fetch_dataset
from ._remote import record
from ._splits import OFFICIAL, split_rows

VARIABLE = "KERNELSKETCH_DATA"


def load(
    name: str,
    *,
    split: int = 0,
    folder: str | os.PathLike[str] | None = None,
    download: bool = True,
    verify: bool = True,
) -> Dataset:
    """Load a dataset of the registry, with its training and test rows.

    Its ``.npz`` file is looked for in ``folder``, in the folder named by the environment variable
    ``KERNELSKETCH_DATA`` and in the user's cache. Failing these it is downloaded into the cache, where possible.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    split : int, default 0
        Number of the random split: each has its own draw, the same on every machine. 0 for an official split.
    folder : path, default None
        A folder of ``.npz`` files to look in first.
    download : bool, default True
        Whether to download what is not found.
    verify : bool, default True
        Whether a file must have the registry's checksum, where that is known. False takes your own version of it.

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
    table = _table(found, folder, download, verify)
    if found.n_features is not None and table.X.shape[1] != found.n_features:
        raise InputError(f"{name} has {found.n_features} features, but its file has {table.X.shape[1]}.")
    if found.recipe:
        return _variation(found, table, number)
    train, test = split_rows(found, table.X.shape[0], table.is_test, number)
    kind = OFFICIAL if found.split == OFFICIAL else "random"
    return Dataset(name, _scaled(table.X, found), table.y, table.classes, train, test, kind, found)


def _variation(found: Entry, digits: Table, split: int) -> Dataset:
    X, chosen = regenerate(found, digits.X, split)
    rows = np.arange(len(X))
    train, test = rows[: found.n_train], rows[found.n_train :]
    return Dataset(found.name, X, digits.y[chosen], digits.classes, train, test, "regenerated", found)


def where(name: str, *, folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The local file a dataset would be loaded from, or None if there is none; nothing is read.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    folder : path, default None
        As in :func:`load`.

    Returns
    -------
    Path or None

    Examples
    --------
    >>> from kernelsketch_paper.data import where
    >>> where("Letter")  # doctest: +SKIP
    PosixPath('/home/me/.cache/kernelsketch/datasets/Letter.npz')
    """
    found = entry(name)
    paths = (place / found.file for place in _places(folder))
    return next((path for path in paths if path.is_file()), None)


def cache_folder() -> Path:
    """Where downloads are kept: the user's cache, by the custom of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kernelsketch" / "datasets"


def _places(folder: str | os.PathLike[str] | None) -> list[Path]:
    if not (folder is None or isinstance(folder, str | os.PathLike)):
        raise InputTypeError(f"folder must be a path or None, got {folder!r} of type {type(folder).__name__}.")
    found = []
    for name, place in (("folder", folder), (VARIABLE, os.environ.get(VARIABLE))):
        if place:
            found.append(Path(place).expanduser())
            if not found[-1].is_dir():
                raise InputError(f"{name}={str(place)!r} is not a folder: name one with .npz files, or none at all.")
    return [*found, cache_folder()]


def _check_split(split: Any) -> int:
    if isinstance(split, bool) or not isinstance(split, numbers.Integral):
        raise InputTypeError(f"split must be a whole number, got {split!r} of type {type(split).__name__}.")
    if not 0 <= int(split) < 2**32:
        raise InputError(f"split must be between 0 and 2**32 - 1, got {split!r}.")
    return int(split)


def _table(found: Entry, folder: str | os.PathLike[str] | None, download: bool, verify: bool) -> Table:
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
        advice = f"download=True fetches it from {', '.join(found.remote.urls)}"
    else:
        advice = f"it is not downloaded by itself. Get it from {found.page}. {found.by_hand}".rstrip(". ")
    return (
        f"{found.name} was not found, there is no {found.file} in {places}: {advice}. A file of your own goes into a "
        f"folder that {VARIABLE} names, with arrays X, y and, for an official split, is_test."
    )


def _scaled(X: Any, found: Entry) -> Any:
    if found.scale == 1 and found.shift == 0:
        return X
    if sparse.issparse(X):
        assert found.shift == 0
        return X * X.dtype.type(found.scale)
    return np.ascontiguousarray((X.astype(np.float64) * found.scale + found.shift).astype(X.dtype))
