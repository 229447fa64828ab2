"""``kernelsketch evaluate``: how good a model is on a file with labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .._errors import UsageError
from .._file_roles import FileRole
from .._option_groups import launcher, option
from .._options import RowsOptions, SeveralInputs, json_flag, model_file, weight_option


@dataclass
class Evaluate(SeveralInputs, RowsOptions):
    """Compare the predictions of a model with the labels of a file.

    For a classifier, the command prints the accuracy with its standard error beside that of the largest class, the area
    under the ROC curve (AUC) and the average precision (for several classes the means over classes, each against the
    rest), precision, recall and F1 of each class, and the confusion matrix. If the model has probabilities, it also
    prints the log-loss, beside that of the shares of the classes, and the expected calibration error. For a regressor,
    it prints R2, the mean absolute error, and the root mean squared error beside that of the mean of the labels.

    Memory stays constant, whatever the size of the file, except for the AUC, which keeps the values of all rows, and
    for the different values of --slice.
    """

    model: Path = model_file(FileRole.READ)
    sample_weight: str | None = weight_option()
    report: Path | None = option(
        None,
        "Write a page (HTML, one file) with the metrics, a confusion matrix, ROC and precision-recall curves, a "
        "calibration plot, the slices and, for models of tables, the importances of the columns.",
        metavar="FILE",
        role=FileRole.WRITTEN,
    )
    positive: str | None = option(
        None,
        "Class whose precision, recall, curves and calibration are shown, against the rest. Of two classes it is by "
        "default the second.",
        metavar="LABEL",
    )
    slice: list[str] | None = option(
        None,
        "Column of a table by whose values to score parts of the rows, with standard errors: its name, or its number "
        "from 0 in a file without names. More than 10 different numbers become quartiles; rows without a value are a "
        "slice of their own, and slices of less than 30 rows are marked. Repeat the option for more columns.",
        metavar="COLUMN",
    )
    json: bool = json_flag()

    def __post_init__(self) -> None:
        if self.slice and self.sample_weight is not None:
            raise UsageError("--slice and --sample-weight exclude each other: pass one of them.")


command = launcher(Evaluate, "evaluate", "evaluate")
