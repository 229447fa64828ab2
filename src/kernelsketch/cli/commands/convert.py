"""``kernelsketch convert``: a file of rows in another format."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from .._errors import stop_at_once
from .._file_roles import FileRole
from .._option_groups import with_option_groups
from .._options import Input, InputOptions, Json, RunOptions

OutputFormat = Enum("OutputFormat", {n: n for n in ("libsvm", "parquet", "npz")}, type=str)  # type: ignore[misc]


@with_option_groups
def command(
    input: Input,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUTPUT",
            help="File that ends in .libsvm, .parquet or .npz; text may also end in .gz, .bz2, .xz or .zst. "
            "- is standard output and needs --to libsvm.",
            show_default=False,
        ),
        FileRole.WRITTEN,
    ],
    reading: InputOptions,
    running: RunOptions,
    to: Annotated[
        OutputFormat | None,
        typer.Option(
            "--to", help="Format of OUTPUT. By default it is known by the ending of the name.", show_default=False
        ),
    ] = None,
    output_zero_based: Annotated[
        bool,
        typer.Option(
            "--output-zero-based", help="Feature ids in text start at 0. By default they start at 1, as in LIBLINEAR."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Convert a file of rows to another format, in constant memory.

    A file of codes becomes the one-hot features that the codes stand for. OUTPUT appears when it is complete. If
    anything fails, an existing file stays as it was.
    """
    with stop_at_once():
        from ..work.convert import convert

    convert(input, output, reading, running, None if to is None else to.value, output_zero_based, json)
