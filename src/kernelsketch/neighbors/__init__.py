"""Near neighbours under the GMM kernel: LSH tables, inverted lists or graphs find candidates; the exact kernel ranks.

======================= ======================================================================================
``_index.py``           :class:`GCWSIndex`: parameters, ``fit``, ``add``, ``remove``, ``tune``, ``save``, ``load``
``_search.py``          its queries: ``kneighbors``, ``neighbors_above``, ``query_pairs``, ``kneighbors_graph``
``_state.py``           what it has learned, as snapshots that threads share
``_vectors.py``         rows as the index stores them for re-ranking: bytes, float32 or sparse float32
``_row_ids.py``         ids and names of rows, checked
``_segments.py``        segments: rows with their codes, vectors, and LSH tables, inverted lists or graph
``_graph.py``           graphs of dense rows: how rows become bytes and in which order they are inserted
``_join.py``            the exact similarity join of sparse rows, by their rarest features or by tiles of the kernel
``_text_join.py``       the join for texts on disk
``_prefix_lists.py``    inverted lists of prefixes: a group of rows that other rows are compared with exactly
``_collection.py``      :class:`DocumentCollection`: documents on disk that new ones are compared with
``_known_texts.py``     texts on disk that are similar to a collection, or to documents that are read once
``_best.py``            the most similar document of each text so far
``_collection_file.py`` the files of its folder
``_clusters.py``        equal rows, clusters of similar pairs (single linkage, stars), and which row stays
``_near_duplicates.py`` :class:`NearDuplicates` and :func:`dedup`
``_tune.py``            the choice of parameters for a recall, and :func:`layout_for`
``_storage.py``         the schema of index files
``_folder.py``          index folders: a file per segment, and only new segments are written
``_transformer.py``     :class:`GCWSNeighborsTransformer`: neighbour graphs for scikit-learn's estimators
======================= ======================================================================================

**The way of a row through fit and add.** ``GCWSIndex.fit`` validates the rows and makes the hasher. The hasher turns
each row into ``n_components`` codes of one byte. ``_vectors`` stores the row itself for re-ranking. ``_segments.make``
sorts the rows by id and builds the LSH tables from the codes, or the inverted lists or the graph from the vectors. The
result is a segment. ``add`` makes a segment of the new rows and merges it with those before it that are not much
larger; ``remove`` sets a flag and rewrites a segment when a quarter of it is gone.

**The way of a query through kneighbors.** ``_search`` hashes the queries in batches and converts them to vectors in the
same way. The back end (``index_search``) looks up the candidates of every segment, counts their equal codes (or what
their heavy features share with the query), re-ranks the best ``n_rerank`` by the exact kernel and returns ids and
similarities, which ``_search`` brings into the shape of the method. If the segments have graphs, ``graph_search`` takes
its place in ``kneighbors``. With ``fill_missing``, queries that found too few
neighbours are searched again among all rows.

``reference/index.py`` specifies codes, candidates, similarities and the order of results; every back end agrees with
it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._clusters import first_rows as first_rows
from ._clusters import rank_of as rank_of
from ._collection import DocumentCollection as DocumentCollection
from ._collection import make_folder as make_folder
from ._collection import shingles_header as shingles_header
from ._collection_file import can_become_collection as can_become_collection
from ._collection_file import check_folder as check_folder
from ._collection_file import is_collection as is_collection
from ._join import counters_for as counters_for
from ._join import prefixes_of as prefixes_of
from ._known_texts import add_to_collection as add_to_collection
from ._known_texts import match_collection as match_collection
from ._known_texts import match_documents as match_documents
from ._known_texts import runs_of as runs_of
from ._known_texts import shingles_of as shingles_of
from ._text_join import TextClusters as TextClusters
from ._text_join import join_texts as join_texts

if TYPE_CHECKING:
    from ._folder import index_list as index_list
    from ._index import GCWSIndex as GCWSIndex
    from ._near_duplicates import SHINGLE_WORDS as SHINGLE_WORDS
    from ._near_duplicates import NearDuplicates as NearDuplicates
    from ._near_duplicates import dedup as dedup
    from ._storage import INDEX_FORMAT as INDEX_FORMAT
    from ._storage import INDEX_SCHEMA as INDEX_SCHEMA
    from ._transformer import GCWSNeighborsTransformer as GCWSNeighborsTransformer
    from ._tune import layout_for as layout_for

_HOMES = {  # of names that need scikit-learn, which takes a second to import, and the join of texts does not need
    "_folder": ("index_list",),
    "_index": ("GCWSIndex",),
    "_near_duplicates": ("SHINGLE_WORDS", "NearDuplicates", "dedup"),
    "_storage": ("INDEX_FORMAT", "INDEX_SCHEMA"),
    "_transformer": ("GCWSNeighborsTransformer",),
    "_tune": ("layout_for",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
