"""From rows to codes: the hash that everything in the library uses.

    _hasher      Hasher, an immutable value (seed, p, gamma, center, number of hashes, bits) that turns rows into
                 codes, samples and fingerprints
    _parameters  the parameters of a hash in scikit-learn's estimators, and the Hasher that they describe
    _poisson     how many samples a hash of the exponential kernels joins
    _codes       PackedCodes, the codes of a set of rows
    _codes_file  codes in files

A code is a pure function of the hash version, the seed, the hash number, the feature, its value, p, gamma and the
center.
"""

from ._codes import PackedCodes, code_dtype
from ._codes_file import FORMAT as CODES_FORMAT
from ._codes_file import GrowingCodes, StoredCodes, load_codes
from ._hasher import Hasher
from ._parameters import HASH_CONSTRAINTS, check_hash, checked_hasher, hasher_for, hasher_with, learned_center, seed_of

__all__ = [
    "CODES_FORMAT",
    "HASH_CONSTRAINTS",
    "GrowingCodes",
    "Hasher",
    "PackedCodes",
    "StoredCodes",
    "check_hash",
    "checked_hasher",
    "code_dtype",
    "hasher_for",
    "hasher_with",
    "learned_center",
    "load_codes",
    "seed_of",
]
