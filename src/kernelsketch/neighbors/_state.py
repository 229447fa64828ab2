"""What an index has learned, and how threads share it.

Arrays of an index are replaced, never changed. A query searches a snapshot: an index of its own with all attributes of
one moment. ``fit``, ``add``, ``remove``, ``widen`` and a save to a folder make a snapshot with their changes, whose
attributes are then put in place together. Those that start from what is there do so one after the other.

There are two kinds of locks. A moment's lock, one for all indexes, is held while attributes are copied or put in place,
so that no snapshot has attributes of two moments, not even in a process that is forked meanwhile. A turn's lock, one
per index, is held from a snapshot to the change that is made of it. Neither is an attribute, so copies and pickles have
none.
"""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn, Self
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._estimator import ValidatedOnce
from .._hash_parameters import check_hash, seed_of
from .._rows import learned_center
from .._validation import check_n_jobs, check_positive_int
from ..backends import MOST_CODES, Rows, Segment, on_host
from ..exceptions import InputError, Setting
from ..features import GCWS
from ..hashing import Hasher
from ..storage import check_mapped
from ..text import Shingles
from . import _segments, _vectors
from ._folder import FolderState
from ._segments import TableLayout

_moment = threading.RLock()  # not a plain lock: a signal handler or a destructor may use an index as well
_turns: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def _after_fork() -> None:
    _turns.clear()  # threads that held one are not in this process
    _moment.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_moment.acquire, after_in_parent=_moment.release, after_in_child=_after_fork)


