"""``kernelsketch evaluate``: how good a model is on a file with labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._errors import stop_at_once
from .._file_roles import FileRole
from .._option_groups import with_option_groups
from .._options import Input, InputOptions, Json, Model, RunOptions


@with_option_groups
def command(
    input: Input,
    model: Model,
    reading: InputOptions,
    running: RunOptions,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a page (HTML, one file) with the metrics, a confusion matrix, a calibration plot and, for "
            "models of tables, the importances of the columns.",
            show_default=False,
        ),
        FileRole.WRITTEN,
    ] = None,
    json: Json = False,
) -> None:
    """Compare the predictions of a model with the labels of a file.

    A classifier gets its accuracy with a standard error, and precision, recall and F1 of each class. If it has
    probabilities, it also gets the log-loss, the area under the ROC curve (for several classes the mean over classes,
    each against the rest) and the expected calibration error. A regressor gets R2, the mean absolute error and the root
    mean squared error.

    Memory stays constant, whatever the size of the file, except for the AUC, which keeps all probabilities.
    """
    with stop_at_once():
        from ..work.evaluate import evaluate

    evaluate(input, model, reading, running, report, json)
