"""Folders of document collections: a file per segment, and a list that is replaced at once.

::

    FOLDER/collection.safetensors      the list: how texts become rows, the names and checksums of the segment files,
                                       and which of their documents are removed
    FOLDER/segment-0123456789abcdef... one file per segment, never changed
    FOLDER/lock                        locked by the process that changes the collection

A change writes new segment files, then replaces the list, then removes files that the list does not name. So a process
that is killed at any moment leaves the old collection or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from ..exceptions import InputError
from ..storage import COLLECTION as LIST
from ..storage import PARTIAL_SUFFIX, Field, Rule, Schema, Tensor, Text, load_file, read_header, save_file
from ._prefix_lists import LEAST_COUNTERS, MOST_COUNTERS, PrefixLists

LOCK = "lock"
FORMAT = "kernelsketch.DocumentCollection"
SEGMENT = re.compile(r"segment-[0-9a-f]{16}\.safetensors")
MOST_RUNS = 100  # names of the last additions that a list keeps
TRIES = 10  # to open a folder that another process changes

_SHINGLES = {
    "version": Field(int, 1),
    "n_min": Field(int, 1),
    "n_max": Field(int, 1),
    "analyzer": Field(str, choices=("word", "char")),
    "lowercase": Field(bool),
    "weight": Field(str, choices=("count", "binary", "log")),
    "normalize": Field(str, choices=("NFC", "NFKC", "NFD", "NFKD"), nullable=True),
}

LIST_SCHEMA = Schema(
    kind="a collection of documents",
    format=FORMAT,
    version=1,
    fields={
        "threshold": Field(float, above=0, most=1),
        "shingles": Field(dict, fields=_SHINGLES),
        "n_added": Field(int, 0),  # documents in all, also those that were removed
    },
    tensors={
        "segments": Text("segments", "always"),
        "checksums": Text("segments", "always"),
        "removed": Tensor("u4", ("removed",)),  # documents, segment by segment
        "removed_ends": Tensor("i8", ("segments",)),
        "runs": Text("runs", "always"),  # names of additions, so that one which was interrupted is not repeated
    },
)

SEGMENT_SCHEMA = Schema(
    kind="a segment of a collection",
    format=FORMAT + ".segment",
    version=1,
    fields={"threshold": Field(float, above=0, most=1), "shingles": Field(dict, fields=_SHINGLES)},
    tensors={
        "texts": Tensor("u1", ("bytes",)),
        "text_ends": Tensor("i8", ("documents + 1",)),
        "ids": Tensor("u1", ("id bytes",)),  # as JSON
        "id_ends": Tensor("i8", ("documents + 1",)),
        "first": Tensor("u4", ("documents",)),  # the first document of the segment with equal shingles
        "norms": Tensor("f8", ("documents",)),
        "counters": Tensor("u2", ("counters",)),
        "features": Tensor("i8", ("entries",)),
        "rows": Tensor("u4", ("entries",)),
    },
    rules=(
        Rule(
            "counters does not have a size that it can have",
            lambda _, sizes: (
                sizes["counters"].bit_count() == 1 and LEAST_COUNTERS <= sizes["counters"] <= MOST_COUNTERS
            ),
        ),
    ),
)


class Segment(NamedTuple):
    """Documents with their ids and what finds them. ``ends`` and ``id_ends`` begin with 0."""

    texts: Array
    ends: Array
    ids: Array
    id_ends: Array
    first: Array
    norms: Array
    lists: PrefixLists
    removed: Array  # numbers of removed documents, ascending
    alive: Array | None = None  # for a listed document the first equal one that is not removed, or -1; None: itself
    file: str = ""
    checksum: str = ""

    @property
    def n(self) -> int:
        return len(self.norms)

    def without(self, removed: Array) -> Segment:
        """Return the segment with these documents removed."""
        if not len(removed):
            return self._replace(removed=removed, alive=None)
        rows = np.setdiff1d(np.arange(self.n), removed)
        alive = np.full(self.n, -1)
        alive[self.first[rows][::-1]] = rows[::-1]
        return self._replace(removed=removed, alive=alive)


class Listed(NamedTuple):
    """What the list of a folder says."""

    header: dict[str, Any]
    segments: tuple[Segment, ...]
    runs: list[str]
    checksum: str


def check_folder(folder: Path) -> None:
    """Refuse folders that hold anything else than a collection, before any work is done."""
    if not folder.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"There is no folder {folder.parent}", str(folder))
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "It is a file: name a new folder for the collection", str(folder))
    for name in sorted(os.listdir(folder)):
        if name not in (LIST, LOCK) and not _is_ours(name):
            raise InputError(
                f"{folder} holds files that are not of a collection, for example {name}: name a new folder."
            )


def is_collection(path: str | Path) -> bool:
    """Return whether a path is a folder with a collection."""
    return os.path.isfile(os.path.join(path, LIST))


def can_become_collection(path: str | Path) -> bool:
    """Return whether a collection can be made there: where nothing is, in an empty folder, or after a kill."""
    if not os.path.lexists(path):
        return True
    return os.path.isdir(path) and all(name == LOCK or _is_ours(name) for name in os.listdir(path))


def read_collection(folder: Path) -> Listed:
    """Open a collection; its segments are mapped."""
    missing = None
    for _ in range(TRIES):
        try:
            header, tensors = load_file(folder / LIST, LIST_SCHEMA, lambda header, tensors: (header, tensors))
        except FileNotFoundError:
            text = f"There is no collection in this folder: {LIST} is missing"
            raise FileNotFoundError(errno.ENOENT, text, str(folder)) from None
        try:
            return Listed(header, _segments(folder, header, tensors), list(tensors["runs"]), header["sha256"])
        except FileNotFoundError as error:  # another process has changed the collection since the list was read
            missing = error.filename
    raise InputError(f"{folder} is damaged: its file {missing} is missing.")


def _segments(folder: Path, header: dict[str, Any], tensors: dict[str, Any]) -> tuple[Segment, ...]:
    ends = [0, *tensors["removed_ends"].tolist()]
    if ends != sorted(ends) or ends[-1] != len(tensors["removed"]):
        raise InputError(f"{folder / LIST} is damaged: it does not say which documents are removed.")
    found = []
    for number, (name, checksum) in enumerate(zip(tensors["segments"], tensors["checksums"], strict=True)):
        if not SEGMENT.fullmatch(name):
            raise InputError(f"{folder / LIST} is damaged: {name[:60]!r} is not the name of a segment.")
        removed = tensors["removed"][ends[number] : ends[number + 1]].astype(np.int64)
        found.append(_segment(folder / name, header, checksum, removed))
    return tuple(found)


def _segment(path: Path, wanted: dict[str, Any], checksum: str, removed: Array) -> Segment:
    header, parts = load_file(path, SEGMENT_SCHEMA, lambda header, tensors: (header, tensors), mmap=True)
    if header["sha256"] != checksum or any(header[name] != wanted[name] for name in ("threshold", "shingles")):
        raise InputError(f"{path} is damaged: it is not the segment that its collection has saved.")
    n = len(parts["norms"])
    for ends, content in (("text_ends", "texts"), ("id_ends", "ids")):
        places = parts[ends]
        if places[0] != 0 or places[-1] != len(parts[content]) or (np.diff(places) < 0).any():
            raise InputError(f"{path} is damaged: {ends} does not divide {content}.")
    if n and int(parts["first"].max()) >= n:
        raise InputError(f"{path} is damaged: it names a document that it does not have.")
    if len(removed) and (int(removed[-1]) >= n or (np.diff(removed) <= 0).any()):
        raise InputError(f"{path.parent / LIST} is damaged: it removes a document that {path.name} does not have.")
    lists = PrefixLists(parts["counters"], parts["features"], parts["rows"])
    texts = parts["texts"], parts["text_ends"], parts["ids"], parts["id_ends"]
    none = np.zeros(0, np.int64)
    found = Segment(*texts, parts["first"], parts["norms"], lists, none, file=path.name, checksum=checksum)
    return found.without(removed)


def write_segment(folder: Path, segment: Segment, header: dict[str, Any]) -> Segment:
    """Write the file of a new segment; return the segment with its name."""
    name = f"segment-{secrets.token_hex(8)}.safetensors"
    tensors = {
        "texts": segment.texts,
        "text_ends": segment.ends,
        "ids": segment.ids,
        "id_ends": segment.id_ends,
        "first": segment.first,
        "norms": segment.norms,
        "counters": segment.lists.counters,
        "features": segment.lists.features,
        "rows": segment.lists.rows,
    }
    own = {name: header[name] for name in ("threshold", "shingles")}
    save_file(folder / name, SEGMENT_SCHEMA, own, tensors, like=folder / LIST)
    found = read_header(folder / name)
    return _segment(folder / name, found, found["sha256"], segment.removed)


def write_list(folder: Path, header: dict[str, Any], segments: Sequence[Segment], runs: Sequence[str]) -> str:
    """Replace the list, and remove files that it does not name; return its checksum."""
    own = {name: header[name] for name in LIST_SCHEMA.fields}
    removed = [segment.removed.astype(np.uint32) for segment in segments]
    tensors = {
        "segments": [segment.file for segment in segments],
        "checksums": [segment.checksum for segment in segments],
        "removed": np.concatenate([np.zeros(0, np.uint32), *removed]),
        "removed_ends": np.cumsum([len(part) for part in removed], dtype=np.int64),
        "runs": list(runs)[-MOST_RUNS:],
    }
    save_file(folder / LIST, LIST_SCHEMA, own, tensors)
    remove_files(folder, keep={segment.file for segment in segments})
    return str(read_header(folder / LIST)["sha256"])


def remove_files(folder: Path, *, keep: set[str]) -> None:
    """Remove segment files that are not to be kept."""
    for name in os.listdir(folder):
        if _is_ours(name) and name not in keep:
            with contextlib.suppress(OSError):  # Windows keeps files that are mapped; the next change removes them
                (folder / name).unlink()


def _is_ours(name: str) -> bool:
    begin = name.split(".safetensors")[0] + ".safetensors"
    return bool(SEGMENT.fullmatch(name)) or (
        name.endswith(PARTIAL_SUFFIX) and (begin == LIST or bool(SEGMENT.fullmatch(begin)))
    )
