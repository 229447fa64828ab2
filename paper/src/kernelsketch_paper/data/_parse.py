"""Read the files of the sources: one reader per format that the registry names."""

from __future__ import annotations

import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

import numpy as np
from scipy import sparse

from kernelsketch.exceptions import InputError

from .._checks import Array
from ._archive import SourceFile, members, opened
from ._npz import StoredRows, check_no_nan

Part = tuple[Any, list[str], Array | None]  # rows, labels, and flags of test rows where the file has them
_LINES = 1_000  # lines that are read at a time
_LONGEST = 1 << 20  # characters of a line


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


def _lines(source: SourceFile) -> Iterator[str]:
    """Give the lines of a text file that are not blank."""
    with opened(source) as file, io.TextIOWrapper(file, "utf-8", errors="replace") as text:
        for line in iter(lambda: text.readline(_LONGEST), ""):
            if len(line) == _LONGEST:
                raise InputError(f"{source.name} has a line of more than {_LONGEST} characters: it is not a table.")
            if line.strip():
                yield line


def read_table(
    files: list[SourceFile],
    n_features: int,
    *,
    delimiter: str | None = None,
    label: int = -1,
    drop: Sequence[int] = (),
    test_flag: int | None = None,
    levels: Sequence[Sequence[str]] = (),
    **rules: Any,
) -> Part:
    """Read lines of numbers and a label. Lines before the first such line of a file are a header.

    ``label``, ``drop`` and ``test_flag`` are positions of columns. ``levels`` lists, for each feature, the words that
    stand for 1, 2, ... ``rules`` are those of ``_ruled``.
    """
    parts = [_columns(_lines(file), n_features, delimiter, label, drop, test_flag, levels) for file in files]
    flags = None if test_flag is None else np.concatenate([part[2] for part in parts])
    return _ruled(
        np.concatenate([part[0] for part in parts]), [one for part in parts for one in part[1]], flags, **rules
    )


def _ruled(
    X: Array,
    labels: list[str],
    is_test: Array | None,
    *,
    numeric: bool = False,
    threshold: float | None = None,
    incomplete: str = "refuse",
) -> Part:
    """Apply rules to rows: ``incomplete="drop"`` leaves out rows with missing values, ``numeric`` writes labels that
    are numbers in the shortest way, and ``threshold`` makes two classes of them.
    """
    if numeric or threshold is not None:
        try:
            numbers = [float(label) for label in labels]
        except ValueError as error:
            raise InputError(f"The source has a label that is not a number: {error}") from None
        labels = [f"{number:g}" for number in numbers]
        if threshold is not None:
            labels = [f"{threshold:g} or more" if number >= threshold else f"below {threshold:g}" for number in numbers]
    if incomplete == "drop":
        keep = np.asarray(np.isfinite(X).all(axis=1))
        X, labels = X[keep], [label for label, kept in zip(labels, keep, strict=True) if kept]
        is_test = None if is_test is None else is_test[keep]
    return X, labels, is_test


def _columns(
    lines: Iterable[str],
    n_features: int,
    delimiter: str | None,
    label: int,
    drop: Sequence[int],
    test_flag: int | None,
    levels: Sequence[Sequence[str]],
) -> tuple[Array, list[str], Array]:
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

    converters: dict[int | str, Any] = {
        column: lambda cell, words=words: words[cell.strip()] for column, words in codes.items()
    }
    rows = itertools.dropwhile(lambda line: not is_row(line), lines)
    X: list[Array] = []
    labels: list[str] = []
    flags: list[bool] = []
    words: dict[str, str] = {}  # one string per class, not one per row
    while block := list(itertools.islice(rows, _LINES)):
        cells = [line.split(delimiter) for line in block]
        if any(len(row) != width for row in cells):
            raise InputError(f"The source has a line that does not have {width} columns: it is damaged.")
        try:
            X.append(
                np.loadtxt(
                    block, np.float32, None, delimiter, converters or None, usecols=used, ndmin=2, encoding="utf-8"
                )
            )
            flags += [test_flag is not None and float(row[test_flag]) != 0 for row in cells]
        except (ValueError, KeyError) as error:
            raise InputError(f"The source has a line that cannot be read as numbers: {error}") from None
        labels += [
            words.setdefault(word, word) for row in cells if (word := row[label].strip().strip("'\"")) is not None
        ]
    if not X:
        raise InputError(f"No line has {n_features} numbers and a label: the source has changed its format.")
    return np.concatenate(X), labels, np.array(flags)


def read_arff(files: list[SourceFile], n_features: int) -> Part:
    """Read an ARFF file of OpenML with dense rows and the label in the last column."""
    lines = _lines(files[0])
    for line in lines:
        if line.strip().lower() == "@data":
            break
    rows = (line for line in lines if not line.startswith("%"))
    X, labels, _ = _columns(rows, n_features, ",", -1, (), None, ())
    return X, labels, None


