"""Parameters of commands: groups of options that several commands share, and files that are checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from ._file_roles import check_files


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give typer one option per field for each parameter that is a dataclass; the command receives the dataclass.

    Files that parameters name, as their :class:`FileRole` says, are checked before the command begins.
    """
    hints = get_type_hints(command, include_extras=True)
    plain, groups = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            plain.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = kind
        types = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            plain.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
                )
            )

    @wraps(command)
    def run(**given: Any) -> None:
        check_files(plain, given)
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    run.__doc__ = flowing(command.__doc__)
    run.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in plain}
    return run


def flowing(text: str | None) -> str:
    """Return a docstring with one line per paragraph, which a help screen breaks where its own lines end."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def examples(*lines: str) -> str:
    """Return commands as the text that a help screen shows below the options."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])
