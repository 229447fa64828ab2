"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .._backend import backend
from ._datasets import datasets
from ._demo import demo
from ._report import report
from ._reproduce import reproduce_command
from ._theory import theory

app = typer.Typer(
    name="kernelsketch",
    help="Kernel-machine accuracy at linear-model cost.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(datasets)
app.command()(demo)
app.command()(report)
app.command("reproduce")(reproduce_command)
app.command()(theory)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"kernelsketch {__version__} ({backend().name})")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Version and instruction set."),
    ] = False,
) -> None:
    """Kernel-machine accuracy at linear-model cost."""
