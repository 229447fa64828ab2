"""The command line, ``kernelsketch COMMAND``. A command is imported when it is called.

===================== ==================================================================================
``_main``             the table of commands and the group that imports them
``commands/``         what a user types and reads: one file per command with its options, help and examples;
                      light, so that ``--help`` and wrong usage answer at once
``work/``             what a command does: one file per command
``plugins``           what packages that add commands may import
``_options``          options and option groups that several commands share
``_option_groups``    how a dataclass becomes a group of options
``_errors``           errors as one sentence, exit statuses, signals
``_progress``         progress bars and lines
``_results``          results as lines or JSON
``_process_memory``   memory of this process, and what ``--memory`` leaves
``_fit_memory``       peak memory of a fit, for ``demo``
``_hashing``          codes and features of the rows of a file
``_predictor``        a model file applied to rows
===================== ==================================================================================
"""

from __future__ import annotations

from ._errors import errors_as_sentences, stop_at_once


def main() -> None:
    """Run the command line. The exit status is 0, 1 after a failure, 2 after wrong usage, 130 after Ctrl-C."""
    with errors_as_sentences():
        with stop_at_once():
            try:
                from ._main import app
            except ModuleNotFoundError as error:
                if error.name not in ("typer", "rich"):
                    raise
                from ..exceptions import MissingExtraError

                raise MissingExtraError("cli", error.name) from None
        app()
