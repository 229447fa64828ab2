"""LIBSVM text, read and written. tests/helpers/libsvm.py specifies the grammar, its errors, and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array
from .._validation import check_rows
from ..exceptions import InputError, Sentence, Setting
from ._encoding import OTHERS
from ._labels import LabelColumn, numbered_texts
from ._lines import BOM, CR_HINT, line_too_long, longest_line
from ._native_text import (
    LARGEST_ID,
    Fault,
    ParsedLibsvm,
    Texts,
    distinct_texts,
    numbers_as_text,
    parse_libsvm,
    rows_as_text,
)
from ._source import Source
from ._stream import Opened, Options, RowBlock, Writer, check_block

_GROWTH = 4  # a pair has at least 4 bytes of text and takes at most 16 of memory
# A row may have 2 bytes of text, and takes up to 64 of memory besides its pairs: its end, its label, its query id, and
# where the label stands. This many bytes of a block per row keep that within four blocks.
_ROW_BYTES = 16
_STEP = 1 << 16  # rows and pairs that are written at a time, about a megabyte of text
_WORD = re.compile(r"[^\x00-\x20#:\x7f]+")
_UNLABELLED = re.compile(rb"^[ \t]*(?=[^\s:#]+:)", re.MULTILINE)  # a line that begins with a pair
_BLANK = re.compile(rb"^[ \t\r]*\n(?=\s*\S)", re.MULTILINE)  # before another line

_SENTENCES = {
    "label_missing": "a label must stand before {}. Write `label id:value ...`, with 0 where no label is known",
    "label_character": "the label has the control character {}. Remove it",
    "pair": "{} is not of the form id:value. Pairs are separated by blanks, without blanks around the colon",
    "id": "{} is not an id. Ids are whole numbers: replace feature names by numbers first",
    "id_small": "the id {} is below 1",
    "id_large": f"the id {{}} is above 2^62 - 1 = {LARGEST_ID}. Renumber the features",
    "id_repeated": "the id of {} occurs earlier in this line. Add up the values, or keep one of them",
    "qid_place": "{} must stand once, right after the label. Move it there",
    "qid": "{} is not a query id. Write qid: and a whole number from 0 to 2^62 - 1",
    "value_missing": "{} has no value. Write id:value without a blank",
    "value": "the value {} is not a number. Write it as in 0.5 or 1e-3",
    "value_nan": "the value {} is not a number. Impute it first, or omit the pair, which means 0",
    "value_infinite": "the value {} is infinite. Remove or clip it first",
    "value_large": "the value {} is too large for {dtype}. Scale the feature, or clip it",
}

_ADVICE = {"id_small": Sentence(" If the ids count from 0, pass ", Setting("zero_based", True), ".")}


def open_libsvm(source: Source, options: Options) -> Opened:
    return Opened(_blocks(source, options), options.n_features)


def _blocks(source: Source, options: Options) -> Iterator[RowBlock]:
    dtype = np.dtype(np.float64 if options.dtype is None else options.dtype)
    base, width, line = (0 if options.zero_based else 1), options.n_features or 1, 1
    labels = LabelColumn(options.text_labels, options.block_bytes, ignored=options.ignore_labels)
    limit = longest_line(options.block_bytes)
    chunks = _whole_lines(source, max(1, options.block_bytes // _GROWTH), limit)
    for text in chain.from_iterable(_pieces(chunk, max(1, options.block_bytes // _ROW_BYTES)) for chunk in chunks):
        given = text
        found = parse_libsvm(np.frombuffer(text, np.uint8), base, dtype, options.threads)
        if options.ignore_labels and found.fault is not None and found.fault.kind == "label_missing":
            text = _with_labels(text, source.name, line)
            found = parse_libsvm(np.frombuffer(text, np.uint8), base, dtype, options.threads)
        block = _Block(source.name, line, text, dtype, found, options.block_bytes, given)
        if found.fault is not None:
            raise block.error(found.fault)
        if options.n_features is None:
            width = max(width, found.largest_id + 1)
        elif found.largest_id >= width:
            raise block.error_of_width(width, base)
        if len(found.labels):
            y = labels.chosen(found.labels, found.first_text, block.label_texts, block.place_of_row)
            X = sparse.csr_array((found.values, found.ids, found.indptr), shape=(len(found.labels), width))
            yield RowBlock(X, y, found.qid)
        line += text.count(b"\n")


def _whole_lines(source: Source, chunk: int, limit: int) -> Iterator[bytes]:
    """Yield whole lines of up to ``chunk`` bytes together; a longer line, up to the limit, comes alone."""
    pending, started = bytearray(), False
    while data := source.file.read(max(chunk - len(pending), min(chunk, 1 << 16))):
        if not started:
            data, started = data.removeprefix(BOM), True
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((pending, memoryview(data)[:cut]))
            pending = bytearray(data[cut:])
        else:
            pending += data
            if len(pending) > limit:
                raise line_too_long(source.name, limit, "LIBSVM text")
    if pending:
        yield bytes(pending + b"\n")


def _with_labels(text: bytes, name: str, line: int) -> bytes:
    """Return lines with the label 0 where they have none. A blank line among them may be a row without pairs."""
    blank = _BLANK.search(text)
    if blank is not None:
        at = line + text.count(b"\n", 0, blank.start())
        raise InputError(
            f"{name}, line {at}: the line is blank, and lines around it have no labels. Write 0 for a row whose "
            "features are all 0, or remove the line."
        )
    return _UNLABELLED.sub(b"0 ", text)


def _pieces(text: bytes, most: int) -> Iterator[bytes]:
    """Yield a text in pieces of at most ``most`` lines, about."""
    if text.count(b"\n") <= most:
        yield text
        return
    middle = text.find(b"\n", len(text) // 2) + 1
    if middle == len(text):
        middle = text.rfind(b"\n", 0, len(text) // 2) + 1
    for part in (text[:middle], text[middle:]):
        yield from _pieces(part, most)


class _Block:
    """A block of text, with the places of its parts in the file."""

    def __init__(
        self, name: str, line: int, text: bytes, dtype: Any, found: ParsedLibsvm, block_bytes: int, given: bytes
    ) -> None:
        self._name, self._line, self._text, self._dtype, self._found = name, line, text, dtype, found
        self._block_bytes, self._given = block_bytes, given

    def _place(self, at: int) -> str:
        start, number = self._text.rfind(b"\n", 0, at) + 1, self._text.count(b"\n", 0, at)
        column = at - start + 1
        if self._given is not self._text:  # labels were added
            column -= len(self._text.split(b"\n")[number]) - len(self._given.split(b"\n")[number])
        return f"{self._name}, line {self._line + number}, column {column}"

    def place_of_row(self, row: int) -> str:
        return self._place(int(self._found.label_at[row, 0]))

    def error(self, fault: Fault) -> InputError:
        text = self._text[fault.at : fault.at + fault.length]
        sentence = _SENTENCES[fault.kind].format(_shown(text), dtype=self._dtype)
        hint = f" {CR_HINT}." if b"\r" in text else ""
        return InputError(f"{self._place(fault.at)}: {sentence}.", _ADVICE.get(fault.kind, ""), hint)

    def error_of_width(self, width: int, base: int) -> InputError:
        pair = int(np.argmax(self._found.ids >= width))
        row = int(np.searchsorted(self._found.indptr, pair, side="right")) - 1
        return InputError(
            f"{self.place_of_row(row)}: the row has the id {int(self._found.ids[pair]) + base}, but ",
            Setting("n_features", width),
            ". Pass a larger number, or leave it out.",
            parameter="n_features",
        )

    def label_texts(self) -> Array:
        places, numbers = distinct_texts(np.frombuffer(self._text, np.uint8), self._found.label_at)
        names = []
        for number, (begin, end) in enumerate(places.tolist()):
            try:
                names.append(self._text[begin:end].decode())
            except UnicodeDecodeError:
                place, label = self.place_of_row(int(np.argmax(numbers == number))), _shown(self._text[begin:end])
                raise InputError(f"{place}: the label {label} is not UTF-8.", OTHERS) from None
        return numbered_texts(names, numbers, self._block_bytes)


def _shown(text: bytes) -> str:
    shown = repr(text[:40].decode(errors="backslashreplace"))
    return shown if len(text) <= 40 else f"{shown[:-1]}...'"


class LibsvmWriter(Writer):
    """Writes rows as the LIBSVM text that LIBLINEAR reads."""

    def write(self, rows: RowBlock, name: str) -> None:
        X = check_rows(rows.X, name)
        if not sparse.issparse(X):
            X = sparse.csr_array(_plain(X))  # SciPy has no other byte orders, nor float16; zeros are omitted
        check_block(X, 0, name)
        heads = Texts.of(["0"] * X.shape[0]) if rows.y is None else words(rows.y, name)
        indptr, base = X.indptr.astype(np.int64, copy=False), 0 if self.zero_based else 1
        for part in _parts(indptr):
            ends, head_ends = indptr[part.start : part.stop + 1], heads.ends[part.start : part.stop + 1]
            pairs = slice(ends[0], ends[-1])
            some_heads = Texts(heads.text[head_ends[0] : head_ends[-1]], head_ends - head_ends[0])
            qid = None if rows.qid is None else rows.qid[part].astype(np.int64, "C", copy=False)
            ids = X.indices[pairs].astype(np.int64, "C", copy=False)
            lines = rows_as_text(some_heads, qid, ends - ends[0], ids, _plain(X.data[pairs]), base)
            self.file.write(lines.data)


def words(y: Array, name: str) -> Texts:
    """Return labels as strings that hold no blanks, '#' or ':'."""
    if y.dtype.kind in "fiub":
        return numbers_as_text(_plain(y))
    texts = [str(label) for label in y.tolist()]
    for row, text in enumerate(texts):
        if not _WORD.fullmatch(text):
            raise InputError(
                f"{name}: y[{row}] is {text!r}, which cannot stand in a line: labels must not hold blanks, '#' or ':'."
            )
    return Texts.of(texts)


def _parts(indptr: Array) -> Iterator[slice]:
    start, n = 0, len(indptr) - 1
    while start < n:
        fit = int(np.searchsorted(indptr, indptr[start] + _STEP, side="right")) - 1
        stop = min(max(fit, start + 1), start + _STEP)
        yield slice(start, stop)
        start = stop


def _plain(values: Array) -> Array:
    """Convert to one of the dtypes that native code writes: float32, float64, int64 and uint64."""
    kind = values.dtype.kind
    if kind == "f":
        return values.astype(np.float32 if values.dtype.itemsize == 4 else np.float64, "C", copy=False)
    return values.astype(np.uint64 if kind == "u" else np.int64, "C", copy=False)
