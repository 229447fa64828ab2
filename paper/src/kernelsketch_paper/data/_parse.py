"""Files of the sources as tables: one reader a format, named in the registry.

Compressed files are opened by the ending of their address: ``.gz``, ``.bz2``, ``.xz``, ``.zip``.
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

from kernelsketch._validation import Array
from kernelsketch.exceptions import InputError

from ._npz import Table, check_no_nan


@dataclass(frozen=True)
class File:
    """A downloaded file, or one inside a ``.zip`` file."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        return self.member or self.path.name


Part = tuple[Any, list[str], Array | None]  # rows, labels, which are test rows where the file says so
_OPENERS: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def parse(format: str, train: Sequence[File], test: Sequence[File], n_features: int, options: dict[str, Any]) -> Table:
    """The table that downloaded files hold. Their names end as their addresses do."""
    read = READERS[format]
    parts = [read(list(files), n_features, **options) for files in (train, test) if files]
    labels = [label for _, part, _ in parts for label in part]
    X = _stacked([rows for rows, _, _ in parts])
    check_no_nan(X.data if sparse.issparse(X) else X, ", ".join(file.name for file in (*train, *test)))
    y, classes = _numbered(labels)
    is_test = parts[0][2]
    if test:
        is_test = np.repeat([False, True], [len(part) for _, part, _ in parts])
    return Table(X, y, classes, is_test)


def _stacked(parts: list[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)


def _numbered(labels: list[str]) -> tuple[Array, tuple[str, ...]]:
    """Labels as numbers; classes ascend as numbers where they are, as text otherwise."""
    classes = set(labels)
    try:
        ordered = sorted(classes, key=float)
    except ValueError:
        ordered = sorted(classes)
    number = {label: k for k, label in enumerate(ordered)}
    return np.array([number[label] for label in labels], dtype=np.int64), tuple(ordered)


def _opened(file: File) -> IO[bytes]:
    if file.member:
        with zipfile.ZipFile(file.path) as archive:
            name = next((name for name in archive.namelist() if name.split("/")[-1] == file.member), None)
            if name is None:
                raise InputError(f"{file.path.name} has no file {file.member}: its source has changed.")
            return io.BytesIO(archive.read(name))
    if file.path.suffix in _OPENERS:
        return cast(IO[bytes], _OPENERS[file.path.suffix](file.path))
    return io.BufferedReader(io.FileIO(file.path))


def _text(file: File) -> io.TextIOWrapper:
    return io.TextIOWrapper(_opened(file), "utf-8", errors="replace")


def read_table(
    files: list[File],
    n_features: int,
    *,
    delimiter: str | None = None,
    label: int = -1,
    drop: Sequence[int] = (),
    test_flag: int | None = None,
    levels: Sequence[Sequence[str]] = (),
) -> Part:
    """Lines of numbers and a label. Lines before the first such line are a header.

    ``label``, ``drop`` and ``test_flag`` number columns; ``levels`` are words that stand for 1, 2, ... in each feature.
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


def read_arff(files: list[File], n_features: int) -> Part:
    """ARFF of OpenML with dense rows, the label last."""
    with _text(files[0]) as lines:
        for line in lines:
            if line.strip().lower() == "@data":
                break
        rows = [line for line in _body(lines) if not line.startswith("%")]
    return _columns(rows, n_features, ",", -1, (), None, ())


def read_libsvm(
    files: list[File], n_features: int, *, dense: bool = False, times: float = 1.0, plus: float = 0.0, digits: int = -1
) -> Part:
    """LIBSVM's text. ``times``, ``plus`` and ``digits`` take scaled values back to those the registry stores."""
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
    from sklearn.datasets import load_svmlight_file  # imports much, for downloads alone

    X, y = load_svmlight_file(file, n_features=n_features, zero_based=False)
    return X, y


def read_pairs(files: list[File], n_features: int) -> Part:
    """``index:value`` lines in one file, labels in another."""
    with _opened(files[0]) as rows, _opened(files[1]) as labels:
        lines = [b"%s %s" % (label.strip(), row.strip()) for row, label in zip(rows, labels, strict=True)]
    X, y = _svmlight(io.BytesIO(b"\n".join(lines)), n_features)
    return sparse.csr_array(X.astype(np.float32)), [f"{label:g}" for label in y], None


def read_idx(files: list[File], n_features: int) -> Part:
    """MNIST's format: images in one file, labels in another."""
    images, labels = (_idx(source) for source in files)
    return images.reshape(len(images), n_features).astype(np.float32), [str(label) for label in labels], None


def _idx(source: File) -> Array:
    with _opened(source) as file:
        content = file.read()
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise InputError(f"{source.name} is not an IDX file of bytes.")
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
