"""Packed codes, read and written in blocks: the files of :meth:`PackedCodes.save`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..exceptions import InputError, InputTypeError, Setting
from ..hashing import GrowingCodes, PackedCodes, load_codes
from ._source import Source
from ._stream import Opened, Options, RowBlock, Writer


def open_codes(source: Source, options: Options) -> Opened:
    if source.path is None:
        raise InputError(
            f"{source.name} is a stream or compressed, but codes are read from plain files: store it in one."
        )
    if options.n_features is not None or options.dtype is not None:
        name = "dtype" if options.n_features is None else "n_features"
        raise InputError(Setting(name), f" does not apply to {source.name}, whose format is codes: leave it out.")
    codes, stored, names = load_codes(source.path, mmap=True, verify=True)
    step = max(1, options.block_bytes // max(1, codes.packed.shape[1]))

    def blocks() -> Iterator[RowBlock]:
        for start in range(0, len(codes), step):
            source.check_size()  # reading mapped pages beyond the end of a file would kill the process
            part = codes[start : start + step]
            part = replace(part, packed=np.array(part.packed))
            labels = None if stored is None else np.array(stored[start : start + step])
            yield RowBlock(part, labels if labels is None or names is None else names[labels])

    return Opened(blocks(), codes.n_features, len(codes))


class CodesWriter(Writer):
    """Writes codes, and labels if there are any, as ``PackedCodes.load`` and ``open_rows`` read them."""

    def __post_init__(self) -> None:
        self._codes = GrowingCodes(self.file)

    def write(self, rows: RowBlock, name: str) -> None:
        if not isinstance(rows.X, PackedCodes):
            raise InputTypeError(f"{name} must be PackedCodes, got {type(rows.X).__name__}: hash the rows first.")
        self._codes.add(rows.X, rows.y, name)

    def close(self) -> None:
        self._codes.finish(self.file.name)
