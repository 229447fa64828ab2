"""Options of commands from a TOML file, in a table per command: ``--config FILE``.

::

    [train]
    label = "delayed"
    effort = "thorough"

    [index.build]
    text = "body"

Keys are options with or without hyphens. Options of the command line win.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UsageError

NAME = "config"


def add_config(command: Any) -> None:
    """Give a command the option ``--config``, which typer makes as it makes those of a function."""
    if any(param.name == NAME for param in command.params):
        return
    app = typer.Typer(add_completion=False)

    @app.command()
    def only(
        config: Annotated[
            str | None,
            typer.Option(
                is_eager=True,  # before the options whose values the file has
                expose_value=False,
                callback=_take,
                metavar="FILE",
                help="TOML file of options, in a table per command such as \\[train]. The command line wins.",
            ),
        ] = None,
    ) -> None: ...

    command.params += [param for param in typer.main.get_command(app).params if param.name == NAME]


def _take(ctx: typer.Context, path: str | None) -> str | None:
    """Make the values of a file the defaults of the command that is being parsed."""
    if path is not None and not ctx.resilient_parsing:
        words = ctx.command_path.split()[1:]
        ctx.default_map = {**(ctx.default_map or {}), **_values(path, words, ctx.command)}
    return path


def _values(path: str, words: list[str], command: Any) -> dict[str, Any]:
    """Return the values of a command by the names of its parameters."""
    from ._main import command_names

    table = _read(path)
    known = command_names()
    for name, inner in table.items():
        _check_table(path, name, inner, known)
    for word in words:
        table = table.get(word, {})
    options = {
        param.name: param for param in command.params if param.param_type_name == "option" and param.name != NAME
    }
    by_key = {name: param for param in options.values() for name in (param.name, *_keys(param))}
    where = ".".join(words)
    found = {}
    for key, value in table.items():
        param = by_key.get(key.replace("-", "_"), by_key.get(key))
        if param is None:
            near = _near(key, [shown for one in options.values() for shown in _keys(one)])
            raise UsageError(f"--config {path}: [{where}] has {key!r}, which is no option of the command.{near}")
        if not _fits(param, value):
            kind = "true or false" if param.is_flag else "a single value" + " or a list" * param.multiple
            raise UsageError(f"--config {path}: {key} in [{where}] must be {kind}, got {value!r}.")
        found[param.name] = [value] if param.multiple and not isinstance(value, list) else value
    return found


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path} cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path} is not TOML: {error}.") from None


def _check_table(path: str, name: str, inner: Any, known: dict[str, tuple[str, ...]]) -> None:
    """Refuse a table that no command has, and a value outside of tables."""
    if not isinstance(inner, dict):
        raise UsageError(
            f"--config {path}: {name} is in no table: write it below the name of a command, as in [train]."
        )
    if name not in known:
        raise UsageError(f"--config {path}: [{name}] is no command.{_near(name, known)}")
    for word in inner if known[name] else ():
        if word not in known[name]:
            near = _near(f"{name}.{word}", [f"{name}.{other}" for other in known[name]])
            raise UsageError(f"--config {path}: [{name}.{word}] is no command.{near}")


def _near(name: str, known: Any) -> str:
    """Return a hint at names that are close to one that is not known."""
    near = get_close_matches(name.replace("_", "-"), list(known), n=3, cutoff=0.7)
    return f" Did you mean {' or '.join(near)}?" if near else f" It is none of {', '.join(sorted(known))}."


def _keys(param: Any) -> list[str]:
    """Return the keys of an option in a file: its long names without dashes."""
    return [name.removeprefix("--") for name in param.opts if name.startswith("--")]


def _fits(param: Any, value: Any) -> bool:
    if param.is_flag:
        return isinstance(value, bool)
    if param.multiple and isinstance(value, list):
        return all(_is_plain(one) for one in value)
    return _is_plain(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)
