"""What a command does with the files that it is given, and the check of them before it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from inspect import Parameter
from pathlib import Path
from typing import Any

from typer.models import ParameterInfo

from ._errors import UsageError, stop_at_once

# Of files that commands write. A file of a folder of documents is replaced only if it has such an ending.
OUTPUT_ENDINGS = (".jsonl", ".ndjson", ".tsv", ".html", ".safetensors")
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


class FileRole(Enum):
    """What a command does with a file. A parameter has its role in its annotation, beside the option of typer."""

    READ = "read"
    READ_WITHOUT_OUTPUTS = "read, except for the outputs of the command, if it is a folder of documents"
    WRITTEN = "written"


def check_files(parameters: Sequence[Parameter], given: dict[str, Any]) -> None:
    """Refuse outputs that are inputs or other outputs of a command, and outputs that cannot be written.

    An output that is a name of standard output becomes ``"-"`` in ``given``, since what it is redirected to may be a
    pipe, or a file with content that is not to be replaced.
    """
    for parameter in parameters:
        if role_of(parameter) is FileRole.WRITTEN and given.get(parameter.name) in STANDARD_OUTPUT:
            given[parameter.name] = "-"
    files = list(_files(parameters, given))
    if not any(role is FileRole.WRITTEN for role, _, _ in files):
        return
    with stop_at_once():
        from ..exceptions import InputError
        from ..formats import files_like, is_pattern
        from ..storage import NamedPath, check_outputs, check_target

    outputs = [NamedPath(name, path) for role, name, path in files if role is FileRole.WRITTEN]
    inputs = [
        NamedPath(name, found, OUTPUT_ENDINGS if role is FileRole.READ_WITHOUT_OUTPUTS else ())
        for role, name, path in files
        if role is not FileRole.WRITTEN
        for found in (files_like(path) if is_pattern(str(path)) else [path])
    ]
    try:
        check_outputs(outputs, inputs)
    except InputError as error:
        raise UsageError(error.message) from None
    for output in outputs:
        if output.path == "-":
            continue
        try:
            check_target(Path(output.path))
        except FileNotFoundError as error:
            raise InputError(f"{output} cannot be written. {error.strerror}: make the folder first.") from None


def role_of(parameter: Parameter) -> FileRole | None:
    """Return what a command does with the file that a parameter names; None if it names none."""
    return next((part for part in _metadata(parameter) if isinstance(part, FileRole)), None)


def _files(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> Iterator[tuple[FileRole, str, Any]]:
    """Yield each file that the command line names: its role, the name of its parameter there, and its path."""
    for parameter in parameters:
        role, value = role_of(parameter), given.get(parameter.name)
        if role is None or value is None:
            continue
        for path in value if isinstance(value, (list, tuple)) else [value]:
            yield role, _shown_name(parameter), path


def _shown_name(parameter: Parameter) -> str:
    info = next(part for part in _metadata(parameter) if isinstance(part, ParameterInfo))
    words = (info.default, *(info.param_decls or ()))  # typer takes the first name in Annotated for the default
    return next((word for word in words if isinstance(word, str) and word.startswith("--")), str(info.metavar))


def _metadata(parameter: Parameter) -> tuple[Any, ...]:
    return tuple(getattr(parameter.annotation, "__metadata__", ()))
