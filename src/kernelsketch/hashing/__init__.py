"""From rows to codes: the hash that everything in the library uses.

    _hasher      Hasher, an immutable value (seed, p, gamma, center, number of hashes, bits) that turns rows into
                 codes, samples and fingerprints
    _parameters  the parameters of a hash in scikit-learn's estimators, and the Hasher that they describe
    _poisson     how many samples a hash of the exponential kernels joins
    _codes       PackedCodes, the codes of a set of rows
    _codes_file  the schema of files of packed codes, and the conversion from and to arrays
    _hash_fields what every file says about its hash: the fields of the header, and the center

A code is a pure function of the hash version, the seed, the hash number, the feature, its value, p, gamma and the
center.
"""

from ._codes import PackedCodes, code_dtype
from ._codes_file import CODES_FORMAT, GrowingCodes, StoredCodes, load_codes
from ._hash_fields import HASH_CENTER, HASH_FIELDS
from ._hasher import Hasher
from ._parameters import HASH_CONSTRAINTS, check_hash, checked_hasher, hasher_for, hasher_with, learned_center, seed_of

__all__ = [
    "CODES_FORMAT",
    "HASH_CENTER",
    "HASH_CONSTRAINTS",
    "HASH_FIELDS",
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
