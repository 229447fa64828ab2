"""Hashing: what a code depends on, and packed codes in files.

=================  ================================================================================
_hash_fields.py    what every file says about its hash: the fields of the header, and the center
_codes_file.py     the schema of files of packed codes, and the conversion from and to arrays
=================  ================================================================================
"""

from ._codes_file import CODES_FORMAT, GrowingCodes, StoredCodes, load_codes, save_codes
from ._hash_fields import HASH_CENTER, HASH_FIELDS

__all__ = ["CODES_FORMAT", "HASH_CENTER", "HASH_FIELDS", "GrowingCodes", "StoredCodes", "load_codes", "save_codes"]
