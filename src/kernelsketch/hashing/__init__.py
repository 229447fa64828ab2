"""The hash of the library: from checked rows to codes, samples and fingerprints.

All parts of the library hash rows by a :class:`Hasher`, which takes the arithmetic from the back end of the data::

    parameters of an estimator  ->  _hash_parameters  ->  Hasher
                                                      |  codes         PackedCodes: a few bits per sample, for learning
    Rows  ------------------------------------------> |  samples       the full samples (i*, t*), for joins
                                                      |  fingerprints  one byte per full sample, for the index

::

    _hasher       Hasher, an immutable value: the number of hashes, the seed, bits, t_bits, p, gamma, center and views
    _views        unions of hashes: groups of columns with a hash each, whose codes stand side by side
    _powers       the largest powers that the hash computes accurately, and the refusal of others
    _codes        PackedCodes, the codes of a set of rows
    _codes_file   the schema of files of packed codes, and functions that write and read them
    _hash_fields  the fields and tensors that describe the hash in every file

A code is a pure function of the hash version, the seed, the hash number, the features and values of the row, p, gamma,
the center and the views. Codes can be compared only if all of these parameters are equal.
"""

from ._codes import PackedCodes
from ._codes_file import CODES_FORMAT, CODES_SCHEMA, GrowingCodes, load_codes
from ._hash_fields import HASH_FIELDS, HASH_TENSORS, hash_content, stored_hasher
from ._hasher import Hasher
from ._powers import check_powers
from ._views import absent_codes, views_of

__all__ = [
    "CODES_FORMAT",
    "CODES_SCHEMA",
    "HASH_FIELDS",
    "HASH_TENSORS",
    "GrowingCodes",
    "Hasher",
    "PackedCodes",
    "absent_codes",
    "check_powers",
    "hash_content",
    "load_codes",
    "stored_hasher",
    "views_of",
]
