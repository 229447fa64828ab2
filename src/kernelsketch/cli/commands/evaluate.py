"""``kernelsketch evaluate``: how good a model is on a file with labels."""

from __future__ import annotations

from .._errors import stop_at_once
from .._option_groups import with_option_groups
from .._options import Input, InputOptions, Json, Model, RunOptions


@with_option_groups
def command(input: Input, model: Model, reading: InputOptions, running: RunOptions, json: Json = False) -> None:
    """Compare the predictions of a model with the labels of a file.

    A classifier gets its accuracy with a standard error, and precision, recall and F1 of each class. A regressor gets
    R2, the mean absolute error and the root mean squared error. Memory stays constant, whatever the size of the file.
    """
    with stop_at_once():
        from ..work.evaluate import evaluate

    evaluate(input, model, reading, running, json)
