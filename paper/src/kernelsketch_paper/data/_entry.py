"""The registry: what is known of each dataset, read from the files in ``registry/``.

A file has one table a dataset; keys above the first table are defaults of its entries. An entry that is ``part_of``
another one takes from it what it does not say itself.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from kernelsketch.exceptions import InputError, InputTypeError

FILES = ("uci.toml", "large.toml", "mnist.toml", "others.toml")
_OF_THE_FILE = {
    *("source", "page", "licence", "citation", "preprocessing", "by_hand"),
    *("n_features", "n_classes", "sha256", "remote"),
}


@dataclass(frozen=True)
class Remote:
    """Files on a server, and how to read them. The first ones are training rows, those in ``test`` are test rows."""

    train: tuple[str, ...]
    test: tuple[str, ...] = ()
    format: str = "table"  # table, libsvm, arff, idx, pairs
    options: tuple[tuple[str, Any], ...] = ()  # of the reader of that format
    sha256: tuple[str, ...] = ()  # of the files in order, "" where it is not known

    @property
    def urls(self) -> tuple[str, ...]:
        return self.train + self.test


@dataclass(frozen=True)
class Entry:
    """What is known of a dataset.

    Attributes
    ----------
    name, title : str
        The paper's name, and what it stands for.
    source : str
        ``"UCI"``, ``"LIBSVM"``, ``"OpenML"``, ``"MNIST"`` or ``"other"``.
    in_paper : bool
        Whether the paper's tables have it.
    n_train, n_test, n_features, n_classes : int or None
        Sizes; None where they are not known.
    split : str
        ``"official"``; ``"random"``: n_train and n_test of all rows; ``"random part of training"``: of the official
        training rows; ``"random training, official test"``.
    part_of : str or None
        The entry whose file this one is drawn from.
    recipe : str or None
        How it is made from the digits of that file, for the variations of MNIST.
    preprocessing : str
        What was done to the features. ``scale`` and ``shift`` are applied to the stored values.
    sha256 : str or None
        Of the ``.npz`` file; None: unknown, recorded at the first download.
    remote : Remote or None
        Where ``load`` fetches it; None: by hand, as ``by_hand`` says.
    page, licence, citation, note, by_hand : str
        Where it is described, under which terms, whom to cite, and what is uncertain.
    """

    name: str
    title: str
    source: str
    in_paper: bool
    split: str
    n_train: int | None = None
    n_test: int | None = None
    n_features: int | None = None
    n_classes: int | None = None
    part_of: str | None = None
    recipe: str | None = None
    preprocessing: str = "raw"
    scale: float = 1.0
    shift: float = 0.0
    sha256: str | None = None
    remote: Remote | None = None
    page: str = ""
    licence: str = ""
    citation: str = ""
    note: str = ""
    by_hand: str = ""

    @property
    def file(self) -> str:
        """Name of the ``.npz`` file that holds the rows."""
        return f"{self.part_of or self.name}.npz"


def names() -> list[str]:
    """Names of all datasets, those of the paper first and in its order.

    Examples
    --------
    >>> from kernelsketch_paper.data import names
    >>> names()[:3]
    ['Car', 'Covertype25k', 'CTG']
    """
    return list(_registry())


def entry(name: str) -> Entry:
    """What is known of a dataset: sizes, split, source, licence, what is uncertain.

    Parameters
    ----------
    name : str
        One of :func:`names`.

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
    if not isinstance(name, str):
        raise InputTypeError(
            f"name must be a string, the name of a dataset, got {name!r} of type {type(name).__name__}."
        )
    found = _registry().get(name)
    if found is None:
        raise InputError(_unknown(name))
    return found


def _unknown(name: str) -> str:
    by_lower = {known.lower(): known for known in names()}
    near = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
    rest = [known for known in names() if known not in near]
    nearest = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"name={name!r} is not a dataset. {nearest}The names are {', '.join(near + rest)}."


@cache
def _registry() -> dict[str, Entry]:
    tables = {name: table for file in FILES for name, table in _tables(file).items()}
    return {name: _entry(name, table, tables) for name, table in tables.items()}


def _tables(file: str) -> dict[str, dict[str, Any]]:
    content = tomllib.loads(files(__package__).joinpath("registry", file).read_text(encoding="utf-8"))
    defaults = {key: value for key, value in content.items() if not isinstance(value, dict)}
    return {key: {**defaults, **value} for key, value in content.items() if isinstance(value, dict)}


def _entry(name: str, table: dict[str, Any], tables: dict[str, dict[str, Any]]) -> Entry:
    base = tables[table["part_of"]] if "part_of" in table else {}
    inherited = {key: base[key] for key in _OF_THE_FILE if key in base}
    fields = {**inherited, **table}
    if isinstance(fields.get("remote"), dict):
        fields["remote"] = _remote(fields["remote"])
    return Entry(name=name, **fields)


def _remote(table: dict[str, Any]) -> Remote:
    rest = dict(table)
    parts = {key: tuple(rest.pop(key, ())) for key in ("train", "test", "sha256")}
    return Remote(**parts, format=rest.pop("format", "table"), options=tuple(sorted(rest.items())))
