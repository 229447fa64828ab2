"""Linear models that learn on codes: the one-hot matrix is never made.

A loss (``native/include/kernelsketch/losses.h``) and a solver make a model: ``_dual`` solves the problem to a duality
gap, ``_online`` makes one pass over a stream. The estimators join them with the hash.
"""

from ._alphabet import stride_of, used_codes
from ._classifier import GCWSClassifier, resume, stream_state
from ._cv import GCWSClassifierCV
from ._load_model import load_model
from ._one_vs_rest import probabilities_of
from ._online import OnlineState
from ._regressor import GCWSRegressor
from ._spilled import MemoryBoundError

__all__ = [
    "GCWSClassifier",
    "GCWSClassifierCV",
    "GCWSRegressor",
    "MemoryBoundError",
    "OnlineState",
    "load_model",
    "probabilities_of",
    "resume",
    "stream_state",
    "stride_of",
    "used_codes",
]
