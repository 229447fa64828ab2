"""One file format for codes, models and indexes: atomic writes, checksums and a declarative schema.

::

    _atomic.py      a file appears complete under its name, or not at all
        ^
    _container.py   the bytes: a safetensors file with a JSON header of ours and two checksums
        ^
    _schema.py      what a kind of file must hold, as data: header fields, tensors, dimensions, rules
        ^
    _file.py        one reader and one writer for every schema

    _outputs.py     an output is no input and no other output
    _work_folder.py a private folder for the files of a command, which an interrupted one leaves and the next uses

This package does not depend on hashing or models; only messages name their files. Each kind of file is
declared beside the objects that it holds, as a :class:`Schema` and two functions that convert:
``hashing/_codes_file.py`` for packed codes, ``serving/_model_file.py`` for models, ``neighbors/_storage.py`` for
indexes. To add a kind of file, write such a module: a schema, ``save_file(path, schema, header, tensors)``, and
``load_file(path, schema, restore)``.

The files are safetensors files, and the safetensors library reads their tensors. The library is not used here: it
checks no checksum, and it cannot write tensors that grow.
"""

from ._atomic import (
    DISK_FULL,
    PARTIAL_SUFFIX,
    atomic_file,
    check_target,
    is_device,
    locked,
    write_atomically,
)
from ._container import check_mapped, stored_dtype
from ._file import GrowingFile, Tensors, is_container, load_file, read_header, save_file
from ._outputs import NamedPath, check_outputs
from ._schema import (
    ALWAYS,
    CONTENTS,
    OPTIONAL,
    Field,
    Rule,
    Schema,
    Tensor,
    Text,
    When,
    With,
    content_in_words,
    nested,
)
from ._work_folder import COLLECTION, LOCK, WorkFolder

__all__ = [
    "ALWAYS",
    "COLLECTION",
    "CONTENTS",
    "DISK_FULL",
    "LOCK",
    "OPTIONAL",
    "PARTIAL_SUFFIX",
    "Field",
    "GrowingFile",
    "NamedPath",
    "Rule",
    "Schema",
    "Tensor",
    "Tensors",
    "Text",
    "When",
    "With",
    "WorkFolder",
    "atomic_file",
    "check_mapped",
    "check_outputs",
    "check_target",
    "content_in_words",
    "is_container",
    "is_device",
    "load_file",
    "locked",
    "nested",
    "read_header",
    "save_file",
    "stored_dtype",
    "write_atomically",
]
