"""``kernelsketch predict``: labels for the rows of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..._losses import PROBABILITY_LOSSES
from .._errors import UsageError
from .._file_roles import FileRole
from .._option_groups import launcher, option
from .._options import RowsOptions, input_file, json_flag, model_file, text_output


@dataclass
class Predict(RowsOptions):
    """Predict the label of each row: one line per row, in the order of the file.

    Rows are hashed and predicted block by block, so memory stays constant. If the file has column names, the features
    are found by their names, in any order; a model of a table ignores all other columns. Labels in INPUT are ignored;
    [bold]evaluate[/bold] compares with them.
    """

    input: str = input_file()
    model: Path = model_file(FileRole.READ)
    output: str = text_output()
    scores: bool = option(False, "Add the decision values: tab-separated columns below a line of class names.")
    proba: bool = option(
        False,
        "Add the probabilities of the classes. The model must come from a table or have --loss "
        f"{' or '.join(PROBABILITY_LOSSES)}.",
    )
    explain: int | None = option(
        None,
        "Say why: add the N columns of a table that contribute most to the prediction, with their values and "
        "contributions. These, a base value and the sum of the other columns add up to the output.",
        min=1,
        metavar="N",
    )
    explain_by: str = option(
        "shapley",
        "How --explain computes contributions. hashes takes little more time than a prediction, but is less exact.",
        choices=("shapley", "hashes"),
    )
    json: bool = json_flag("Write one JSON object per row.")

    def __post_init__(self) -> None:
        if self.scores and self.proba:
            raise UsageError("--scores and --proba exclude each other: pass one of them.")
        if self.explain is not None and (self.scores or self.proba):
            raise UsageError("--explain and --scores or --proba exclude each other: --explain has the output itself.")
        if self.explain is None and self.explain_by != "shapley":
            raise UsageError(f"--explain-by {self.explain_by} is for --explain: pass --explain N, too.")


command = launcher(Predict, "predict", "predict")
