"""The datasets of the paper and some more: a registry that describes them, and one function that loads them.

``load`` finds the file of a dataset on this machine, downloads it or generates it. ``entry`` has its sizes, split,
source and licence.

==============  =====================================================================================
_entry          the registry, read from ``registry/*.toml``
_load           the places where a file is searched for, and the dataset made from it
_npz            the layout of a dataset's ``.npz`` file
_splits         training and test rows
_mnist          the generated variants of MNIST
_bundled        datasets that need no file: those of scikit-learn, and generated ones
_own            files of a user as datasets
_missing        all datasets that are not on this machine, and their download
_remote         from the files of a source to an ``.npz`` file in the cache
_download       one file from a server
_parse          the formats of the sources
_archive        files inside archives, unpacked within bounds
_lzw            files of the program ``compress``
_progress       progress of a download
==============  =====================================================================================
"""

from ._dataset import Dataset
from ._entry import Entry, names
from ._load import cache_folder, entry, is_here, load, where
from ._missing import Missing, download_missing, missing
from ._own import import_file, is_own, own_datasets, register

__all__ = [
    "Dataset",
    "Entry",
    "Missing",
    "cache_folder",
    "download_missing",
    "entry",
    "import_file",
    "is_here",
    "is_own",
    "load",
    "missing",
    "names",
    "own_datasets",
    "register",
    "where",
]
