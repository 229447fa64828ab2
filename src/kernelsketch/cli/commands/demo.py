"""``kernelsketch demo``: accuracy, log-loss and time of the models on a table with categories and gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._errors import stop_at_once


def command(
    rows: Annotated[
        int, typer.Option("--rows", min=200, help="Number of rows. Half of them train the models.")
    ] = 20_000,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FOLDER",
            help="Only write files to try the other commands on: digits.svm, digits.t.svm and articles.jsonl.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare GCWSTabularClassifier with linear and kernel SVMs and with boosted trees on a table of loans."""
    with stop_at_once():
        from ..work.demo import compare_models, write_files

    if write is None:
        compare_models(rows)
    else:
        write_files(write)
