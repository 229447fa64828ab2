"""``kernelsketch info``: what a file is, or what is installed."""

from __future__ import annotations

from dataclasses import dataclass

from .._file_roles import FileRole
from .._option_groups import argument, launcher, option
from .._options import RowsOptions, json_flag


@dataclass
class Info(RowsOptions):
    """Describe a file: a model, packed codes, an index, a table, or rows in any format.

    Models, codes and indexes are checked against their checksums. The command says whether the version of their file is
    current, what a file of an earlier version lacks, and what a model can do.

    Of a file of rows, the first block is read; --scan reads all rows and finds the first line that cannot be read. For
    each column of a table, the command shows what [bold]train[/bold] would do with the rows of the first block.

    Without a file, show the versions of kernelsketch and its libraries and the instruction set in use.
    """

    input: str | None = argument(
        None,
        "INPUT",
        "File to describe, or the folder of an index, of a collection of documents or of parts of a table; - is "
        "standard input. Without it, describe this installation.",
        FileRole.READ,
    )
    scan: bool = option(False, "Read and count all rows.")
    upgrade: str | None = option(
        None,
        "Write a model, codes or an index of an earlier version to this file, in the current version. INPUT stays as "
        "it is.",
        metavar="FILE",
        role=FileRole.WRITTEN,
    )
    json: bool = json_flag()


command = launcher(Info, "info", "describe")
