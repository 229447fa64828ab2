"""The hash of the library: from checked rows to codes, samples and fingerprints.

The transformer ``GCWS``, the linear models, the near-neighbour index, the command line and Spark all hash rows by a
:class:`Hasher`, which asks the back end of the data for the arithmetic::

    parameters of an estimator  ->  hasher_for  ->  Hasher
                                                      |  codes         PackedCodes: a few bits per sample, for learning
    Rows  ------------------------------------------> |  samples       the full samples (i*, t*), for joins
                                                      |  fingerprints  one byte per full sample, for the index

::

    _hasher       Hasher, an immutable value: the number of hashes, the seed, bits, t_bits, p, gamma and the center
    _parameters   the constraints of these parameters in estimators, and the functions that make a Hasher from them
    _poisson      the number of samples that each hash of the exponential kernels joins
    _codes        PackedCodes, the codes of a set of rows
    _codes_file   the schema of files of packed codes, and functions that write and read them
    _hash_fields  the fields that describe the hash in the header of every file

A code is a pure function of the hash version, the seed, the hash number, the features and values of the row, p, gamma
and the center. Codes can be compared only if all of these parameters are equal.
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
