"""File formats: tables of rows as streams of blocks, read and written in constant memory.

``open_rows`` reads LIBSVM text, CSV and TSV, Parquet and Arrow, NPY and NPZ, and packed codes. ``write_rows`` writes
LIBSVM text, NPZ, Parquet and packed codes. Both work on :class:`RowBlock`.

====================================  =================================================================================
_open.py, _write.py                   ``open_rows`` and ``write_rows``: options, and which format does the work
_source.py, _compressed.py            a path, standard input or a stream as bytes, decompressed
_encoding.py                          text in other encodings than UTF-8
_bounded.py                           a bound of the memory that pyarrow takes for a batch of rows
_detect.py                            which format a file has
_stream.py                            RowBlock, RowStream, Options; Opened: what a format returns; Writer
_libsvm.py                            text of sparse rows
_columns.py                           which columns are features, and which are labels, weights or ids, or left out
_parts.py, _arrow_types.py            several files, the parts of a table, as one stream
_csv.py                               CSV, as numbers or as it is, for tabular models
_cells.py, _lines.py                  cells of CSV by Python, where native code does not read them; lines of a file
_labels.py                            labels that are numbers or text
_arrow.py, _npy.py, _npz.py           columns by pyarrow, arrays by NumPy
_codes.py                             packed codes
_documents.py, _document_writer.py    records with a text, in files or folders; read, and written as they are
_folder.py                            the files of a folder of texts or of parts of a table
_table_writer.py                      columns of values as CSV, TSV, JSONL, Parquet or text
_native_text.py                       the only calls to native code: parsing and writing of text
====================================  =================================================================================

To add a format, write a function from a Source and Options to Opened, or a subclass of Writer, and enter it in _open.py
or _write.py and in _detect.py.
"""

from ._cells import delimiter_hint
from ._detect import READABLE
from ._document_writer import DocumentWriter, check_same_columns, written_format
from ._documents import (
    DOCUMENT_FORMATS,
    TABLES,
    TEXT_FIELD,
    Documents,
    DocumentStream,
    Fields,
    too_long,
)
from ._folder import InputFiles, document_files, files_like, is_pattern, row_files, text_files
from ._labels import joined_labels
from ._libsvm import words
from ._open import open_rows
from ._parts import PartStream
from ._source import endings
from ._stream import NotNumbersError, RowBlock, RowStream
from ._table_writer import TABLE_FORMATS, Chosen, open_table, table_format
from ._write import encoded, open_target, open_text, write_rows

__all__ = [
    "DOCUMENT_FORMATS",
    "READABLE",
    "TABLES",
    "TABLE_FORMATS",
    "TEXT_FIELD",
    "Chosen",
    "DocumentStream",
    "DocumentWriter",
    "Documents",
    "Fields",
    "InputFiles",
    "NotNumbersError",
    "PartStream",
    "RowBlock",
    "RowStream",
    "check_same_columns",
    "delimiter_hint",
    "document_files",
    "encoded",
    "endings",
    "files_like",
    "is_pattern",
    "joined_labels",
    "open_rows",
    "open_table",
    "open_target",
    "open_text",
    "row_files",
    "table_format",
    "text_files",
    "too_long",
    "words",
    "write_rows",
    "written_format",
]
