"""Files of rows, read and written block by block in constant memory.

``open_rows`` reads LIBSVM text, CSV and TSV, Parquet and Arrow, NPY and NPZ; ``write_rows`` writes LIBSVM and Vowpal
Wabbit text, NPZ and Parquet. One file a format: each has a function from a `Source` and `Options` to `Opened`.
"""

from ._open import open_rows
from ._stream import Rows, RowStream
from ._write import write_rows

__all__ = ["RowStream", "Rows", "open_rows", "write_rows"]
