"""Which documents of ``kernelsketch dedup`` repeat an old one: of a collection, or of files that are read meanwhile."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._array import Array
from ..exceptions import InputError
from ..formats import DocumentStream, Fields, InputFiles, document_files, is_pattern
from ..neighbors import (
    DocumentCollection,
    add_to_collection,
    can_become_collection,
    check_folder,
    first_rows,
    is_collection,
    make_folder,
    match_collection,
    match_documents,
    runs_of,
    shingles_header,
    shingles_of,
)
from ..text import PlainShingles, StoredTexts, texts_of
from ._errors import UsageError
from ._progress import ProgressMeter

if TYPE_CHECKING:
    from .commands.dedup import Dedup


class Known(NamedTuple):
    """The most similar old document of each document: its id, where it is from, and the similarity, 0 if none is."""

    ids: list[Any]
    sources: list[str]
    similarity: Array

    @property
    def flags(self) -> Array:
        return self.similarity > 0

    def counts(self) -> dict[str, int]:
        """Return how many documents are known, and how many of them have the same shingles as an old one."""
        return {"known": int(self.flags.sum()), "known_equal": int((self.similarity == 1).sum())}


class OldDocuments:
    """What ``--against`` names: collections, and files or folders of documents."""

    def __init__(self, task: Dedup, shingles: PlainShingles, run: str) -> None:
        """Open collections, and refuse what cannot be compared with before any work is done."""
        self._task, self._shingles, self._run = task, shingles, run
        self.paths: list[str] = []
        self._header = shingles_header(shingles, "NFKC" if task.normalize else None)
        self._collections: dict[str, DocumentCollection] = {}
        self._new: str | None = None  # a collection that is to be made
        if task.append and not task.against:
            raise UsageError("--append needs a collection: name a new folder, or one that it has made, with --against.")
        outputs = [path for path in (task.output, task.clusters, task.pairs, task.report, task.matches) if path]
        files: list[str] = []
        for path in task.against or ():
            if is_collection(path):
                self._collections[path] = self._opened(path)
                self.paths.append(path)
            elif task.append and can_become_collection(path) and not is_pattern(path):
                self._new = path
                self.paths.append(path)
                check_folder(Path(path))
            elif path == "-" or not (os.path.isfile(path) or os.path.isdir(path) or is_pattern(path)):
                raise InputError(f"--against {path} cannot be read: no such file, folder or collection.")
            else:
                parts = document_files([path], outputs)
                files += parts
                self.paths += parts
        targets = [*self._collections, *([] if self._new is None else [self._new])]
        if task.append and len(targets) != 1:
            raise UsageError(
                f"--append needs one collection among what --against names, and there are {len(targets)}: name a new "
                "folder, or one that --append has made."
            )
        self._target = targets[0] if task.append else None
        self.files = InputFiles(files, outputs)

    def _opened(self, path: str) -> DocumentCollection:
        collection = DocumentCollection(path, n_jobs=self._task.threads)
        known = shingles_of(collection)
        if known != self._header:
            names = {"n_max": "--ngram", "analyzer": "--analyzer", "weight": "--weight", "normalize": "--normalize"}
            differs = [f"{option} {known[name]}" for name, option in names.items() if known[name] != self._header[name]]
            raise InputError(
                f"{path} was made with other shingles: pass {', '.join(differs) or 'those of its version'}, or make a "
                "new collection."
            )
        if self._task.threshold < collection.threshold:
            raise InputError(
                f"{path} was made for similarities from {collection.threshold:g}: pass -t {collection.threshold:g} or "
                "more, or make a new collection."
            )
        return collection

    @property
    def has_appended(self) -> bool:
        """Whether an earlier run of this command has written its output and appended the documents."""
        target = self._collections.get(self._target or "")
        return target is not None and self._run in runs_of(target)

    @property
    def are_there(self) -> bool:
        """Whether there are any, apart from a collection that is to be made."""
        return any(path != self._new for path in self.paths)

    def find(self, texts: StoredTexts, meter: ProgressMeter, room: int, threads: int) -> Known:
        """Find the most similar old document of each text."""
        records = texts.records()
        first, distinct = first_rows(np.ascontiguousarray(records["keys"]), records["norm"] == 0)
        n, threshold = len(records), self._task.threshold
        found = Known([None] * n, [""] * n, np.zeros(n))
        for number, path in enumerate(self.paths):
            if path == self._new:
                continue

            def show(part: float, number: int = number, path: str = path) -> None:
                meter.show((number + part) / len(self.paths), f"with {path}")

            show(0.0)
            if path in self._collections:
                best = match_collection(self._collections[path], texts, distinct, threshold, show)
            else:
                read = lambda path=path, show=show: self._read(path, show)  # noqa: E731
                best = match_documents(texts, distinct, read, threshold, room=room, threads=threads)
            better = np.flatnonzero(best.similarity > found.similarity[distinct])
            for i in better.tolist():
                item = int(distinct[i])
                found.ids[item], found.sources[item] = best.ids[i], path
            found.similarity[distinct[better]] = best.similarity[better]
        self.files.check()
        for item in np.flatnonzero(first != np.arange(n)).tolist():  # equal to an earlier one
            source = int(first[item])
            found.ids[item], found.sources[item] = found.ids[source], found.sources[source]
        return found._replace(similarity=found.similarity[first])

    def _read(self, path: str, show: Any) -> Iterator[tuple[Any, list[Any]]]:
        """Yield the rows of old documents, and their ids or numbers."""
        task, done = self._task, 0
        stream = DocumentStream(
            path,
            Fields(task.text, task.id),
            format=task.format if self.files.files_of(path) is None else None,
            delimiter=task.delimiter,
            most_bytes=task.document_bytes,
            batch_bytes=task.batch_bytes,
            files=self.files.files_of(path),
        )
        with stream:
            for block in stream:
                if block.faults and task.on_error == "stop":
                    first = block.faults[min(block.faults)]
                    raise InputError(first, " Fix the record, or pass --on-error skip to leave such records out.")
                given = texts_of([text or b"" for text in block.texts], "NFKC" if task.normalize else None)
                numbers = list(range(done, done + len(block.texts)))
                yield self._shingles.rows(given), block.ids if task.id is not None else numbers
                done += len(block.texts)
                show(stream.fraction or 0.0)

    def append(self, texts: StoredTexts, items: Array, ids: list[Any] | None) -> None:
        """Add documents to the collection."""
        assert self._target is not None
        target = self._collections.get(self._target)
        if target is None:
            make_folder(self._target, self._task.threshold, self._shingles, "NFKC" if self._task.normalize else None)
            target = DocumentCollection(self._target, n_jobs=self._task.threads)
        add_to_collection(target, texts, items, None if ids is None else [ids[i] for i in items.tolist()], self._run)


def run_name(task: Dedup, signature: str) -> str:
    """Return the name of a run, by which a collection knows it: what it reads, how, and where it writes to."""
    what = [signature, os.path.realpath(task.output), task.threshold, task.how]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]
