"""The registry: what is known about each dataset, read from the files in ``registry/``.

A file has one table per dataset; keys above the first table are defaults for all of its entries. An entry that is
``part_of`` another one inherits what it does not state itself.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urldefrag

from kernelsketch.exceptions import InputError, InputTypeError, Setting

FILES = ("uci.toml", "large.toml", "mnist.toml", "others.toml", "bundled.toml")
BUNDLED = ("scikit-learn", "generated")  # sources that need no file
_OF_THE_FILE = {
    *("source", "page", "licence", "citation", "preprocessing", "by_hand"),
    *("n_features", "n_classes", "sha256", "remote"),
}


@dataclass(frozen=True)
class Remote:
    """Files on a server, and how to read them. ``train`` lists files of training rows, ``test`` files of test rows.

    An address may end with ``#`` and the path of a file inside the archive at that address.
    """

    train: tuple[str, ...]
    test: tuple[str, ...] = ()
    format: str = "table"  # table, libsvm, openml, idx, pairs, segments, mat
    size: int = 0  # bytes of all downloads together, approximately
    rows: int | None = None  # rows of all files together, where the number is known
    options: tuple[tuple[str, Any], ...] = ()  # options of the reader of that format
    sha256: tuple[str, ...] = ()  # checksums of the files in order, "" where unknown

    @property
    def urls(self) -> tuple[str, ...]:
        return self.train + self.test

    @property
    def addresses(self) -> tuple[str, ...]:
        """The downloads, each once: several files may be in one archive."""
        return tuple(dict.fromkeys(urldefrag(url).url for url in self.urls))


@dataclass(frozen=True)
class Entry:
    """What is known about a dataset.

    Attributes
    ----------
    name, title : str
        Name in the paper, and what it stands for.
    source : str
        ``"UCI"``, ``"LIBSVM"``, ``"OpenML"``, ``"MNIST"``, ``"other"``, ``"scikit-learn"``, ``"generated"``, or
        ``"own"`` for a file of the user.
    in_paper : bool
        Whether the tables of the paper contain the dataset.
    n_train, n_test, n_features, n_classes : int or None
        Sizes, or None where they are unknown.
    split : str
        ``"official"``; ``"random"``, which draws n_train and n_test of all rows; ``"random part of training"``, which
        draws both from the official training rows; or ``"random training, official test"``.
    part_of : str or None
        Entry from whose file this dataset is drawn.
    recipe : str or None
        How a variant of MNIST is generated from the digits of that file, or how a generated dataset is made.
    stands_for : str
        Table of the paper (``"uci"``, ``"large"``, ``"mnist"``) for which a bundled dataset stands in where fewer than
        four of its datasets are on this machine.
    preprocessing : str
        What was done to the features.
    scale, shift : float
        Factor and offset that ``load`` applies to the stored values.
    sha256 : str or None
        Checksum of the ``.npz`` file. None if it is unknown; the first download then records it.
    remote : Remote or None
        Files that ``load`` downloads. None if the file has to be stored by hand, as ``by_hand`` says.
    page, licence, citation, note, by_hand : str
        Where the dataset is described, its terms, whom to cite, what is uncertain, and how to store it by hand.
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
    stands_for: str = ""
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
    def is_bundled(self) -> bool:
        """Whether the dataset needs no file: it comes with scikit-learn, or is generated."""
        return self.source in BUNDLED

    @property
    def is_free(self) -> bool:
        """Whether any experiment can run on the dataset: bundled datasets and files of a user belong to no table."""
        return self.is_bundled or self.source == "own"

    @property
    def origin(self) -> str:
        """What the rows are, in words, for a dataset that is not in the paper."""
        if self.source == "own":
            return "your file"
        if self.source == "generated":
            return "generated"
        return f"made from {self.part_of}" if self.recipe else f"real, from {self.source}"

    @property
    def file(self) -> str:
        """Name of the ``.npz`` file that holds the rows."""
        return f"{self.part_of or self.name}.npz"


def names() -> list[str]:
    """Return the names of all datasets, those of the paper first and in its order.

    Examples
    --------
    >>> from kernelsketch_paper.data import names
    >>> names()[:3]
    ['Car', 'Covertype25k', 'CTG']
    """
    return list(_registry())


def entry(name: str) -> Entry:
    """Return the entry of a dataset of the registry."""
    if not isinstance(name, str):
        raise InputTypeError(
            Setting("name"), f" must be the name of a dataset as a string, got {name!r} of type {type(name).__name__}."
        )
    found = _registry().get(name)
    if found is None:
        raise InputError(Setting("name", name), _unknown(name))
    return found


def _unknown(name: str) -> str:
    by_lower = {known.lower(): known for known in names()}
    near = [by_lower[match] for match in get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)]
    nearest = f"Did you mean {' or '.join(near)}? " if near else ""
    listed = "`kernelsketch datasets` and kernelsketch_paper.data.names() list all of them."
    return f" is not a dataset of the registry. {nearest}{listed}"


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
    parts: dict[str, Any] = {key: tuple(rest.pop(key, ())) for key in ("train", "test", "sha256")}
    known = {key: rest.pop(key) for key in ("format", "size", "rows") if key in rest}
    return Remote(**parts, **known, options=tuple(sorted(rest.items())))
