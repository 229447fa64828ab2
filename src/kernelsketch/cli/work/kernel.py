"""``kernelsketch kernel``: read rows, compute blocks of the matrix, write them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from ..._array import Array
from ..._validation import widened
from ...exceptions import InputError
from ...formats import RowBlock, endings, open_target, open_text, words
from ...hashing import PackedCodes
from ...kernels import iter_kernel_blocks
from .._errors import UsageError
from .._file_predictor import feature_columns
from .._memory import enough_memory, memory_left
from .._options import open_input
from .._progress import CountedRows, ProgressMeter, format_duration
from .._results import format_bytes, print_facts, print_json, size_of
from ..commands.kernel import Kernel

BLOCKS = 48 << 20  # bytes of the rows that a back end prepares at a time
_PARAMETERS = {"gmm": ("p",), "egmm": ("p", "gamma"), "rbf": ("gamma",)}


def write_kernel(task: Kernel) -> None:
    format = task.to or _format_by_ending(task.output)
    parameters = {name: value for name, value in (("p", task.p), ("gamma", task.gamma)) if value is not None}
    for name in parameters:
        if name not in _PARAMETERS.get(task.kernel, ()):
            raise UsageError(f"--{name} is not a parameter of the kernel {task.kernel}: leave it out.")
    if task.output == "-" and format == "npy":
        raise UsageError("The format npy needs a file: pass --output FILE, or --to csv for standard output.")
    with ProgressMeter("reading", task.quiet) as meter:
        columns, names = _all_rows(task, meter)
        meter.begin("computing")
        writer = _MatrixWriter(format, columns.X.shape[0])
        with (open_target if format == "npy" else open_text)(task.output) as file:
            for block in _row_blocks(task, columns, names, meter):
                for rows, part in _matrix_blocks(block.X, columns.X, task, parameters):
                    writer.write(file, part, None if block.y is None else block.y[rows])
                    meter.show(None, f"{writer.rows:,} rows of {columns.X.shape[0]:,} columns")
            writer.finish(file)
    if task.json and task.output != "-":
        facts = {"kernel": task.kernel, "rows": writer.rows, "columns": columns.X.shape[0], "output": task.output}
        print_json(facts | {"bytes": os.stat(task.output).st_size, "seconds": meter.seconds})
    elif task.output != "-":
        size = f"{writer.rows:,} x {columns.X.shape[0]:,} in {format_duration(meter.seconds)}"
        print_facts({task.kernel: size, "output": f"{task.output}, {size_of(task.output)}"})


def _format_by_ending(output: str) -> str:
    compression, ending = endings(output)
    formats = {"": "csv" if output == "-" else "", ".csv": "csv", ".libsvm": "libsvm", ".svm": "libsvm"}
    formats |= {} if compression else {".npy": "npy"}
    if found := formats.get(ending):
        return found
    raise UsageError(f"--output {output} must end in .npy, .csv or .libsvm, or pass the format with --to.")


def _all_rows(task: Kernel, meter: ProgressMeter) -> tuple[RowBlock, tuple[str, ...] | None]:
    """Read the rows of the columns into memory, if they fit; return them and their feature names."""
    path = task.other or task.input
    parts: list[RowBlock] = []
    left, size = memory_left(task), 0
    with open_input(path, task) as stream:
        names = stream.feature_names
        counted = CountedRows(stream, meter)
        for rows in counted:
            if isinstance(rows.X, PackedCodes):
                raise InputError(
                    f"{path} holds codes, but a kernel needs rows. To compare codes, use PackedCodes.match_counts."
                )
            parts.append(rows)
            size += _size(rows.X)
            in_all = int(size * counted.expected / counted.rows)
            if 2 * in_all + BLOCKS > left:  # the parts, and all rows in one
                raise InputError(
                    f"--memory {task.memory} is too small: the rows of {path} take {format_bytes(in_all)}. Pass "
                    f"--memory {enough_memory(task, left, 2 * in_all + BLOCKS)} or more."
                )
    if not parts:
        raise InputError(f"{path} has no rows.")
    width = max(part.X.shape[1] for part in parts)
    labels = None if parts[0].y is None else np.concatenate([np.asarray(part.y) for part in parts])
    if not sparse.issparse(parts[0].X):
        return RowBlock(np.concatenate([part.X for part in parts]), labels), names
    return RowBlock(sparse.csr_array(sparse.vstack([widened(part.X, width) for part in parts])), labels), names


def _size(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes)


def _row_blocks(
    task: Kernel, columns: RowBlock, names: tuple[str, ...] | None, meter: ProgressMeter
) -> Iterator[RowBlock]:
    if task.other is None:
        yield columns
        return
    with open_input(task.input, task) as stream:
        places = None
        if names is not None and len(names) == len(stream.feature_names or ()):
            places = feature_columns(names, stream, f"{task.other} has")
        for block in CountedRows(stream, meter):
            yield block if places is None else RowBlock(block.X[:, places], block.y)


def _matrix_blocks(X: Any, Y: Any, task: Kernel, parameters: dict[str, float]) -> Iterator[tuple[slice, Array]]:
    width = max(X.shape[1], Y.shape[1])
    rows = max(1, task.block_bytes // (8 * Y.shape[0]))
    options: dict[str, Any] = dict(parameters)
    if task.kernel not in ("correlation", "rbf"):
        options["n_jobs"] = task.threads
    second = None if X is Y else widened(Y, width)
    return iter_kernel_blocks(widened(X, width), second, kernel=task.kernel, block_size=rows, **options)


class _MatrixWriter:
    """Write rows of a matrix to a file. The shape of an NPY file is known at the end."""

    def __init__(self, format: str, columns: int) -> None:
        self._format, self._columns, self._dtype = format, columns, np.dtype(np.float64)
        self.rows = 0

    def write(self, file: IO[bytes], block: Array, labels: Array | None) -> None:
        if self._format == "npy":
            if self.rows == 0:
                self._dtype = block.dtype
                self._write_header(file)
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
            self._write_header(file)

    def _write_header(self, file: IO[bytes]) -> None:
        """Write the header, whose length does not depend on the number of rows."""
        shape = self.rows, self._columns
        descr = npy.dtype_to_descr(self._dtype)
        npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
