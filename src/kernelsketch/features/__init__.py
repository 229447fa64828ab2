"""scikit-learn transformers, one private file each."""

from ._fourier import NRFF, RFF
from ._gcws import GCWS
from ._nystroem import GMMNystroem

__all__ = ["GCWS", "NRFF", "RFF", "GMMNystroem"]
