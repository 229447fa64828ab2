"""scikit-learn transformers, one private file each."""

from ._nystroem import GMMNystroem

__all__ = ["GMMNystroem"]
