"""``kernelsketch info``: what a file is, or what is installed."""

from __future__ import annotations

from typing import Annotated

import typer

from .._errors import stop_at_once
from .._file_roles import FileRole
from .._option_groups import with_option_groups
from .._options import InputOptions, Json, RunOptions


@with_option_groups
def command(
    reading: InputOptions,
    running: RunOptions,
    input: Annotated[
        str | None,
        typer.Argument(
            metavar="INPUT",
            help="File to describe; - is standard input. Without it, describe this installation.",
            show_default=False,
        ),
        FileRole.READ,
    ] = None,
    scan: Annotated[bool, typer.Option("--scan", help="Read and count all rows.")] = False,
    json: Json = False,
) -> None:
    """Describe a file: a model, packed codes, an index, a table, or rows in any format.

    Models, codes and indexes are checked against their checksums. Of a file of rows, the first block is read; --scan
    reads all rows and finds the first line that cannot be read. For each column of a table, the command shows what
    [bold]train[/bold] would do with the rows of the first block.

    Without a file, show the versions of kernelsketch and its libraries and the instruction set in use.
    """
    with stop_at_once():
        from ..work.info import describe_file, describe_installation

    if input is None:
        describe_installation(json)
    else:
        describe_file(input, reading, running, scan, json)