def read_libsvm(
    files: list[SourceFile],
    n_features: int,
    *,
    dense: bool = False,
    times: float = 1.0,
    plus: float = 0.0,
    digits: int = -1,
    zero_based: bool | str = False,
) -> Part:
    """Read LIBSVM text. ``times``, ``plus`` and ``digits`` turn scaled values back into the raw ones.

    Features count from 1. ``zero_based="auto"`` lets them count from 0 in a file that has a feature 0.
    """
    found = []
    for source in files:
        with opened(source) as file:
            found.append(_svmlight(file, n_features, zero_based))
    X = sparse.csr_array(sparse.vstack([rows for rows, _ in found], format="csr"))
    labels = [f"{label:g}" for _, part in found for label in part]
    if not dense:
        return X.astype(np.float32), labels, None
    values = X.toarray() * times + plus
    return (values.round(digits) if digits >= 0 else values).astype(np.float32), labels, None


def _svmlight(file: IO[bytes], n_features: int, zero_based: bool | str = False) -> tuple[Any, Array]:
    from sklearn.datasets import load_svmlight_file  # a slow import that only downloads need

    X, y = load_svmlight_file(file, n_features=n_features, zero_based=zero_based)
    return X, y


def read_pairs(files: list[SourceFile], n_features: int) -> Part:
    """Read ``index:value`` lines from one file and labels from another."""
    with opened(files[0]) as rows, opened(files[1]) as labels:
        lines = [b"%s %s" % (label.strip(), row.strip()) for row, label in zip(rows, labels, strict=True)]
    X, y = _svmlight(io.BytesIO(b"\n".join(lines)), n_features)
    return sparse.csr_array(X.astype(np.float32)), [f"{label:g}" for label in y], None


def read_idx(files: list[SourceFile], n_features: int) -> Part:
    """Read MNIST's format: images from one file and labels from another."""
    images, labels = (_idx(source) for source in files)
    return images.reshape(len(images), n_features).astype(np.float32), [str(label) for label in labels], None


def _idx(source: SourceFile) -> Array:
    with opened(source) as file:
        content = file.read()
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise InputError(f"{source.name} is not an IDX file of bytes: the source has changed its format.")
    axes = content[3]
    shape = [int.from_bytes(content[4 + 4 * k : 8 + 4 * k], "big") for k in range(axes)]
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def read_segments(files: list[SourceFile], n_features: int, *, pattern: str, lines: int) -> Part:
    """Read an archive in which each file that matches a pattern is one row: a table of so many lines, separated by
    commas. The first group of the pattern is the label.
    """
    rows: list[Array] = []
    labels = []
    for source in files:
        for match, file in members(source, pattern):
            try:
                table = np.loadtxt(file, np.float32, delimiter=",", ndmin=2, encoding="utf-8")
            except ValueError as error:
                raise InputError(f"{match.group()} cannot be read as numbers: {error}") from None
            if table.shape != (lines, n_features // lines):
                found = f"{table.shape[0]} lines and {table.shape[1]} columns"
                raise InputError(f"{match.group()} has {found}, not {lines} and {n_features // lines}.")
            rows.append(table.ravel())
            labels.append(match.group(1))
    if not rows:
        raise InputError("The archive has no file of the expected name: the source has changed its archive.")
    return np.stack(rows), labels, None


def read_mat(files: list[SourceFile], n_features: int, *, pattern: str) -> Part:
    """Read the matrices of MATLAB files whose names match a pattern. Its first group is the label of their rows."""
    rows: list[Array] = []
    labels: list[str] = []
    for source in files:
        try:
            found = _matrices(source, n_features, re.compile(pattern))
        except _BAD_MATRICES as error:
            raise InputError(f"{source.name} cannot be read as a MATLAB file: {error}") from None
        for label, matrix in found:
            rows.append(matrix)
            labels += [label] * len(matrix)
    return np.concatenate(rows), labels, None


# What SciPy raises for damaged files, besides ValueError.
_BAD_MATRICES = (TypeError, LookupError, AttributeError, NotImplementedError, ArithmeticError, MemoryError, zlib.error)


def _matrices(source: SourceFile, n_features: int, pattern: re.Pattern[str]) -> list[tuple[str, Array]]:
    from scipy.io import loadmat, whosmat  # a slow import that only downloads need

    with opened(source) as file:
        content = io.BytesIO(file.read())
    found = [(match, shape, kind) for name, shape, kind in whosmat(content) if (match := pattern.fullmatch(name))]
    for match, shape, kind in found:
        if len(shape) != 2 or shape[1] != n_features or kind not in ("double", "single"):
            what = f"{match.group()} is a {kind} of shape {shape}"
            raise InputError(f"{source.name}: {what}, not numbers in {n_features} columns.")
    if not found or 8 * sum(shape[0] * shape[1] for _, shape, _ in found) > source.most:
        raise InputError(f"{source.name} does not have the matrices of the source: it has changed its format.")
    content.seek(0)
    arrays = loadmat(content, variable_names=[match.group() for match, _, _ in found])
    return [(match.group(1), arrays[match.group()].real.astype(np.float32)) for match, _, _ in found]


READERS: dict[str, Callable[..., Part]] = {
    "table": read_table,
    "libsvm": read_libsvm,
    "openml": read_arff,
    "idx": read_idx,
    "pairs": read_pairs,
    "segments": read_segments,
    "mat": read_mat,
}
