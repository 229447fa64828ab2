"""The paper's datasets and some more: a registry of them, and one way to load them.

``load`` looks for a file here, downloads it or makes it; ``entry`` tells sizes, split, source and licence.
"""

from ._dataset import Dataset
from ._entry import Entry, entry, names
from ._load import load, where

__all__ = ["Dataset", "Entry", "entry", "load", "names", "where"]
