"""``kernelsketch kernel``: the exact kernel between the rows of files."""

from __future__ import annotations

from dataclasses import dataclass

from .._file_roles import FileRole
from .._option_groups import argument, launcher, option
from .._options import RowsOptions, input_file, json_flag

# The names in kernelsketch.kernels.KERNELS, repeated here because a help screen must not import it.
KERNEL_NAMES = ("gmm", "egmm", "ngmm", "intersection", "correlation", "rbf")


@dataclass
class Kernel(RowsOptions):
    """Compute an exact kernel matrix between the rows of INPUT and the rows of OTHER.

    The rows of OTHER (of INPUT, if there is no OTHER) are held in memory; the matrix is written as it is computed.
    Where both files have names of columns, columns are matched by name.
    .libsvm is LIBSVM's format of precomputed kernels, for svm-train -t 4: label 0:number 1:value 2:value ...
    """

    input: str = input_file()
    other: str | None = argument(
        None, "OTHER", "File of the rows that make the columns. By default INPUT.", FileRole.READ
    )
    output: str = option(
        "-",
        "File that ends in .npy, .csv or .libsvm. - is standard output.",
        "-o",
        metavar="FILE",
        role=FileRole.WRITTEN,
    )
    to: str | None = option(
        None,
        "Format of the matrix. By default the ending of the name decides; csv on standard output.",
        choices=("npy", "csv", "libsvm"),
    )
    kernel: str = option("gmm", "Name of the kernel.", choices=KERNEL_NAMES)
    p: float | None = option(None, "Power, for gmm and egmm. The default is 1.", "-p")
    gamma: float | None = option(None, "Scale, for egmm and rbf. The default is 1.")
    json: bool = json_flag()


command = launcher(Kernel, "kernel", "write_kernel")
