"""PrefixEntries: the features of prefixes with the texts that have them, in memory or in parts on disk.

All entries of a feature are in one part, so parts can be joined one after the other. Each part is read once, and the
texts are turned into shingles once, however many parts there are.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from .._array import Array
from ..text import StoredTexts

ENTRY = np.dtype([("feature", "<i8"), ("item", "<i8")])
NAME = "prefixes-{}.bin"


class PrefixEntries:
    """Entries in the order in which they are added, in so many parts; one part stays in memory."""

    def __init__(self, texts: StoredTexts, parts: int) -> None:
        self._texts, self._parts = texts, parts
        self._kept = [np.zeros(0, ENTRY)]
        self._files: list[IO[bytes]] = []
        if parts > 1:
            with texts.errors_named():
                self._files = [texts.files.create(NAME.format(part)) for part in range(parts)]

    def add(self, features: Array, items: Array) -> None:
        """Add entries."""
        entries = np.empty(len(features), ENTRY)
        entries["feature"], entries["item"] = features, items
        if self._parts == 1:
            self._kept.append(entries)
            return
        part = (features >> 32) % self._parts
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(self._parts + 1))
        entries = entries[order]
        with self._texts.errors_named():
            for file, begin, end in zip(self._files, ends[:-1], ends[1:], strict=True):
                file.write(entries[begin:end].tobytes())

    def take(self, part: int) -> tuple[Array, Array]:
        """Return the features and the items of a part, which is forgotten."""
        if self._parts == 1:
            found = np.concatenate(self._kept)
            self._kept = []
        else:
            with self._texts.errors_named(), self._files[part] as file:
                file.flush()
                file.seek(0)
                found = np.fromfile(file, ENTRY)
            self._texts.files.remove(NAME.format(part))
        return found["feature"].copy(), found["item"].copy()

    def close(self) -> None:
        """Close files that have not been taken; they go with the folder of the texts."""
        for file in self._files:
            file.close()
