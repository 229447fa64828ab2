"""Read the files of the sources: one reader per format that the registry names.

The ending of an address (``.gz``, ``.bz2``, ``.xz``, ``.zip``) says how a file is compressed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from scipy import sparse

from kernelsketch.exceptions import InputError

from .._checks import Array
from ._npz import StoredRows, check_no_nan


@dataclass(frozen=True)
class SourceFile:
    """A downloaded file, or one member of a ``.zip`` file."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        return self.member or self.path.name


Part = tuple[Any, list[str], Array | None]  # rows, labels, and flags of test rows where the file has them
_OPENERS: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def parse(
    format: str, train: Sequence[SourceFile], test: Sequence[SourceFile], n_features: int, options: dict[str, Any]
) -> StoredRows:
    """Return the rows that downloaded files hold. The names of the files end as their addresses do."""
    read = READERS[format]
    parts = [read(list(files), n_features, **options) for files in (train, test) if files]
    labels = [label for _, part, _ in parts for label in part]
    X = _stacked([rows for rows, _, _ in parts])
    check_no_nan(X.data if sparse.issparse(X) else X, ", ".join(file.name for file in (*train, *test)))
    y, classes = _numbered(labels)
    is_test = parts[0][2]
    if test:
        is_test = np.repeat([False, True], [len(part) for _, part, _ in parts])
    return StoredRows(X, y, classes, is_test)


def _stacked(parts: list[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _numbered(labels: list[str]) -> tuple[Array, tuple[str, ...]]:
    """Return labels as positions of classes, which are sorted as numbers if all are numbers and as text otherwise."""
    classes = set(labels)
    try:
        ordered = sorted(classes, key=float)
    except ValueError:
        ordered = sorted(classes)
    number = {label: k for k, label in enumerate(ordered)}
    return np.array([number[label] for label in labels], dtype=np.int64), tuple(ordered)


def _opened(file: SourceFile) -> IO[bytes]:
    if file.member:
        with zipfile.ZipFile(file.path) as archive:
            name = next((name for name in archive.namelist() if name.split("/")[-1] == file.member), None)
            if name is None:
                raise InputError(f"{file.path.name} has no file {file.member}: the source has changed its archive.")
            return io.BytesIO(archive.read(name))
    if file.path.suffix in _OPENERS:
        return cast(IO[bytes], _OPENERS[file.path.suffix](file.path))
    return io.BufferedReader(io.FileIO(file.path))


def _text(file: SourceFile) -> io.TextIOWrapper:
    return io.TextIOWrapper(_opened(file), "utf-8", errors="replace")


def read_table(
    files: list[SourceFile],
    n_features: int,
    *,
    delimiter: str | None = None,
    label: int = -1,
    drop: Sequence[int] = (),
    test_flag: int | None = None,
    levels: Sequence[Sequence[str]] = (),
) -> Part:
    """Read lines of numbers and a label. Lines before the first such line are a header.

    ``label``, ``drop`` and ``test_flag`` are positions of columns. ``levels`` lists, for each feature, the words that
    stand for 1, 2, ...
    """
    lines: list[str] = []
    for source in files:
        with _text(source) as file:
            lines += _body(file)
    return _columns(lines, n_features, delimiter, label, drop, test_flag, levels)


def _body(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line.strip())


def _columns(
    lines: list[str],
    n_features: int,
    delimiter: str | None,
    label: int,
    drop: Sequence[int],
    test_flag: int | None,
    levels: Sequence[Sequence[str]],
) -> Part:
    extra = [label, *drop, *([] if test_flag is None else [test_flag])]
    width = n_features + len(extra)
    other = {column % width for column in extra}
    used = [column for column in range(width) if column not in other]
    codes = {
        column: {word: k + 1.0 for k, word in enumerate(words)} for column, words in zip(used, levels, strict=False)
    }

    def value(column: int, cell: str) -> float:
        return codes[column][cell] if column in codes else float(cell)

    def is_row(line: str) -> bool:
        cells = [cell.strip() for cell in line.split(delimiter)]
        try:
            return len(cells) == width and all(value(column, cells[column]) is not None for column in used)
        except (ValueError, KeyError):
            return False

    rows = list(itertools.dropwhile(lambda line: not is_row(line), lines))
    if not rows:
        raise InputError(f"No line has {n_features} numbers and a label: the source has changed its format.")
    converters: dict[int | str, Any] = {
        column: lambda cell, words=words: words[cell.strip()] for column, words in codes.items()
    }
    try:
        X = np.loadtxt(rows, np.float32, None, delimiter, converters or None, usecols=used, ndmin=2, encoding="utf-8")
    except (ValueError, KeyError) as error:
        raise InputError(f"The source has a line that cannot be read as numbers: {error}") from None
    labels = [line.split(delimiter)[label].strip().strip("'\"") for line in rows]
    is_test = None if test_flag is None else np.array([float(line.split(delimiter)[test_flag]) != 0 for line in rows])
    return X, labels, is_test


def read_arff(files: list[SourceFile], n_features: int) -> Part:
    """Read an ARFF file of OpenML with dense rows and the label in the last column."""
    with _text(files[0]) as lines:
        for line in lines:
            if line.strip().lower() == "@data":
                break
        rows = [line for line in _body(lines) if not line.startswith("%")]
    return _columns(rows, n_features, ",", -1, (), None, ())


def read_libsvm(
    files: list[SourceFile],
    n_features: int,
    *,
    dense: bool = False,
    times: float = 1.0,
    plus: float = 0.0,
    digits: int = -1,
) -> Part:
    """Read LIBSVM text. ``times``, ``plus`` and ``digits`` turn scaled values back into the raw ones."""
    found = []
    for source in files:
        with _opened(source) as file:
            found.append(_svmlight(file, n_features))
    X = sparse.csr_array(sparse.vstack([rows for rows, _ in found], format="csr"))
    labels = [f"{label:g}" for _, part in found for label in part]
    if not dense:
        return X.astype(np.float32), labels, None
    values = X.toarray() * times + plus
    return (values.round(digits) if digits >= 0 else values).astype(np.float32), labels, None


def _svmlight(file: IO[bytes], n_features: int) -> tuple[Any, Array]:
    from sklearn.datasets import load_svmlight_file  # a slow import that only downloads need

    X, y = load_svmlight_file(file, n_features=n_features, zero_based=False)
    return X, y


def read_pairs(files: list[SourceFile], n_features: int) -> Part:
    """Read ``index:value`` lines from one file and labels from another."""
    with _opened(files[0]) as rows, _opened(files[1]) as labels:
        lines = [b"%s %s" % (label.strip(), row.strip()) for row, label in zip(rows, labels, strict=True)]
    X, y = _svmlight(io.BytesIO(b"\n".join(lines)), n_features)
    return sparse.csr_array(X.astype(np.float32)), [f"{label:g}" for label in y], None


def read_idx(files: list[SourceFile], n_features: int) -> Part:
    """Read MNIST's format: images from one file and labels from another."""
    images, labels = (_idx(source) for source in files)
    return images.reshape(len(images), n_features).astype(np.float32), [str(label) for label in labels], None


def _idx(source: SourceFile) -> Array:
    with _opened(source) as file:
        content = file.read()
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise InputError(f"{source.name} is not an IDX file of bytes: the source has changed its format.")
    axes = content[3]
    shape = [int.from_bytes(content[4 + 4 * k : 8 + 4 * k], "big") for k in range(axes)]
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


READERS: dict[str, Callable[..., Part]] = {
    "table": read_table,
    "libsvm": read_libsvm,
    "openml": read_arff,
    "idx": read_idx,
    "pairs": read_pairs,
}
