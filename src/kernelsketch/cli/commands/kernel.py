"""``kernelsketch kernel``: the exact kernel between the rows of files."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from .._errors import stop_at_once
from .._file_roles import FileRole
from .._option_groups import with_option_groups
from .._options import Input, InputOptions, RunOptions

# The names in kernelsketch.kernels.KERNELS, repeated here because a help screen must not import it.
KERNEL_NAMES = ("gmm", "egmm", "ngmm", "intersection", "correlation", "rbf")
KernelName = Enum("KernelName", {name: name for name in KERNEL_NAMES}, type=str)  # type: ignore[misc]
MatrixFormat = Enum("MatrixFormat", {n: n for n in ("npy", "csv", "libsvm")}, type=str)  # type: ignore[misc]


@with_option_groups
def command(
    input: Input,
    reading: InputOptions,
    running: RunOptions,
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="OTHER", help="File of the rows that make the columns. By default INPUT.", show_default=False
        ),
        FileRole.READ,
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File that ends in .npy, .csv or .libsvm. - is standard output."
        ),
        FileRole.WRITTEN,
    ] = "-",
    to: Annotated[
        MatrixFormat | None,
        typer.Option(
            "--to",
            help="Format of the matrix. By default it is known by the ending of the name; csv on standard output.",
            show_default=False,
        ),
    ] = None,
    kernel: Annotated[KernelName, typer.Option("--kernel", help="Name of the kernel.")] = KernelName.gmm,  # type: ignore[attr-defined]
    p: Annotated[
        float | None, typer.Option("--p", "-p", help="Power, for gmm and egmm. The default is 1.", show_default=False)
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option("--gamma", help="Scale, for egmm and rbf. The default is 1.", show_default=False),
    ] = None,
) -> None:
    """Compute an exact kernel matrix between the rows of INPUT and the rows of OTHER.

    The rows of OTHER (of INPUT, if there is no OTHER) are held in memory; the matrix is written as it is computed.
    Where both files have names of columns, columns are matched by name.
    .libsvm is LIBSVM's format of precomputed kernels, for svm-train -t 4: label 0:number 1:value 2:value ...
    """
    with stop_at_once():
        from ..work.kernel import write_kernel

    parameters = {name: value for name, value in (("p", p), ("gamma", gamma)) if value is not None}
    to_format = None if to is None else to.value
    write_kernel(input, other, output, to_format, kernel.value, parameters, reading, running)
