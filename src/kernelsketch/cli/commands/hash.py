"""``kernelsketch hash``: rows to codes, or to features for other programs."""

from __future__ import annotations

from dataclasses import dataclass

from .._file_roles import FileRole
from .._option_groups import argument, launcher, option
from .._options import HashOptions, RowsOptions, SeveralInputs, json_flag, output_format, zero_based_output


@dataclass
class Hash(SeveralInputs, RowsOptions, HashOptions):
    """Hash rows by GCWS: k small integers per row. The fraction on which two rows agree estimates their similarity.

    Packed codes take k * bits / 8 bytes per row and keep the labels. [bold]train[/bold], [bold]predict[/bold],
    [bold]evaluate[/bold] and PackedCodes.load read them. The other formats hold one-hot features, k ones per row among
    k * 2^bits columns, for LIBLINEAR and other linear models.

    The codes of a row depend only on the row, the seed and the parameters. So training and test files, or parts of one
    file on many machines, can be hashed separately by the same command.
    """

    output: str = argument(
        ...,
        "OUTPUT",
        "File that ends in .safetensors (packed codes), .libsvm, .parquet or .npz; text may also end in .gz, "
        ".bz2, .xz or .zst. - is standard output and needs --to libsvm.",
        FileRole.WRITTEN,
    )
    to: str | None = output_format("codes", "libsvm", "parquet", "npz")
    normalize: bool = option(
        True, "Scale features to rows of unit norm, or leave them 1.", "--normalize/--no-normalize"
    )
    output_zero_based: bool = zero_based_output()
    json: bool = json_flag()


command = launcher(Hash, "hash", "hash_rows")
