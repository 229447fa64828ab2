"""``kernelsketch predict``: labels for the rows of a file."""

from __future__ import annotations

from typing import Annotated

import typer

from ..._losses import PROBABILITY_LOSSES
from .._errors import UsageError, stop_at_once
from .._option_groups import with_option_groups
from .._options import Input, InputOptions, Model, RunOptions, TextOutput


@with_option_groups
def command(
    input: Input,
    model: Model,
    reading: InputOptions,
    running: RunOptions,
    output: TextOutput = "-",
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Add the decision values: tab-separated columns below a line of class names."),
    ] = False,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add the probabilities of the classes. The model must come from a table or have --loss "
            f"{' or '.join(PROBABILITY_LOSSES)}.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object per row.")] = False,
) -> None:
    """Predict the label of each row: one line per row, in the order of the file.

    Rows are hashed and predicted block by block, so memory stays constant. If the file has column names, the features
    are found by their names, in any order; a model of a table ignores all other columns. Labels in INPUT are ignored;
    [bold]evaluate[/bold] compares with them.
    """
    if scores and proba:
        raise UsageError("--scores and --proba exclude each other: pass one of them.")
    with stop_at_once():
        from ..work.predict import predict

    predict(input, model, reading, running, output, "scores" if scores else "probabilities" if proba else None, json)
