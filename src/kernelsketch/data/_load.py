"""From a name to rows: where a file is looked for, and what is made of it."""

from __future__ import annotations

import numbers
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import InputError, InputTypeError, UnavailableError
from ._dataset import Dataset
from ._entry import Entry, entry
from ._npz import Table, read_npz
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
    >>> from kernelsketch.data import load
    >>> data = load("Letter", download=False)  # doctest: +SKIP
    >>> data.X_train.shape, data.split  # doctest: +SKIP
    ((15000, 16), 'official')
    """
    found = entry(name)
    number = _check_split(split)
    if found.refused:
        raise UnavailableError(f"{name} cannot be had: {found.refused}")
    table = _table(found, folder, download, verify)
    if found.n_features is not None and table.X.shape[1] != found.n_features:
        raise InputError(f"{name} has {found.n_features} features, but its file has {table.X.shape[1]}.")
    train, test = split_rows(found, table.X.shape[0], table.is_test, number)
    kind = OFFICIAL if found.split == OFFICIAL else "random"
    return Dataset(name, _scaled(table.X, found), table.y, table.classes, train, test, kind, found)


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
    >>> from kernelsketch.data import where
    >>> where("M-Image") is None  # needs photographs that are not published
    True
    """
    found = entry(name)
    if found.refused:
        return None
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
    named = [folder, os.environ.get(VARIABLE)]
    return [*(Path(place) for place in named if place), cache_folder()]


def _check_split(split: Any) -> int:
    if isinstance(split, bool) or not isinstance(split, numbers.Integral):
        raise InputTypeError(f"split must be a whole number, got {split!r} of type {type(split).__name__}.")
    if not 0 <= int(split) < 2**32:
        raise InputError(f"split must be between 0 and 2**32 - 1, got {split!r}.")
    return int(split)


def _table(found: Entry, folder: str | os.PathLike[str] | None, download: bool, verify: bool) -> Table:
    path = where(found.name, folder=folder)
    if path is not None:
        return read_npz(path, found.sha256, verify=verify)
    raise UnavailableError(_not_found(found, folder))


def _not_found(found: Entry, folder: str | os.PathLike[str] | None) -> str:
    places = ", ".join(str(place) for place in _places(folder))
    return f"{found.name} was not found: no {found.file} in {places}."


def _scaled(X: Any, found: Entry) -> Any:
    if found.scale == 1 and found.shift == 0:
        return X
    if sparse.issparse(X):
        assert found.shift == 0
        return X * X.dtype.type(found.scale)
    return np.ascontiguousarray((X.astype(np.float64) * found.scale + found.shift).astype(X.dtype))
