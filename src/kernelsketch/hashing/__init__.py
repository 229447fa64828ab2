"""The hash of the library: from checked rows to codes, samples and fingerprints.

The transformer ``GCWS``, the linear models, the near-neighbour index, the command line and Spark all hash rows by a
:class:`Hasher`, which asks the back end of the data for the arithmetic::

    parameters of an estimator  ->  _hash_parameters  ->  Hasher
                                                      |  codes         PackedCodes: a few bits per sample, for learning
    Rows  ------------------------------------------> |  samples       the full samples (i*, t*), for joins
                                                      |  fingerprints  one byte per full sample, for the index

::

    _hasher       Hasher, an immutable value: the number of hashes, the seed, bits, t_bits, p, gamma, center and views
    _views        unions of hashes: groups of columns with a hash each, whose codes stand side by side
    _powers       the largest powers that the hash computes accurately, and the refusal of others
    _poisson      the number of samples that each hash of the exponential kernels joins
    _codes        PackedCodes, the codes of a set of rows
    _codes_file   the schema of files of packed codes, and functions that write and read them
    _hash_fields  the fields and tensors that describe the hash in every file

A code is a pure function of the hash version, the seed, the hash number, the features and values of the row, p, gamma,
the center and the views. Codes can be compared only if all of these parameters are equal.
"""

from ._codes import PackedCodes
from ._codes_file import CODES_FORMAT, GrowingCodes, StoredCodes, load_codes
from ._hash_fields import HASH_CENTER, HASH_FIELDS, HASH_VIEWS, hash_tensors, stored_views
from ._hasher import Hasher
from ._poisson import poisson_counts
from ._powers import check_powers
from ._views import View, absent_codes, views_of

__all__ = [
    "CODES_FORMAT",
    "HASH_CENTER",
    "HASH_FIELDS",
    "HASH_VIEWS",
    "GrowingCodes",
    "Hasher",
    "PackedCodes",
    "StoredCodes",
    "View",
    "absent_codes",
    "check_powers",
    "hash_tensors",
    "load_codes",
    "poisson_counts",
    "stored_views",
    "views_of",
]
