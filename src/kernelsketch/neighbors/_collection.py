"""DocumentCollection: documents on disk that new ones are compared with, exactly and without reading them again."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .._array import Array
from .._validation import check_n_jobs
from ..backends import SHINGLE_VERSION, CsrRows, processor_for
from ..exceptions import InputError, InputTypeError, Setting
from ..storage import locked
from ..text import PlainShingles, Texts, texts_of
from ._best import Best
from ._clusters import first_rows
from ._collection_file import (
    LOCK,
    Listed,
    Segment,
    check_folder,
    is_collection,
    read_collection,
    remove_files,
    write_list,
    write_segment,
)
from ._prefix_lists import Group, PrefixLists, similar_to_group
from ._text_join import blocks_of

if TYPE_CHECKING:
    from ..text import Shingles

MOST_BYTES = 1 << 29  # of texts in a segment that is made of smaller ones
GATHERED_BYTES = 1 << 27  # of texts that become a segment together
SHINGLE_WORDS = 5


class Matches(NamedTuple):
    """The most similar document of each text: its id, None if there is none, and the similarity, 0 if there is none."""

    ids: list[Any]
    similarity: Array


class DocumentCollection:
    """Documents in a folder, with which new texts are compared exactly.

    The most similar document of a text is found among all documents that reach the threshold: no pair is missed
    (``kernelsketch dedup`` finds pairs in the same way). The folder keeps the texts and lists of their rarest shingles,
    and a process maps them, so that opening a collection reads little. Threads can share one: :meth:`match` sees the
    documents as they are when it begins. Several processes can read a collection while one changes it.

    :meth:`create` makes a new one.

    Parameters
    ----------
    path : str or path
        The folder of a collection, which is opened.
    n_jobs : int, default=None
        Number of threads. None is 1, -1 uses all processors. Results do not depend on it.

    Attributes
    ----------
    path : pathlib.Path
        The folder.
    threshold : float
        Smallest similarity that can be asked for.

    See Also
    --------
    dedup : Near-duplicates among texts in memory.
    GCWSIndex : An index of texts or rows that also finds neighbours of lower similarity.

    Examples
    --------
    >>> import tempfile
    >>> from kernelsketch import DocumentCollection
    >>> from kernelsketch.text import Shingles
    >>> folder = tempfile.mkdtemp()
    >>> known = DocumentCollection.create(f"{folder}/known", threshold=0.5, shingles=Shingles(2))
    >>> known.add(["The quick brown fox jumps over the lazy dog", "Something else"], ids=["fox", "other"])
    >>> ids, similarity = known.match(["the quick brown fox jumps over a lazy dog", "A third text"])
    >>> ids, similarity.round(2)
    (['fox', None], array([0.6, 0. ]))
    >>> known.remove(["fox"]), len(known)
    (1, 1)
    """

    def __init__(self, path: Any, *, n_jobs: int | None = None) -> None:
        self.path, self._threads = Path(path), check_n_jobs(n_jobs)
        self._listed = read_collection(self.path)
        self._lock = threading.Lock()  # of changes

    @classmethod
    def create(
        cls, path: Any, *, threshold: float = 0.8, shingles: Shingles | None = None, n_jobs: int | None = None
    ) -> Self:
        """Make an empty collection.

        Parameters
        ----------
        path : str or path
            A folder that is not there yet, or an empty one.
        threshold : float, default=0.8
            Smallest similarity that will be asked for. A lower one takes more space.
        shingles : Shingles, default=None
            How texts become rows; ``weight="idf"`` is not possible. None is ``Shingles(5)``, runs of five words.
        n_jobs : int, default=None
            Number of threads. None is 1, -1 uses all processors. Results do not depend on it.

        Returns
        -------
        collection : DocumentCollection
        """
        check_n_jobs(n_jobs)  # before there is a folder
        if shingles is None:
            make_folder(path, threshold, PlainShingles(SHINGLE_WORDS, SHINGLE_WORDS), None)
            return cls(path, n_jobs=n_jobs)
        if not hasattr(shingles, "_plain"):
            raise InputTypeError(Setting("shingles", shingles), " must be kernelsketch.text.Shingles, or None.")
        shingles._validate_params()
        if shingles.weight == "idf":
            raise InputError(
                Setting("shingles"), ' has weight="idf", which would change with every new document: pass "count".'
            )
        make_folder(path, threshold, shingles._plain(), shingles.normalize)
        return cls(path, n_jobs=n_jobs)

    @property
    def threshold(self) -> float:
        return float(self._listed.header["threshold"])

    def __len__(self) -> int:
        """Return the number of documents."""
        return sum(segment.n - len(segment.removed) for segment in self._listed.segments)

    def __repr__(self) -> str:
        return f"DocumentCollection({str(self.path)!r}, {len(self):,} documents, threshold={self.threshold:g})"

    def match(self, X: Any, *, threshold: float | None = None) -> Matches:
        """Find the most similar document of each text.

        Parameters
        ----------
        X : list of str or bytes
            Texts.
        threshold : float, default=None
            Smallest similarity, at least that of the collection. None is that of the collection.

        Returns
        -------
        ids : list
            The id of the most similar document of each text, of several that are equally similar the first; None where
            no document reaches the threshold.
        similarity : float64 array of shape (n_texts,)
            The weighted Jaccard similarity of the two, 0 where no document reaches the threshold.
        """
        least, listed = self._least(threshold), self._listed
        texts = texts_of(X, listed.header["shingles"]["normalize"])
        found = Best(len(texts.ends) - 1)
        for part in blocks_of(np.diff(texts.ends)):
            found.update(
                self._best(listed, self._plain.rows(part_of(texts, part)), least), np.arange(part.start, part.stop)
            )
        return Matches(found.ids, found.similarity)

    def add(self, X: Any, *, ids: Iterable[Any] | None = None) -> None:
        """Add documents, which are on the disk when this returns.

        Parameters
        ----------
        X : list of str or bytes
            Texts.
        ids : sequence of str or int, default=None
            Their ids, which need not be unique. None numbers all documents of the collection from 0.
        """
        texts = texts_of(X, self._listed.header["shingles"]["normalize"])
        named = None if ids is None else _checked_ids(ids)
        if named is not None and len(named) != len(texts.ends) - 1:
            raise InputError(f"ids has {len(named)} values for {len(texts.ends) - 1} texts: pass one per text.")
        self._add([(texts, named)])

    def remove(self, ids: Iterable[Any]) -> int:
        """Remove all documents with these ids, and return how many there were.

        Their texts leave the disk when a later addition merges their segment with others, or at once if a quarter of
        the segment is removed.

        Parameters
        ----------
        ids : sequence of str or int
            The ids.

        Returns
        -------
        n_removed : int
        """
        wanted = set(map(_encoded, _checked_ids(ids)))
        with self._lock, locked(self.path / LOCK, _busy(self.path)):
            listed, count = self._newest(), 0
            after: list[Segment] = []
            for segment in listed.segments:
                content = segment.ids.tobytes()
                places = pairwise(segment.id_ends.tolist())
                gone = np.array([i for i, (a, b) in enumerate(places) if content[a:b] in wanted], np.int64)
                gone = np.setdiff1d(gone, segment.removed, assume_unique=True)
                count += len(gone)
                segment = segment.without(np.union1d(segment.removed, gone))
                if 4 * len(segment.removed) > segment.n:
                    after += map(self._on_disk, self._merged([segment]))
                else:
                    after.append(segment)
            if count:
                self._commit(listed, after, 0, [])
            return count

    # How documents are found.

    @property
    def _plain(self) -> PlainShingles:
        given = self._listed.header["shingles"]
        names = ("n_min", "n_max", "analyzer", "lowercase", "weight")
        return PlainShingles(**{name: given[name] for name in names}, threads=self._threads)

    def _least(self, threshold: Any) -> float:
        """Return the similarity that is asked for, after a check of it."""
        if threshold is None:
            return self.threshold
        is_number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
        if not is_number or not self.threshold <= threshold <= 1:
            raise InputError(
                Setting("threshold", threshold),
                f" must be from {self.threshold:g}, for which the collection was made, to 1: make a new collection for "
                "a lower one.",
            )
        return float(threshold)

    def _best(self, listed: Listed, rows: CsrRows, least: float) -> Best:
        found = Best(len(rows))
        for segment in listed.segments:
            try:
                self._update(found, segment, rows, least)
            except IndexError:
                path = self.path / segment.file
                raise InputError(f"{path} is damaged: its lists name documents that it does not have.") from None
        return found

    def _update(self, found: Best, segment: Segment, rows: CsrRows, least: float) -> None:
        def rows_of(needed: Array) -> Iterator[tuple[slice, CsrRows]]:
            sizes = segment.ends[needed + 1] - segment.ends[needed]
            for part in blocks_of(sizes):
                yield part, self._plain.rows(_texts_at(segment, needed[part]))

        for pairs, similarity in similar_to_group(segment.lists, segment.norms, rows_of, rows, least, self._threads):
            there = pairs[:, 1] if segment.alive is None else segment.alive[pairs[:, 1]]
            kept = there >= 0
            found.take(pairs[kept, 0], there[kept], similarity[kept], lambda row: _id_of(segment, row))

    # How documents are added.

    def _add(self, blocks: Iterable[tuple[Texts, list[Any] | None]], run: str = "") -> None:
        """Add blocks of documents, whose ids are JSON values; ``run`` is the name of this addition."""
        with self._lock, locked(self.path / LOCK, _busy(self.path)):
            listed = self._newest()
            remove_files(self.path, keep={segment.file for segment in listed.segments})  # of a killed process
            segments, first = list(listed.segments), int(listed.header["n_added"])
            added = 0
            for texts, ids in gathered(blocks):
                n = len(texts.ends) - 1
                ids = list(range(first + added, first + added + n)) if ids is None else ids
                made = self._made(texts, Texts.of([_encoded(one) for one in ids]))
                *segments, last = self._appended(segments, made)
                segments = [*map(self._on_disk, segments), last]
                added += n
            self._commit(listed, [*map(self._on_disk, segments)], added, [run] if run else [])

    def _newest(self) -> Listed:
        """Return the collection as it is on the disk, where another process may have changed it."""
        listed = read_collection(self.path)
        if any(listed.header[name] != self._listed.header[name] for name in ("threshold", "shingles")):
            raise InputError(f"{self.path} has become another collection since it was opened: open it again.")
        return self._listed if listed.checksum == self._listed.checksum else listed

    def _commit(self, listed: Listed, segments: list[Segment], added: int, runs: list[str]) -> None:
        header = {**listed.header, "n_added": listed.header["n_added"] + added}
        every = [*listed.runs, *runs]
        checksum = write_list(self.path, header, segments, every)
        self._listed = Listed(header, tuple(segments), every, checksum)

    def _on_disk(self, segment: Segment) -> Segment:
        """Return a segment that has a file."""
        return segment if segment.file else write_segment(self.path, segment, self._listed.header)

    def _appended(self, segments: list[Segment], new: Segment) -> list[Segment]:
        """Return the segments with a new one, which is merged with those before it that are not much larger."""
        start, size = len(segments), len(new.texts)
        while start > 0 and len(segments[start - 1].texts) <= 2 * size:
            if len(segments[start - 1].texts) + size > MOST_BYTES:
                break
            start -= 1
            size += len(segments[start].texts)
        return [*segments[:start], *self._merged([*segments[start:], new])]

    def _merged(self, segments: Sequence[Segment]) -> list[Segment]:
        """Return segments as one without removed documents, or none if none stay."""
        if len(segments) == 1 and not len(segments[0].removed):
            return list(segments)
        kept = [np.setdiff1d(np.arange(segment.n), segment.removed) for segment in segments]
        if not sum(map(len, kept)):
            return []
        texts = _joined([_texts_at(segment, rows) for segment, rows in zip(segments, kept, strict=True)])
        ids = _joined([_ids_at(segment, rows) for segment, rows in zip(segments, kept, strict=True)])
        return [self._made(texts, ids)]

    def _made(self, texts: Texts, ids: Texts) -> Segment:
        """Make a segment of documents."""
        parts, plain = blocks_of(np.diff(texts.ends)), self._plain
        keys, norms, nonzeros = [], [], 0
        join = processor_for(threads=self._threads)
        for part in parts:
            rows = plain.rows(part_of(texts, part))
            keys.append(join.join_keys(rows))
            norms.append(rows.norms())
            nonzeros += len(rows.data)
        norm = np.concatenate(norms)
        first, distinct = first_rows(np.concatenate(keys), norm == 0)

        def blocks() -> Iterator[Group]:
            for part in parts:
                mine = distinct[slice(*np.searchsorted(distinct, [part.start, part.stop]).tolist())]
                rows = plain.rows(part_of(texts, part))
                yield Group(rows if len(mine) == len(rows) else rows.take(mine - part.start), mine)

        lists = PrefixLists.of(blocks, nonzeros, self.threshold, self._threads)
        none = np.zeros(0, np.int64)
        return Segment(texts.text, texts.ends, ids.text, ids.ends, first.astype(np.uint32), norm, lists, none)


def shingles_header(shingles: PlainShingles, normalize: str | None) -> dict[str, Any]:
    """Return how texts become rows, as the files of a collection say it."""
    names = ("n_min", "n_max", "analyzer", "lowercase", "weight")
    return {"version": SHINGLE_VERSION, **{name: getattr(shingles, name) for name in names}, "normalize": normalize}


def make_folder(path: Any, threshold: Any, shingles: PlainShingles, normalize: str | None) -> None:
    """Make the folder of an empty collection."""
    is_number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
    if not is_number or not 0 < threshold <= 1:
        raise InputError(Setting("threshold", threshold), " must be a number above 0 and at most 1.")
    header = {"threshold": float(threshold), "shingles": shingles_header(shingles, normalize), "n_added": 0}
    folder = Path(path)
    check_folder(folder)
    folder.mkdir(exist_ok=True)
    with locked(folder / LOCK, _busy(folder)):
        if is_collection(folder):  # perhaps that of another process, since a moment ago
            raise InputError(f"{folder} has a collection already: open it with DocumentCollection(path).")
        write_list(folder, header, [], [])


def gathered(blocks: Iterable[tuple[Texts, list[Any] | None]]) -> Iterator[tuple[Texts, list[Any] | None]]:
    """Yield blocks of documents together, as many as a segment begins with."""
    parts: list[tuple[Texts, list[Any] | None]] = []
    for block in blocks:
        parts.append(block)
        if sum(len(texts.text) for texts, _ in parts) >= GATHERED_BYTES:
            yield _together(parts)
            parts = []
    if sum(len(texts.ends) - 1 for texts, _ in parts):
        yield _together(parts)


def _together(parts: list[tuple[Texts, list[Any] | None]]) -> tuple[Texts, list[Any] | None]:
    ids = None if parts[0][1] is None else [one for _, some in parts for one in some or ()]
    return _joined([texts for texts, _ in parts]), ids


def part_of(texts: Texts, part: slice) -> Texts:
    """Return successive texts."""
    ends = texts.ends[part.start : part.stop + 1]
    return Texts(texts.text[ends[0] : ends[-1]], ends - ends[0])


def _texts_at(segment: Segment, rows: Array) -> Texts:
    return _taken(segment.texts, segment.ends, rows)


def _ids_at(segment: Segment, rows: Array) -> Texts:
    return _taken(segment.ids, segment.id_ends, rows)


def _taken(content: Array, ends: Array, rows: Array) -> Texts:
    places = zip(ends[rows].tolist(), ends[rows + 1].tolist(), strict=True)
    return Texts.of([content[begin:end].tobytes() for begin, end in places])


def _joined(parts: list[Texts]) -> Texts:
    sizes = np.concatenate([[0], *(np.diff(part.ends) for part in parts)])
    return Texts(np.concatenate([part.text for part in parts]), np.cumsum(sizes))


def _id_of(segment: Segment, row: int) -> Any:
    begin, end = segment.id_ends[row], segment.id_ends[row + 1]
    return json.loads(segment.ids[begin:end].tobytes())


def _encoded(one: Any) -> bytes:
    return json.dumps(one, ensure_ascii=False, default=str).encode(
        "utf-8", "surrogatepass"
    )  # dates of Parquet are text


def _checked_ids(ids: Iterable[Any]) -> list[Any]:
    if isinstance(ids, (str, bytes)):
        raise InputTypeError(Setting("ids", ids), " must be a sequence of ids: pass [id] for a single one.")
    return [_checked_id(one, row) for row, one in enumerate(ids)]


def _checked_id(one: Any, row: int) -> Any:
    if isinstance(one, Integral) and not isinstance(one, bool):
        return int(one)
    if isinstance(one, str):
        return str(one)
    raise InputTypeError(
        Setting("ids"), f" must hold strings or whole numbers, but ids[{row}] is {one!r:.60}: pass str(value)."
    )


def _busy(folder: Path) -> str:
    return f"{folder} is being changed by another process: try again when it has ended."
