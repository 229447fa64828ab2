"""``kernelsketch kernel``: the exact kernel between the rows of files."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import IO, Annotated, Any

import numpy as np
import typer
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from .._validation import widened
from ..exceptions import InputError
from ..formats import RowBlock, open_target, open_text, words
from ..hashing import PackedCodes
from ..kernels import KERNELS, iter_kernel_blocks
from ._errors import UsageError
from ._groups import grouped
from ._options import Input, Reading, Running, open_input
from ._output import bytes_text, size_of, tell
from ._progress import Counted, Meter, duration

Array = NDArray[Any]
KernelName = Enum("KernelName", {name: name for name in KERNELS}, type=str)  # type: ignore[misc]
MatrixFormat = Enum("MatrixFormat", {n: n for n in ("npy", "csv", "libsvm")}, type=str)  # type: ignore[misc]
_PARAMETERS = {"gmm": ("p",), "egmm": ("p", "gamma"), "rbf": ("gamma",)}


@grouped
def kernel(
    input: Input,
    reading: Reading,
    running: Running,
    other: Annotated[
        str | None,
        typer.Argument(metavar="[OTHER]", help="Rows of the columns; without it INPUT's own.", show_default=False),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Ends in .npy, .csv or .libsvm. - is standard output.")
    ] = "-",
    to: Annotated[
        MatrixFormat | None, typer.Option("--to", help="By default by the ending, csv on standard output.")
    ] = None,
    name: Annotated[KernelName, typer.Option("--kernel", help="Which one.")] = KernelName.gmm,  # type: ignore[attr-defined]
    p: Annotated[float | None, typer.Option("--p", "-p", help="Power, of gmm and egmm.")] = None,
    gamma: Annotated[float | None, typer.Option("--gamma", help="Of egmm and rbf.")] = None,
) -> None:
    """Compute an exact kernel matrix: rows of INPUT against rows of OTHER.

    The rows of OTHER (or of INPUT, if it stands alone) are kept in memory; the matrix is written as it is computed.
    .libsvm is LIBSVM's format of precomputed kernels, for svm-train -t 4: label 0:number 1:value 2:value ...
    """
    wanted = to.value if to is not None else _by_ending(output)
    parameters = {key: value for key, value in (("p", p), ("gamma", gamma)) if value is not None}
    for key in parameters:
        if key not in _PARAMETERS.get(name.value, ()):
            raise UsageError(f"--{key} is not of the kernel {name.value}: leave it out.")
    if output == "-" and wanted == "npy":
        raise UsageError("npy is written to files only: pass --output FILE, or --to csv.")
    with Meter("reading", running.quiet) as meter:
        columns = _all_rows(other or input, reading, running, meter)
        meter.begin("computing")
        writer = _Matrix(wanted, columns.X.shape[0])
        with (open_target if wanted == "npy" else open_text)(output) as file:
            for part in _row_parts(input, other, columns, reading, running, meter):
                blocks = _blocks(part.X, columns.X, name.value, running, parameters)
                for rows, block in blocks:
                    writer.write(file, block, None if part.y is None else part.y[rows])
                    meter.show(None, f"{writer.rows:,} rows of {columns.X.shape[0]:,} columns")
            writer.finish(file)
    if output != "-":
        size = f"{writer.rows:,} x {columns.X.shape[0]:,}"
        tell({name.value: f"{size} in {duration(meter.seconds)}", "output": f"{output}, {size_of(output)}"})


def _by_ending(output: str) -> str:
    plain = output.lower()
    for ending in (".gz", ".bz2", ".xz", ".zst"):
        plain = plain.removesuffix(ending)
    if plain == "-" or plain.endswith(".csv"):
        return "csv"
    if plain.endswith((".libsvm", ".svm")):
        return "libsvm"
    if plain.endswith(".npy") and plain == output.lower():
        return "npy"
    raise UsageError(f"--output {output} must end in .npy, .csv or .libsvm, or tell the format by --to.")


def _all_rows(path: str, reading: Reading, running: Running, meter: Meter) -> RowBlock:
    """A file in memory, as long as it fits."""
    parts: list[RowBlock] = []
    with open_input(path, reading, running) as stream:
        for rows in Counted(stream, meter):
            if isinstance(rows.X, PackedCodes):
                raise InputError(
                    f"{path} holds codes: kernels are of rows. Codes are compared by PackedCodes.match_counts."
                )
            parts.append(rows)
            size = sum(_size(part.X) for part in parts)
            if 2 * size > running.bytes:
                raise InputError(
                    f"--memory {running.memory} is too small: {path} has more than {bytes_text(size)} of rows."
                )
    if not parts:
        raise InputError(f"{path} has no rows.")
    width = max(part.X.shape[1] for part in parts)
    labels = None if parts[0].y is None else np.concatenate([part.y for part in parts])
    if not sparse.issparse(parts[0].X):
        return RowBlock(np.concatenate([part.X for part in parts]), labels)
    return RowBlock(sparse.csr_array(sparse.vstack([widened(part.X, width) for part in parts])), labels)


def _size(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes)


def _row_parts(
    input: str, other: str | None, columns: RowBlock, reading: Reading, running: Running, meter: Meter
) -> Iterator[RowBlock]:
    if other is None:
        yield columns
        return
    with open_input(input, reading, running) as stream:
        yield from Counted(stream, meter)


def _blocks(X: Any, Y: Any, name: str, running: Running, parameters: dict[str, float]) -> Iterator[tuple[slice, Array]]:
    width = max(X.shape[1], Y.shape[1])
    rows = max(1, running.block_bytes // (8 * Y.shape[0]))
    options: dict[str, Any] = dict(parameters)
    if name not in ("correlation", "rbf"):
        options["n_jobs"] = running.threads
    second = None if X is Y else widened(Y, width)
    return iter_kernel_blocks(widened(X, width), second, kernel=name, block_size=rows, **options)


class _Matrix:
    """Rows of a matrix to a file; the shape of an NPY file is known at the end."""

    def __init__(self, format: str, columns: int) -> None:
        self._format, self._columns, self._dtype = format, columns, np.dtype(np.float64)
        self.rows = 0

    def write(self, file: IO[bytes], block: Array, labels: Array | None) -> None:
        if self._format == "npy":
            if self.rows == 0:
                self._dtype = block.dtype
                file.write(self._npy_header(0))
            file.write(np.ascontiguousarray(block).data)
        elif self._format == "csv":
            file.write("".join(",".join(map(repr, row)) + "\n" for row in block.tolist()).encode())
        else:
            names = ["0"] * len(block) if labels is None else words(labels, "INPUT").to_list()
            for number, (label, row) in enumerate(zip(names, block.tolist(), strict=True), self.rows + 1):
                pairs = " ".join([f"{j}:{value!r}" for j, value in enumerate(row, 1)])
                file.write(f"{label} 0:{number} {pairs}\n".encode())
        self.rows += len(block)

    def finish(self, file: IO[bytes]) -> None:
        if self._format == "npy":
            file.seek(0)
            file.write(self._npy_header(self.rows))

    def _npy_header(self, rows: int) -> bytes:
        """Of one length, whatever the number of rows."""
        text = f"{{'descr': {npy.dtype_to_descr(self._dtype)!r}, 'fortran_order': False, "
        text += f"'shape': ({rows}, {self._columns}), }}"
        return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"
