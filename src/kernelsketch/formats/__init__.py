"""Files of rows, read and written block by block in constant memory.

``open_rows`` reads LIBSVM text, CSV and TSV, Parquet and Arrow, NPY and NPZ, and packed codes; ``write_rows`` writes
LIBSVM and Vowpal Wabbit text, NPZ, Parquet and packed codes. One file a format: each has a function from a `Source` and
`Options` to `Opened`.
"""

from ._detect import READABLE
from ._open import open_rows
from ._stream import Rows, RowStream
from ._texts import words
from ._write import open_target, open_text, write_rows

__all__ = ["READABLE", "RowStream", "Rows", "open_rows", "open_target", "open_text", "words", "write_rows"]
