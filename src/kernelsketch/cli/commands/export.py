"""``kernelsketch export``: a model for programs without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._errors import UsageError, stop_at_once
from .._file_roles import FileRole
from .._option_groups import with_option_groups

ENDINGS = (".h", ".onnx")


@with_option_groups
def command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="File of the model.", show_default=False), FileRole.READ
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write; it ends in .h or .onnx.", show_default=False
        ),
        FileRole.WRITTEN,
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="How the functions of a C header begin. By default the name of the file.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a model as a C header without dependencies, or as an ONNX graph.

    A header has functions that predict one row of float64 numbers, with the codes of kernelsketch to the last bit. An
    ONNX graph takes a matrix of float64 numbers. Models of tables cannot be exported: train with --plain.
    """
    if output.suffix not in ENDINGS:
        raise UsageError(f"--output {output} must end in {' or '.join(ENDINGS)}, which says what to write.")
    if name is not None and output.suffix != ".h":
        raise UsageError("--name applies to C headers only: leave it out.")
    with stop_at_once():
        from ..work.export import export

    export(model, output, name)
