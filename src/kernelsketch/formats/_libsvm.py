"""LIBSVM text, read and written. reference/libsvm.py specifies the grammar and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._array import Array
from ..exceptions import InputError, Sentence, Setting
from ._labels import LabelColumn, numbered_texts
from ._lines import CR_HINT, line_too_long, longest_line
from ._native_text import LARGEST_ID, Fault, ParsedLibsvm, Texts, distinct_texts, parse_libsvm
from ._source import Source
from ._stream import Opened, Options, RowBlock
from ._texts import sparse_rows, words, write_lines

_GROWTH = 4  # a pair has at least 4 bytes of text and takes at most 16 of memory
# A row may have 2 bytes of text, and takes up to 64 of memory besides its pairs: its end, its label, its query id, and
# where the label stands. This many bytes of a block per row keep that within four blocks.
_ROW_BYTES = 16

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
    labels = LabelColumn(options.text_labels, options.block_bytes)
    limit = longest_line(options.block_bytes)
    chunks = _whole_lines(source, max(1, options.block_bytes // _GROWTH), limit)
    for text in chain.from_iterable(_pieces(chunk, max(1, options.block_bytes // _ROW_BYTES)) for chunk in chunks):
        found = parse_libsvm(np.frombuffer(text, np.uint8), base, dtype, options.threads)
        block = _Block(source.name, line, text, dtype, found, options.block_bytes)
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
            data, started = data.removeprefix(b"\xef\xbb\xbf"), True  # the byte order mark of UTF-8
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
    """A block of text, which knows where its parts stand in the file."""

    def __init__(self, name: str, line: int, text: bytes, dtype: Any, found: ParsedLibsvm, block_bytes: int) -> None:
        self._name, self._line, self._text, self._dtype, self._found = name, line, text, dtype, found
        self._block_bytes = block_bytes

    def _place(self, at: int) -> str:
        start, line = self._text.rfind(b"\n", 0, at) + 1, self._line + self._text.count(b"\n", 0, at)
        return f"{self._name}, line {line}, column {at - start + 1}"

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
                raise InputError(f"{place}: the label {label} is not UTF-8. Convert the file.") from None
        return numbered_texts(names, numbers, self._block_bytes)


def _shown(text: bytes) -> str:
    shown = repr(text[:40].decode(errors="backslashreplace"))
    return shown if len(text) <= 40 else f"{shown[:-1]}...'"


class LibsvmWriter:
    """Writes rows as the LIBSVM text that LIBLINEAR reads."""

    def __init__(self, file: IO[bytes], zero_based: bool, names: tuple[str, ...] | None) -> None:
        self._file, self._base = file, 0 if zero_based else 1

    def write(self, rows: RowBlock, name: str) -> None:
        X = sparse_rows(rows.X, name)
        heads = Texts.of(["0"] * X.shape[0]) if rows.y is None else words(rows.y, name)
        write_lines(self._file, X, heads, rows.qid, "", self._base)

    def close(self) -> None:
        """There is nothing left to write."""

    def abandon(self) -> None:
        """There is nothing to release."""
