"""The command line: ``kernelsketch COMMAND``, one file a command."""

from __future__ import annotations

from ..exceptions import MissingExtraError
from ._errors import told


def main() -> None:
    """Run the command line; exit status 0, 1 for a failure, 2 for wrong usage."""
    with told():
        try:
            from ._main import app
        except ModuleNotFoundError as error:
            if error.name not in ("typer", "rich"):
                raise
            raise MissingExtraError("cli", error.name) from None
        app()
