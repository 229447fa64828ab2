"""The command line: ``kernelsketch COMMAND``, one file a command."""

from __future__ import annotations

import sys

from ..exceptions import KernelsketchError, MissingExtraError


def main() -> None:
    """Run the command line; exit status 0, 1 for a failure, 2 for wrong usage."""
    try:
        from ._main import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"kernelsketch: {MissingExtraError('cli', error.name)}")
    try:
        app()
    except KernelsketchError as error:  # before a command was found
        sys.exit(f"kernelsketch: {error}")
