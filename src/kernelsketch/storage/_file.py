"""Reading and writing files by their schema."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from .._array import Array
from ..exceptions import InputError
from ._container import (
    MAX_HEADER,
    GrowingContainer,
    TensorInfo,
    map_container,
    others_may_write,
    read_container,
    read_directory,
    stored_dtype,
    verify_container,
    write_container,
)
from ._schema import TEXT, Schema, ends_of

Tensors = dict[str, Any]  # arrays; lists of strings for each Text of the schema
Restored = TypeVar("Restored")


def save_file(
    path: Path, schema: Schema, header: Mapping[str, Any], tensors: Mapping[str, Any], *, like: Path | None = None
) -> None:
    """Write a file of a schema atomically. What a reader would refuse is not written.

    ``header`` has the fields of the schema, ``tensors`` an array for each Tensor and strings for each Text. A new file
    gets the permissions of the file ``like``, if there is such a file.
    """
    whole = _with_format(schema, header)
    arrays = _encoded(schema, tensors)
    schema.check(whole, {name: _info(array) for name, array in arrays.items()}, f"{path} cannot be written")
    write_container(path, whole, arrays, like=like)


class GrowingFile:
    """A file of a schema whose matrix of bytes ``name`` arrives in blocks of rows, so that it never is in memory."""

    def __init__(self, file: IO[bytes], schema: Schema, name: str) -> None:
        self._schema, self._name, self._container = schema, name, GrowingContainer(file, name)

    def add(self, rows: Array) -> None:
        """Append rows."""
        self._container.add(rows)

    def finish(self, header: Mapping[str, Any], tensors: Mapping[str, Any], path: str) -> None:
        """Write the header and the other tensors."""
        whole = _with_format(self._schema, header)
        arrays = _encoded(self._schema, tensors)
        infos = {self._name: self._container.info} | {name: _info(array) for name, array in arrays.items()}
        self._schema.check(whole, infos, f"{path} cannot be written")
        self._container.finish(whole, arrays, path)


def load_file(
    path: Path,
    schema: Schema,
    restore: Callable[[dict[str, Any], Tensors], Restored],
    *,
    mmap: bool = False,
    verify: bool = False,
) -> Restored:
    """Read a file of a schema and make an object of its header and tensors.

    ``mmap`` maps the tensors: their bytes are not read, so that only the header and all sizes are checked; with
    ``verify`` the checksum of the whole file is compared first. A file that every user may write to is read all the
    same, because cutting off a mapped file kills the process that reads it. Whatever error a damaged or hostile file
    causes, in ``restore`` too, becomes an InputError.
    """

    def check(header: dict[str, Any], infos: dict[str, TensorInfo]) -> None:
        schema.check(header, infos, f"{path} is damaged")

    _check_there(path)
    try:
        if mmap and not others_may_write(path):
            if verify:
                verify_container(path, check)
            header, arrays = map_container(path, check)
        else:
            with path.open("rb") as file:
                header, arrays = read_container(file, str(path), check)
        schema.check_values(arrays, f"{path} is damaged")
        return restore(header, _decoded(schema, arrays, str(path)))
    except (InputError, OSError):
        raise
    except Exception as error:  # any error of a library about a damaged or hostile file
        raise InputError(f"{path} cannot be read as {schema.kind}: {type(error).__name__}: {error}") from error


def is_container(path: Path) -> bool:
    """Return whether a file begins as the files of this package do, whatever its name is."""
    try:
        with path.open("rb") as file:
            first = file.read(9)
    except OSError:
        return False
    return len(first) == 9 and first[8:] == b"{" and int.from_bytes(first[:8], "little") <= MAX_HEADER


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of any file of this package, without its tensors; ``["format"]`` says what the file holds."""
    _check_there(path)
    try:
        with path.open("rb") as file:
            return read_directory(file, str(path)).header
    except (InputError, OSError):
        raise
    except Exception as error:  # any error of a library about a damaged file
        raise InputError(f"{path} cannot be read: {type(error).__name__}: {error}") from error


def _check_there(path: Path) -> None:
    if not path.exists():
        sentence = f"There is no such file. Check the name; relative names start at {Path.cwd()}"
        raise FileNotFoundError(errno.ENOENT, sentence, str(path))


def _with_format(schema: Schema, header: Mapping[str, Any]) -> dict[str, Any]:
    return {"format": schema.format, "format_version": schema.version, **header}


def _info(array: Array) -> TensorInfo:
    return TensorInfo(stored_dtype(array.dtype) or array.dtype, array.shape)


def _encoded(schema: Schema, tensors: Mapping[str, Any]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, values in tensors.items():
        if name in schema.tensors and schema.tensors[name].dtypes == TEXT:
            found |= _encoded_text(name, values)
        else:
            found[name] = values
    return found


def _encoded_text(name: str, strings: Iterable[Any]) -> dict[str, Array]:
    encoded = [str(text).encode("utf-8", "surrogatepass") for text in strings]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {name: np.frombuffer(b"".join(encoded), np.uint8), ends_of(name): ends}


def _decoded(schema: Schema, arrays: dict[str, Array], path: str) -> Tensors:
    found: Tensors = dict(arrays)
    for name, tensor in schema.tensors.items():
        if tensor.dtypes == TEXT and name in arrays:
            content, ends = arrays[name].tobytes(), [0, *found.pop(ends_of(name)).tolist()]
            if ends != sorted(ends) or ends[-1] != len(content):
                raise InputError(
                    f"{path} is damaged: {ends_of(name)} does not divide the {len(content)} bytes of {name}."
                )
            found[name] = [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(ends)]
    return found
