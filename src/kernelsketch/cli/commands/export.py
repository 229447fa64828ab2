"""``kernelsketch export``: a model for programs without Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .._errors import UsageError
from .._file_roles import FileRole
from .._option_groups import argument, launcher, option
from .._options import json_flag, quiet_flag

ENDINGS = (".h", ".onnx")


@dataclass
class Export:
    """Write a model as a C header without dependencies, or as an ONNX graph.

    A header has functions that predict one row of float64 numbers, with the codes of kernelsketch to the last bit. An
    ONNX graph takes a matrix of float64 numbers. Models of tables become C headers whose rows are structs, and ONNX
    graphs with an input for each column.
    """

    model: Path = argument(..., "MODEL", "File of the model.", FileRole.READ)
    output: Path = option(..., "File to write; it ends in .h or .onnx.", "-o", metavar="FILE", role=FileRole.WRITTEN)
    name: str | None = option(None, "Prefix of the functions of a C header. By default the name of the file.")
    quiet: bool = quiet_flag()
    json: bool = json_flag()

    def __post_init__(self) -> None:
        if self.output.suffix not in ENDINGS:
            raise UsageError(f"--output {self.output} must end in {' or '.join(ENDINGS)}.")
        if self.name is not None and self.output.suffix != ".h":
            raise UsageError("--name applies to C headers only: leave it out.")


command = launcher(Export, "export", "export")
