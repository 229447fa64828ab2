"""The command line, ``kernelsketch COMMAND``. A command is imported when it is called.

===================== ==================================================================================
``_main``             the table of commands and the group that imports them
``commands/``         what a user types and reads: one file per command with its options, help and examples;
                      light, so that ``--help`` and wrong usage answer at once
``work/``             what a command does: one file per command
``plugins``           what packages that add commands may import
``_options``          options and option groups that several commands share
``_option_groups``    how a dataclass becomes a group of options
``_config``           options from a TOML file
``_errors``           errors as one sentence, exit statuses, signals
``_progress``         progress bars and lines
``_results``          results as lines or JSON
``_memory``           memory of the machine and of this process, and what ``--memory`` leaves
``_loans``            the table of ``demo``
``_hashing``          codes and features of the rows of a file
``_file_predictor``   a model file applied to the rows of another file
``_tables``           blocks of a table as tabular models take them
``_table_facts``      what commands print about the columns of a tabular model; imports no scikit-learn
``_scores``           metrics, summed over blocks
``_page``             the frame of pages
``_report``           the page of ``evaluate --report``, with the plots of ``_svg``
``_dedup_results``    what ``dedup`` writes besides the documents, and why documents go
``_dedup_report``     the page of ``dedup --report``
===================== ==================================================================================
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]

# Ctrl-C while Python imports what handles Ctrl-C ends the process without a traceback.
_early = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
try:
    if _early:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
except ValueError:  # not in the main thread
    _early = False

import os  # noqa: E402
from time import monotonic, process_time  # noqa: E402
from typing import Any  # noqa: E402

_begin = monotonic() - process_time()  # Python itself has taken so long

from ._errors import end_interrupted, errors_as_sentences, stop_at_once  # noqa: E402
from ._progress import count_from  # noqa: E402

if _early:
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def main() -> None:
    """Run the command line. The exit status is 0, 1 after a failure, 2 after wrong usage, 130 after Ctrl-C."""
    count_from(_begin)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # makes the bound of formats._bounded exact
    try:
        with errors_as_sentences():
            with stop_at_once():
                app = _import_app()
            app()
    except KeyboardInterrupt:  # before the first block began
        end_interrupted()


def _import_app() -> Any:
    try:
        from ._main import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        from ..exceptions import MissingExtraError

        raise MissingExtraError("cli", error.name) from None
    return app
