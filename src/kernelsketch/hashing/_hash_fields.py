"""The fields and the tensor that describe the hash in every file: seed, parameters and center."""

from __future__ import annotations

from .._validation import MOST_POWER
from ..backends import HASH_VERSION
from ..storage import OPTIONAL, Field, Tensor

HASH_FIELDS = {
    "version": Field(int, 1, 2**31, newest=HASH_VERSION),
    "n_components": Field(int, 1, 2**40),
    "bits": Field(int, 1, 16),
    "t_bits": Field(int, 0, 8),
    "seed": Field(int, 0, 2**64 - 1),
    "p": Field(float, above=0, most=MOST_POWER),
    "gamma": Field(float, above=0, nullable=True),
    "n_features": Field(int, 0, 2**62),
}
HASH_CENTER = Tensor("f8", ("features",), OPTIONAL, finite=True)
