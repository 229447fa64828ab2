"""Index folders: an index whose additions and removals are saved without writing the other rows again.

::

    FOLDER/index.safetensors              the list: everything but the rows, the names and checksums of the segment
                                          files, and which of their rows are removed
    FOLDER/segment-0123456789abcdef...    one file per segment: an index file like any other, never changed
    FOLDER/lock                           locked by the process that saves

A save writes a file for each segment that has none, then replaces the list, then removes files that the list does not
name. The list is replaced at once, so that a process that is killed at any moment leaves the old index or the new one;
what else it leaves is removed by the next save. Segments are merged as an index grows, so there are few files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..backends import Segment
from ..exceptions import InputError
from ..storage import PARTIAL_SUFFIX, Tensor, Tensors, Text, load_file, locked, read_header, save_file
from . import _segments, _vectors
from ._storage import INDEX_FORMAT, INDEX_SCHEMA, index_parts, restored, segment_of

LIST, LOCK = "index.safetensors", "lock"
SEGMENT = re.compile(r"segment-[0-9a-f]{16}\.safetensors")
TRIES = 10  # to open a folder that another process saves to

LIST_SCHEMA = replace(
    INDEX_SCHEMA,
    kind="the list of an index folder",
    format=INDEX_FORMAT + ".folder",
    tensors={
        **INDEX_SCHEMA.tensors,  # of an index without rows
        "segments": Text("segments", "always"),  # names of files
        "checksums": Text("segments", "always"),  # of these files
        "removed": Tensor("u4", ("removed",)),  # rows, segment by segment
        "removed_ends": Tensor("i8", ("segments",)),
    },
)


class FolderState(NamedTuple):
    """What a folder held when an index was last loaded from it or saved to it."""

    folder: str
    checksum: str  # of the list
    checksums: dict[str, str]  # of the segment files


def save_folder(index: Any, folder: Path) -> tuple[list[Segment], FolderState]:
    """Save an index to a folder, without the segments that it holds already; return what the index then has."""
    _check_folder(folder)
    folder.mkdir(exist_ok=True)
    with locked(folder / LOCK, f"{folder} is being saved by another process: try again when it has ended."):
        old = _files_of(index, folder)
        segments, files, new = [], {}, []
        try:
            for segment in index._segments:
                if segment.file not in old:
                    name = f"segment-{secrets.token_hex(8)}.safetensors"
                    segment = _segments.whole([segment], index._layout)._replace(file=name)  # without removed rows
                    save_file(folder / name, INDEX_SCHEMA, *index_parts(index, segment), like=folder / LIST)
                    new.append(name)
                    old[name] = read_header(folder / name)["sha256"]
                segments.append(segment)
                files[segment.file] = old[segment.file]
            checksum = _save_list(index, folder, segments, files)
        except BaseException:
            _remove(folder, new)
            raise
        _remove(folder, [name for name in os.listdir(folder) if _is_ours(name) and name not in files])
        return segments, FolderState(os.path.realpath(folder), checksum, files)


def load_folder(cls: Any, folder: Path, mmap: bool) -> Any:
    """Load an index from a folder. Segments are mapped or read; the list is always read and checked."""
    missing = None
    for _ in range(TRIES):
        header, tensors = _read_list(folder)
        try:
            return _opened(cls, folder, header, tensors, mmap)
        except FileNotFoundError as error:  # another process has saved since the list was read
            missing = error.filename
    raise InputError(f"{folder} is damaged: its file {missing} is missing.")


def index_list(path: Path) -> Path | None:
    """Return the list of an index folder; None if the path is no such folder."""
    found = path / LIST
    return found if found.is_file() and read_header(found).get("format") == LIST_SCHEMA.format else None


def _check_folder(folder: Path) -> None:
    """Refuse folders that hold anything else than an index, before any work is done."""
    if not folder.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"There is no folder {folder.parent}", str(folder))
    if not folder.exists():
        return
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "It is a file: call save to replace it", str(folder))
    others = [name for name in sorted(os.listdir(folder)) if name not in (LIST, LOCK) and not _is_ours(name)]
    if others:
        raise InputError(
            f"{folder} holds files that are not of an index, for example {others[0]}: name an empty or new folder, or "
            "a file in this one."
        )


def _is_ours(name: str) -> bool:
    begin = name.split(".safetensors")[0] + ".safetensors"
    return bool(SEGMENT.fullmatch(name)) or (
        name.endswith(PARTIAL_SUFFIX) and (begin == LIST or bool(SEGMENT.fullmatch(begin)))
    )


def _files_of(index: Any, folder: Path) -> dict[str, str]:
    """Return the segment files that the folder holds since the index was loaded from it, with their checksums."""
    state: FolderState | None = index._folder_state
    if state is None or state.folder != os.path.realpath(folder) or not (folder / LIST).exists():
        return {}
    if read_header(folder / LIST)["sha256"] != state.checksum:
        raise InputError(
            f"{folder} has been saved by another process since this index was loaded from it: load it again and "
            "repeat the changes, or save to another folder."
        )
    return {name: checksum for name, checksum in state.checksums.items() if (folder / name).exists()}


def _save_list(index: Any, folder: Path, segments: list[Segment], files: dict[str, str]) -> str:
    """Write the list; return its checksum."""
    removed = [np.flatnonzero(s.flags == _segments.REMOVED).astype(np.uint32) for s in segments]
    header, tensors = index_parts(index, _without_rows(segments[0], index._layout))
    tensors |= {
        "segments": list(files),
        "checksums": list(files.values()),
        "removed": np.concatenate(removed),
        "removed_ends": np.cumsum([len(rows) for rows in removed], dtype=np.int64),
    }
    save_file(folder / LIST, LIST_SCHEMA, header, tensors)
    return str(read_header(folder / LIST)["sha256"])


def _without_rows(segment: Segment, layout: Any) -> Segment:
    none = np.zeros(0, np.int64)
    vectors = None if segment.vectors is None else _vectors.part_of(segment.vectors, none)
    return _segments.make(segment.codes[none], segment.flags[none], segment.ids[none], vectors, layout, 1)


def _remove(folder: Path, names: list[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError):  # Windows keeps files that are mapped; the next save removes them
            (folder / name).unlink()


def _read_list(folder: Path) -> tuple[dict[str, Any], Tensors]:
    try:
        return load_file(folder / LIST, LIST_SCHEMA, lambda header, tensors: (header, tensors))
    except FileNotFoundError:
        raise FileNotFoundError(
            errno.ENOENT, f"There is no index in this folder: {LIST} is missing", str(folder)
        ) from None


def _opened(cls: Any, folder: Path, header: dict[str, Any], tensors: Tensors, mmap: bool) -> Any:
    names, checksums, ends = tensors["segments"], tensors["checksums"], [0, *tensors["removed_ends"].tolist()]
    if not names or ends != sorted(ends) or ends[-1] != len(tensors["removed"]):
        raise InputError(f"{folder / LIST} is damaged: it does not say which rows are removed from its segments.")
    index = restored(cls, header, tensors)
    segments, n_rows = [], 0
    for number, (name, checksum) in enumerate(zip(names, checksums, strict=True)):
        if not SEGMENT.fullmatch(name):
            raise InputError(f"{folder / LIST} is damaged: {name[:60]!r} is not the name of a segment.")
        found, segment = load_file(folder / name, INDEX_SCHEMA, lambda h, t: (h, segment_of(h, t)), mmap=mmap)
        _check_segment(folder / name, found, header, checksum)
        segment = segment._replace(file=name)
        rows = tensors["removed"][ends[number] : ends[number + 1]]
        if len(rows):
            if rows.max() >= len(segment.ids):
                raise InputError(f"{folder / LIST} is damaged: it removes a row that {name} does not have.")
            flags = np.array(segment.flags)
            flags[rows] = _segments.REMOVED
            segment = segment._replace(flags=flags)
        if segment.vectors is not None and segment.vectors.indptr is not None:
            segment = segment._replace(vectors=segment.vectors._replace(n_features=index.n_features_in_))
        segments.append(segment)
        n_rows += len(segment.ids) - len(rows)
    state = FolderState(os.path.realpath(folder), header["sha256"], dict(zip(names, checksums, strict=True)))
    return index._snapshot(_segments=segments, _n_rows=n_rows, _folder_state=state)


def _check_segment(path: Path, found: dict[str, Any], header: dict[str, Any], checksum: str) -> None:
    """Refuse a segment file that is not the one of the list, or that does not fit it."""
    if found["sha256"] != checksum:
        raise InputError(f"{path} is damaged: it is not the file that was saved under this name.")

    def layout(of: dict[str, Any]) -> list[Any]:
        names = ("tables", "hashes_per_table", "heavy_fraction", "exponent")
        kind = {None: None, "sparse": "sparse"}.get(of["vectors"], "dense")
        degree = of.get("graph", {}).get("degree")
        return [kind, degree, of["hash"] | {"n_features": 0}, *(of[name] for name in names)]

    fits = found["hash"]["n_features"] <= header["hash"]["n_features"]
    if layout(found) != layout(header) or not fits:
        raise InputError(f"{path} is damaged: it belongs to another index than the list of its folder.")
