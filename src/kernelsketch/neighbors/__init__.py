"""Search for near neighbours under the GMM kernel: rows that share a few samples of GCWS, compared exactly."""

from ._index import GCWSIndex
from ._transformer import GCWSNeighborsTransformer
from ._tune import tables_for

__all__ = ["GCWSIndex", "GCWSNeighborsTransformer", "tables_for"]
