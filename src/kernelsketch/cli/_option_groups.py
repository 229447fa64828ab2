"""Parameters of commands: fields of dataclasses, which commands share as base classes, and files that are checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, Literal, get_type_hints

import typer

from ._errors import stop_at_once
from ._file_roles import FileRole, check_files

TYPER_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "rich",
    "context_settings": {"help_option_names": ["--help", "-h"]},
}


def option(
    default: Any,
    help: str,
    *names: str,
    choices: tuple[str, ...] = (),
    role: FileRole | None = None,
    **settings: Any,
) -> Any:
    """Return a field of a dataclass that is an option with the name of the field; ``names`` are further ones.

    The default ``...`` stands for a value that must be given. ``settings`` are those of typer. The options of a class
    appear under the title ``panel``, if the class has this attribute.
    """
    return _field(default, typer.Option, names, choices, role, {"help": help, **settings})


def argument(default: Any, metavar: str, help: str, role: FileRole | None = None) -> Any:
    """Return a field of a dataclass that is an argument of a command."""
    return _field(default, typer.Argument, (), (), role, {"help": help, "metavar": metavar})


def _field(default: Any, *parts: Any) -> Any:
    metadata = dict(zip(("make", "names", "choices", "role", "settings"), parts, strict=True))
    return field(default=MISSING if default is ... else default, kw_only=True, metadata=metadata)


def launcher(options: type, module: str, function: str) -> Callable[..., None]:
    """Return a command with these options, which imports a module of ``work`` and calls one of its functions."""

    def command(given: Any) -> None:
        with stop_at_once():
            work = getattr(import_module(f"{__package__}.work.{module}"), function)
        work(given)

    command.__annotations__["given"], command.__doc__ = options, options.__doc__
    return with_option_groups(command)


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give typer one option per field for each parameter that is a dataclass; the command receives the dataclass.

    Files that parameters name, as their :class:`FileRole` says, are checked before the command begins.
    """
    hints = get_type_hints(command, include_extras=True)
    plain: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if isinstance(kind, type) and is_dataclass(kind):
            groups[name] = kind
            plain += _parameters(kind)
        else:
            plain.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

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


def _parameters(group: Any) -> Iterator[inspect.Parameter]:
    """Yield the fields of a dataclass as parameters; those that ``option`` has made get typer's annotation."""
    hints = get_type_hints(group, include_extras=True)
    panels = {n: vars(base).get("panel") for base in group.__mro__ for n in inspect.get_annotations(base)}
    for found in fields(group):
        default = inspect.Parameter.empty if found.default is MISSING else found.default
        kind = _annotated(found, hints[found.name], panels[found.name]) if found.metadata else hints[found.name]
        yield inspect.Parameter(found.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _annotated(found: Field[Any], kind: Any, panel: str | None) -> Any:
    make, names, choices, role, settings = found.metadata.values()
    if choices:
        kind = Literal[choices] if found.default is not None else Literal[choices] | None
    if make is typer.Option:
        settings = {"rich_help_panel": panel, **settings}
        if not any(name.startswith("--") for name in names):
            names = f"--{found.name.replace('_', '-')}", *names
    return Annotated[kind, make(*names, **settings), role]


def flowing(text: str | None) -> str:
    """Return a docstring with one line per paragraph, which a help screen breaks where its own lines end."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def examples(*lines: str) -> str:
    """Return commands as the text that a help screen shows below the options."""
    return "\n\n".join(["[bold]Examples[/bold]", *lines])
