"""StoredTexts: texts in a folder on disk, in the order in which they came, with what a join needs of each in memory.

An interrupted run can be continued: ``checkpoint`` writes how far the folder is valid, and opening it again with the
same signature goes back to that point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._array import Array
from ..backends import CsrRows, processor_for
from ..storage import DISK_FULL, WorkFolder
from ._plain_shingles import PlainShingles
from ._texts import Texts

RECORD = np.dtype([("end", "<i8"), ("keys", "<u8", 2), ("norm", "<f8"), ("size", "<i8"), ("priority", "<f8")])
TEXTS, RECORDS, STATE = "texts.bin", "records.bin", "state.json"
_NAMES = r"texts\.bin|records\.bin|state\.json|prefixes-\d+\.bin"  # the last are those of a join


class StoredTexts:
    """Texts on disk, and a record of each: where it ends, its keys, its norm, its features and its priority.

    Parameters
    ----------
    folder : Path
        Where to store them. It is made if it is not there; a folder that is not one of ours is refused.
    signature : str
        What the texts come from and how they are read: texts with another signature are removed.
    shingles : PlainShingles
        How a text becomes a row.
    """

    def __init__(self, folder: Path, signature: str, shingles: PlainShingles) -> None:
        self.folder, self._signature, self._shingles = folder, signature, shingles
        self._reader: IO[bytes] | None = None
        self.extra: dict[str, Any] = {}  # what a caller wants to find again after an interruption
        with self.errors_named():
            self.files = WorkFolder(folder, _NAMES)
            try:
                self._begin()
            except BaseException:
                self.files.close()
                raise

    def _begin(self) -> None:
        """Open the files of the folder where they are valid, or begin with empty ones."""
        found = self._valid()
        self.files.clear(keep=() if found is None else (TEXTS, RECORDS, STATE))
        opened = self.files.create if found is None else self.files.open
        self._texts, self._file = opened(TEXTS), opened(RECORDS)
        records, self.extra = (np.zeros(0, RECORD), {}) if found is None else found
        self._parts, self._bytes = [records], int(records["end"][-1]) if len(records) else 0
        self.resumed = len(records)
        self.can_continue = self.resumed > 0  # whether another run could begin with what is stored
        self._texts.truncate(self._bytes)
        self._file.truncate(records.nbytes)
        self._texts.seek(self._bytes)
        self._file.seek(records.nbytes)

    def _valid(self) -> tuple[Array, dict[str, Any]] | None:
        """Return the records of the texts of the folder that are valid, and what the caller stored with them."""
        try:
            with self.files.open(STATE) as file:
                state = json.load(file)
            count, size = int(state["count"]), int(state["bytes"])
            if state["signature"] != self._signature or count < 1:
                return None
            with self.files.open(RECORDS) as file:
                records = np.frombuffer(file.read(count * RECORD.itemsize), RECORD)
            with self.files.open(TEXTS) as file:
                stored = file.seek(0, 2)
            ends = np.concatenate([[0], records["end"]])
            if len(records) < count or stored < size or ends[-1] != size or (np.diff(ends) < 0).any():
                return None
            return records, dict(state["extra"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def append(self, texts: Texts, priority: Any) -> CsrRows:
        """Store texts; return their rows."""
        rows = self._shingles.rows(texts)
        records = np.zeros(len(rows), RECORD)
        records["end"] = texts.ends[1:] + self._bytes
        records["keys"] = processor_for(threads=self._shingles.threads).join_keys(rows)
        records["norm"], records["size"] = rows.norms(), np.diff(rows.indptr)
        records["priority"] = priority
        with self.errors_named():
            self._texts.write(texts.text.data)
            self._file.write(records.tobytes())
            if self._reader is not None:
                self._texts.flush()
        self._parts.append(records)
        self._bytes += len(texts.text)
        return rows

    def checkpoint(self) -> None:
        """Make everything that is stored so far survive an interruption."""
        count = sum(map(len, self._parts))
        state = {"signature": self._signature, "count": count, "bytes": self._bytes, "extra": self.extra}
        with self.errors_named():
            self._texts.flush()
            self._file.flush()
            self.files.write(STATE, json.dumps(state).encode())
        self.can_continue = count > 0

    def records(self) -> Array:
        """Return the records of all texts."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    def sizes(self) -> Array:
        """Return the bytes of each text."""
        return np.diff(np.concatenate([[0], self.records()["end"]]))

    def text(self, item: int) -> bytes:
        """Return a text."""
        begin, end = self._place(np.array([item]))
        return self._bytes_at(int(begin[0]), int(end[0]))

    def rows(self, items: Array) -> CsrRows:
        """Return the rows of some texts, made again."""
        return self._shingles.rows(self.some(items))

    def some(self, items: Array) -> Texts:
        """Return some texts."""
        begins, ends = self._place(items)
        first, last = int(begins.min(initial=self._bytes)), int(ends.max(initial=0))
        places = zip(begins.tolist(), ends.tolist(), strict=True)
        if last - first <= 2 * int((ends - begins).sum()):  # most texts of a stretch: one read
            stretch = self._bytes_at(first, last)
            parts = [stretch[begin - first : end - first] for begin, end in places]
        else:
            parts = [self._bytes_at(begin, end) for begin, end in places]
        return Texts.of(parts)

    def _place(self, items: Array) -> tuple[Array, Array]:
        ends = self.records()["end"]
        return np.where(items == 0, 0, ends[items - 1]), ends[items]

    def _bytes_at(self, begin: int, end: int) -> bytes:
        """Read from the file; a map of it would count as memory of the process."""
        if begin >= end:
            return b""
        if self._reader is None:
            self._texts.flush()
            self._reader = self.files.open(TEXTS)
        self._reader.seek(begin)
        return self._reader.read(end - begin)

    def close(self, *, remove: bool) -> None:
        """Close the files, and remove the folder unless the work is to be continued later."""
        for file in filter(None, (self._texts, self._file, self._reader)):
            with suppress(OSError):  # a full disk, which was told before; the state does not count these bytes
                file.close()
        self.files.delete() if remove else self.files.close()

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        """Name the folder in errors of writing."""
        try:
            yield
        except OSError as error:
            advice = " Free some space, or choose another folder for the output." if error.errno in DISK_FULL else ""
            what = f"{error.strerror or error}: the texts cannot be stored there, and no output was written.{advice}"
            raise OSError(error.errno, what, str(self.folder)) from error