class IndexState(ValidatedOnce, BaseEstimator):  # type: ignore[misc]
    """The attributes of :class:`GCWSIndex`, with their checks and snapshots."""

    n_features_in_: int
    feature_names_in_: Array
    _shingles: Shingles
    _hasher: Hasher
    _segments: list[Segment]
    _n_rows: int  # those that are not removed
    _vector_transform: _vectors.VectorTransform | None  # None without stored vectors
    _layout: TableLayout
    _folder_state: FolderState | None = None  # where its segments have files, if it was loaded from a folder or saved
    _threads: int  # only in snapshots that are ready

    @property
    def hasher_(self) -> GCWS:
        """The hash of the index, as a fitted transformer."""
        index = self._fitted()
        return GCWS.from_hasher(index._hasher, index.n_features_in_, n_jobs=index.n_jobs)

    @property
    def ids_(self) -> Array:
        """Ids of the indexed rows, ascending."""
        index = self._fitted()
        index._check_mapped()
        return _segments.ids_of(index._segments)

    @property
    def has_names_(self) -> bool:
        """Whether some of the indexed rows have names."""
        return any(s.names is not None for s in self._fitted()._segments)

    def names_of(self, ids: Any) -> list[str]:
        """Return the names of indexed rows; a row that was added without a name has the text of its id.

        Parameters
        ----------
        ids : int64 array of shape (n,)
            Ids of indexed rows, for example of neighbours. An id may come more than once.

        Returns
        -------
        names : list of str
            One name per id.
        """
        index = self._fitted()
        wanted, places = np.unique(np.asarray(on_host(ids), np.int64), return_inverse=True)
        segment, row = _segments.find(index._segments, wanted)
        if (segment < 0).any():
            raise InputError(
                Setting("ids"), f": {wanted[np.argmin(segment)]} is not in the index. index.ids_ lists those that are."
            )
        parts = [index._segments[number].names for number in segment.tolist()]
        found = ["" if names is None else names[at] for names, at in zip(parts, row.tolist(), strict=True)]
        shown = [name or str(number) for name, number in zip(found, wanted.tolist(), strict=True)]
        return [shown[place] for place in places.ravel().tolist()]

    @property
    def n_samples_fit_(self) -> int:
        """Number of indexed rows."""
        return self._fitted()._n_rows

    @property
    def shingles_(self) -> Shingles:
        """How texts become rows, fitted."""
        index = self._fitted()
        if index.shingles is None:
            raise AttributeError("shingles_ is there only if the index was built with shingles.")
        return index._shingles

    @property
    def vocabulary_size_(self) -> int | None:
        """Number of different shingles of the texts; None without stored rows."""
        index = self._fitted()
        if index.shingles is None:
            raise AttributeError("vocabulary_size_ is there only if the index was built with shingles.")
        vectors = [s.vectors for s in index._segments if s.vectors is not None]
        return _vectors.vocabulary_size(vectors) if vectors else None

    @property
    def nbytes_(self) -> int:
        """Memory of the index in bytes, including the stored vectors."""
        segments = self._fitted()._segments
        return sum(_segments.nbytes(s) + _vectors.nbytes(s.vectors) for s in segments)

    @property
    def bytes_per_row_(self) -> float:
        """Memory per row in bytes, without the stored vectors."""
        index = self._fitted()
        return sum(map(_segments.nbytes, index._segments)) / max(1, index._n_rows)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_segments")

    def __getstate__(self) -> Any:
        index = self._snapshot()
        index._check_mapped()
        return super(IndexState, index).__getstate__()

    def _snapshot(self, **changes: Any) -> Self:
        """Return the index of this moment as another object with the same arrays, apart from these changes."""
        made = object.__new__(type(self))
        with _moment:
            made.__dict__.update(self.__dict__, **changes)
        return made

    def _with_segments(self, segments: list[Segment]) -> Self:
        return self._snapshot(
            _segments=segments, _n_rows=sum(int((s.flags != _segments.REMOVED).sum()) for s in segments)
        )

    def _turn(self) -> Any:
        """Return the lock that a thread holds while it makes a change of what the index holds."""
        with _moment:
            return _turns.setdefault(self, threading.RLock())

    def _become(self, changed: IndexState) -> None:
        """Take over what a changed snapshot has learned. A thread that changes an earlier state has the turn."""
        with _moment:
            before = self.__dict__.copy()
            for name in LEARNED:
                if name in changed.__dict__:
                    self.__dict__[name] = changed.__dict__[name]
                else:
                    self.__dict__.pop(name, None)
        del before  # the old arrays, no earlier than here: what their destructors run must not see half a change

    def _fitted(self) -> Self:
        """Return a snapshot of an index that is built."""
        index = self._snapshot()
        if "_segments" not in index.__dict__:
            check_is_fitted(index)  # raises an error
        return index

    def _ready(self) -> Self:
        """Return a snapshot of an index that is built and whose parameters agree with what was built.

        The snapshot is ready: it returns itself.
        """
        if "_threads" in self.__dict__:
            return self
        index = self._fitted()
        index._validate_params()
        self._valid_parameters = index._valid_parameters
        index._threads = check_n_jobs(index.n_jobs)
        index._check_mapped()
        index._check_parameters()
        return index

    def _check_parameters(self) -> None:
        n_tables, hashes_per_table, heavy_fraction, graph_degree = self._layout
        built = self._hasher.n_components
        if self.hashes_per_table != hashes_per_table:
            self._refuse("hashes_per_table", f"cannot be used: the index was built with {hashes_per_table}. Fit again.")
        if self.store_vectors != (self._vector_transform is not None):
            self._refuse("store_vectors", "was set after the index was built: fit again.")
        if (self.heavy_fraction is None) != (heavy_fraction == 0) or (self.heavy_fraction or 0) > heavy_fraction:
            limit = " Queries can use a smaller value only." if self.heavy_fraction and heavy_fraction else ""
            why = f"cannot be used: the index was built with {heavy_fraction or None}.{limit} Build it again."
            self._refuse("heavy_fraction", why)
        if (self.graph_degree or 0) != graph_degree:
            how = f"with {graph_degree} links per row" if graph_degree else "without a graph"
            self._refuse("graph_degree", f"cannot be used: the index was built {how}. Fit again.")
        if self._n_codes(n_tables) != built:
            self._refuse("n_components", f"cannot be used: the index was built with {built} hashes per row. Fit again.")
        if heavy_fraction == 0 and graph_degree == 0 and self.n_tables > n_tables:
            self._refuse("n_tables", f"is more than the {n_tables} tables that were built: fit again.")

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise InputError(Setting(name, getattr(self, name)), " " + why)

    def _layout_of_parameters(self) -> TableLayout:
        heavy_fraction = float(self.heavy_fraction or 0)
        graph_degree = int(self.graph_degree or 0)
        n_tables = 0 if heavy_fraction or graph_degree else int(self.n_tables)
        return TableLayout(n_tables, int(self.hashes_per_table), heavy_fraction, graph_degree)

    def _n_codes(self, n_tables: int) -> int:
        """Return the number of codes per row. Inverted lists and graphs need none, and a hasher has at least 1."""
        if self.heavy_fraction or self.graph_degree:
            return 1
        count = max(int(self.n_components), n_tables * int(self.hashes_per_table))
        if count > MOST_CODES:
            raise InputError(
                Setting("n_tables", n_tables),
                " with ",
                Setting("hashes_per_table", self.hashes_per_table),
                f" needs {count} hashes per row, and there can be {MOST_CODES}: use fewer tables or fewer hashes per "
                "table.",
            )
        return count

    def _hasher_for(self, rows: Rows, n_components: int) -> Hasher:
        check_hash(self.p, None, 0)
        center = learned_center(self.center, rows)
        return Hasher(n_components, seed_of(self.random_state), p=float(self.p), center=center)

    def _count_of(self, n_neighbors: Any, n_rows: int, own: bool) -> int:
        """Return the number of neighbours, if there are so many rows. ``own``: the queries are these rows."""
        k = check_positive_int(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors")
        if k > n_rows - own:
            others = " besides the query itself" if own else ""
            raise InputError(
                Setting("n_neighbors", k), f" is more than the {n_rows - own} rows of the index{others}: ask for fewer."
            )
        return k

    def _check_mapped(self) -> None:
        """Refuse to read a mapped file that has become shorter: reading beyond its end would kill the process."""
        for segment in getattr(self, "_segments", ()):
            check_mapped(segment.codes)


LEARNED = [name for name in IndexState.__annotations__ if name != "_threads"]  # attributes that change together
