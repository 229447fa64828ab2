"""``kernelsketch demo``: accuracy, time and memory of the models on a dataset that scikit-learn ships."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._errors import stop_at_once


def command(
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            metavar="FOLDER",
            help="Only write the digits to the files digits.svm and digits.t.svm, to try the other commands on.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare GCWSClassifier with linear and kernel SVMs on handwritten digits: accuracy, time and memory."""
    with stop_at_once():
        from ..work.demo import compare_models, write_digits

    if write is None:
        compare_models()
    else:
        write_digits(write)
