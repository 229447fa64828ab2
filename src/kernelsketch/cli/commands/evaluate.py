"""``kernelsketch evaluate``: how good a model is on a file with labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .._file_roles import FileRole
from .._option_groups import launcher, option
from .._options import RowsOptions, SeveralInputs, json_flag, model_file, weight_option


@dataclass
class Evaluate(SeveralInputs, RowsOptions):
    """Compare the predictions of a model with the labels of a file.

    For a classifier, the command prints the accuracy with its standard error, and precision, recall and F1 of each
    class. If the model has probabilities, it also prints the log-loss, the area under the ROC curve (for several
    classes the mean over classes, each against the rest) and the expected calibration error. For a regressor, it prints
    R2, the mean absolute error and the root mean squared error.

    Memory stays constant, whatever the size of the file, except for the AUC, which keeps all probabilities.
    """

    model: Path = model_file(FileRole.READ)
    sample_weight: str | None = weight_option()
    report: Path | None = option(
        None,
        "Write a page (HTML, one file) with the metrics, a confusion matrix, a calibration plot and, for models of "
        "tables, the importances of the columns.",
        metavar="FILE",
        role=FileRole.WRITTEN,
    )
    json: bool = json_flag()


command = launcher(Evaluate, "evaluate", "evaluate")
