"""Datasets: a registry of those of the paper and some more, and one way to load them; files of rows as streams.

``load`` looks for a file here, downloads it or makes it; ``entry`` tells sizes, split, source and licence.
``open_rows`` and ``write_rows`` read and write files of many formats block by block.
"""

from ._dataset import Dataset
from ._entry import Entry, entry, names
from ._load import load, where
from .formats import Rows, RowStream, open_rows, write_rows

__all__ = ["Dataset", "Entry", "RowStream", "Rows", "entry", "load", "names", "open_rows", "where", "write_rows"]
