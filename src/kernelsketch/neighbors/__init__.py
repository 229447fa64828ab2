"""Search for near neighbours under the GMM kernel: rows that share a few samples of GCWS, compared exactly."""

from ._copies import find_copies
from ._index import GCWSIndex
from ._storage import INDEX_FORMAT
from ._transformer import GCWSNeighborsTransformer
from ._tune import tables_for

__all__ = ["INDEX_FORMAT", "GCWSIndex", "GCWSNeighborsTransformer", "find_copies", "tables_for"]
