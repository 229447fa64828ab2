"""``kernelsketch predict``: labels for the rows of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..._losses import PROBABILITY_LOSSES
from .._errors import UsageError
from .._file_roles import FileRole
from .._option_groups import launcher, option
from .._options import TABLE_FORMATS, RowsOptions, SeveralInputs, id_option, json_flag, model_file


@dataclass
class Predict(SeveralInputs, RowsOptions):
    """Predict the label of each row, in the order of the files.

    Rows are hashed and predicted block by block, so memory stays constant. If the file has column names, the features
    are found by their names, in any order; a model of a table ignores all other columns. Labels in INPUT are ignored,
    and LIBSVM text needs none; [bold]evaluate[/bold] compares with them.

    The ending of OUTPUT decides the format: .csv, .tsv, .jsonl or .parquet, where .gz, .bz2, .xz or .zst may follow,
    except for Parquet. The columns are those of --id and --columns, prediction, and what further options add; models of
    several labels have columns prediction_LABEL. Without such an ending, and on standard output, the result is text:
    one label per line or, with several columns, a line of names and tab-separated fields, in which probabilities and
    scores have six digits. --to chooses another format.
    """

    model: Path = model_file(FileRole.READ)
    id: str | None = id_option(", and a column of the output, the first one.")
    output: str = option("-", "Output file. - is standard output.", "-o", metavar="FILE", role=FileRole.WRITTEN)
    to: str | None = option(
        None, "Format of the output. By default the ending of its name decides.", choices=TABLE_FORMATS
    )
    columns: list[str] | None = option(
        None,
        "Column of a table to write beside the prediction, which may be a feature: its name, or its number from 0 in "
        "a file without names. Repeat the option for more columns; they come first, in this order. Those of CSV are "
        "text.",
        metavar="COLUMN",
    )
    scores: bool = option(False, "Add the decision values: columns score_CLASS.")
    proba: bool = option(
        False,
        "Add the probabilities of the classes: columns probability_CLASS. The model must come from a table or have "
        f"--loss {' or '.join(PROBABILITY_LOSSES)}.",
    )
    explain: int | None = option(
        None,
        "Say why: add the contributions of the N columns of a table that contribute most to the prediction. These, a "
        "base value and the sum of the other columns add up to the output. In CSV, TSV and Parquet they are columns "
        "contribution_COLUMN, empty where another column contributes more; text and JSONL have their values, too.",
        min=1,
        metavar="N",
    )
    explain_by: str = option(
        "shapley",
        "How --explain computes contributions. hashes takes little more time than a prediction, but is less exact.",
        choices=("shapley", "hashes"),
    )
    interval: float | None = option(
        None,
        "Add an interval that has the value of this share of rows, for example 0.9: two columns, lower and upper. With "
        "classes, add the set of classes instead, which has the label of this share. The model must come from a table.",
        metavar="COVERAGE",
    )
    json: bool = json_flag("Write one JSON object per row, as --to jsonl does.")

    def __post_init__(self) -> None:
        values = {"scores": self.scores, "proba": self.proba, "interval": self.interval is not None}
        given = [name for name, is_given in values.items() if is_given]
        if len(given) > 1:
            raise UsageError(f"--{given[0]} and --{given[1]} exclude each other: pass one of them.")
        if self.json and self.to not in (None, "jsonl"):
            raise UsageError(f"--json and --to {self.to} exclude each other: pass one of them.")
        if self.interval is not None and not 0 < self.interval < 1:
            raise UsageError(f"--interval must be above 0 and below 1, got {self.interval:g}: pass 0.9 for 90 %.")
        if self.explain is not None and self.interval is not None:
            raise UsageError("--explain and --interval exclude each other: pass one of them.")
        if self.explain is not None and given:
            raise UsageError("--explain and --scores or --proba exclude each other: --explain has the output itself.")
        if self.explain is None and self.explain_by != "shapley":
            raise UsageError(f"--explain-by {self.explain_by} is for --explain: pass --explain N, too.")


command = launcher(Predict, "predict", "predict")
