"""``kernelsketch convert``: a file of rows in another format."""

from __future__ import annotations

from dataclasses import dataclass

from .._file_roles import FileRole
from .._option_groups import argument, launcher
from .._options import RowsOptions, input_file, json_flag, output_format, zero_based_output


@dataclass
class Convert(RowsOptions):
    """Convert a file of rows to another format, in constant memory.

    A file of codes becomes the one-hot features that the codes stand for. OUTPUT appears when it is complete. If
    anything fails, an existing file stays as it was.
    """

    input: str = input_file()
    output: str = argument(
        ...,
        "OUTPUT",
        "File that ends in .libsvm, .parquet or .npz; text may also end in .gz, .bz2, .xz or .zst. - is standard "
        "output and needs --to libsvm.",
        FileRole.WRITTEN,
    )
    to: str | None = output_format("libsvm", "parquet", "npz")
    output_zero_based: bool = zero_based_output()
    json: bool = json_flag()


command = launcher(Convert, "convert", "convert")
