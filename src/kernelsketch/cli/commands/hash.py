"""``kernelsketch hash``: rows to codes, or to features for other programs."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from .._errors import stop_at_once
from .._file_roles import FileRole
from .._option_groups import with_option_groups
from .._options import HashOptions, Input, InputOptions, Json, RunOptions

OutputFormat = Enum("OutputFormat", {n: n for n in ("codes", "libsvm", "parquet", "npz")}, type=str)  # type: ignore[misc]


@with_option_groups
def command(
    input: Input,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUTPUT",
            help="File that ends in .safetensors (packed codes), .libsvm, .parquet or .npz; text may also end in "
            ".gz, .bz2, .xz or .zst. - is standard output and needs --to libsvm.",
            show_default=False,
        ),
        FileRole.WRITTEN,
    ],
    hashing: HashOptions,
    reading: InputOptions,
    running: RunOptions,
    to: Annotated[
        OutputFormat | None,
        typer.Option(
            "--to", help="Format of OUTPUT. By default it is known by the ending of the name.", show_default=False
        ),
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize/--no-normalize", help="Scale features to rows of unit norm, or leave them 1.")
    ] = True,
    output_zero_based: Annotated[
        bool,
        typer.Option(
            "--output-zero-based", help="Feature ids in text start at 0. By default they start at 1, as in LIBLINEAR."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Hash rows by GCWS: k small integers per row. The fraction on which two rows agree estimates their similarity.

    Packed codes take k * bits / 8 bytes per row and keep the labels. [bold]train[/bold], [bold]predict[/bold],
    [bold]evaluate[/bold] and PackedCodes.load read them. The other formats hold one-hot features, k ones per row among
    k * 2^bits columns, for LIBLINEAR and other linear models.

    The codes of a row depend only on the row, the seed and the parameters. So training and test files, or parts of one
    file on many machines, can be hashed separately by the same command.
    """
    with stop_at_once():
        from ..work.hash import hash_rows

    to_format = None if to is None else to.value
    hash_rows(input, output, hashing, reading, running, to_format, normalize, output_zero_based, json)
