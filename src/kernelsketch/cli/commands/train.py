"""``kernelsketch train``: from a file of rows to a model file, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from ..._losses import CLASSIFIER_LOSSES, LOSSES, PROBABILITY_LOSSES, REGRESSOR_LOSSES, TABLE_LOSSES
from .._errors import UsageError
from .._file_roles import FileRole
from .._option_groups import launcher, option
from .._options import (
    HashOptions,
    RowsOptions,
    RunOptions,
    SeveralInputs,
    id_option,
    json_flag,
    model_file,
    weight_option,
)


def _listed(losses: tuple[str, ...]) -> str:
    """Return the names of losses for the help, with what is special about them."""
    first, *more = (name + ", which gives probabilities" * (name in PROBABILITY_LOSSES) for name in losses)
    return f"{', '.join([f'{first} (the default)', *more[:-1]])} or {more[-1]}"


@dataclass
class LearningOptions:
    """What is learned, and how closely."""

    panel = "Learning"
    C: float | None = option(
        None,
        "Inverse strength of the regularization, as in LinearSVC: larger values fit the training rows more closely. "
        "The default is 1.",
        "-C",
    )
    cv: bool = option(False, "Choose C by cross-validation. All codes must fit in memory.")
    regression: bool = option(False, "Predict numbers instead of classes.")
    classes: bool = option(False, "Learn a class for each label, even if the labels are very many different numbers.")
    loss: str | None = option(
        None,
        f"Loss function: {_listed(CLASSIFIER_LOSSES)}. With --regression: {_listed(REGRESSOR_LOSSES)}. Of a table, "
        f"with --regression: {_listed(TABLE_LOSSES)}, which is for counts.",
        metavar="LOSS",
        choices=tuple(dict.fromkeys([*LOSSES, *TABLE_LOSSES])),
    )
    quantile: float | None = option(
        None,
        "Share of the labels below the predictions, with --loss quantile. The default is 0.5, the median.",
        metavar="SHARE",
    )
    balanced: bool = option(False, "Weight classes inversely to their frequency, as class_weight='balanced' does.")
    tol: float = option(1e-3, "Relative duality gap at which the solver stops.")
    max_iter: int = option(1000, "Largest number of passes over the codes.", min=1)


@dataclass
class TableOptions:
    """How a model is learned from a table."""

    panel = "Tables"
    effort: str = option(
        "default",
        "How much work training does: quick, default or thorough. quick takes a fraction of the time of default, "
        "thorough several times as long.",
        metavar="EFFORT",
        choices=("quick", "default", "thorough"),
    )
    budget: float | None = option(
        None,
        "Time limit of training. Less time means fewer rows and, where few are left, hashes, values of C and "
        "trees. The output says what was given up.",
        metavar="SECONDS",
    )
    sample: int | None = option(
        None,
        "Train on at most so many rows, taken at random from the whole file, which may then be larger than memory. The "
        "same --seed takes the same rows.",
        metavar="ROWS",
        min=2,
    )
    groups: str | None = option(
        None,
        "Column that says what a row belongs to, for example a customer. Rows of one group are held out together, so "
        "that the score is that of new groups. It stays a feature unless --drop names it, too.",
        metavar="COLUMN",
    )
    time: str | None = option(
        None,
        "Column of dates or numbers that order the rows. Held-out rows are later than those that train, so that the "
        "score is that of later rows.",
        metavar="COLUMN",
    )
    categorical_features: list[str] | None = option(
        None,
        "Column of categories, whatever its values are, such as codes that are numbers: its name, or its number from 0 "
        "in a file without names. Repeat the option for more columns.",
        "--categorical",
        metavar="COLUMN",
    )
    max_categories: int = option(
        100,
        "Largest number of categories of a column that have a feature of their own. The rarer ones share one.",
        min=1,
    )
    infinity: str = option(
        "error",
        "What an infinite number is: an error, or a missing value.",
        choices=("error", "missing"),
        metavar="error|missing",
    )
    scoring: str | None = option(
        None,
        "Score, by its name in scikit-learn, by which held-out rows choose C, the blend and the threshold, such as f1, "
        "balanced_accuracy, roc_auc, neg_log_loss or neg_mean_absolute_error.",
        metavar="SCORE",
    )
    threshold: str = option(
        "auto",
        "Probability from which on rows are of the second of two classes. auto lets held-out rows choose it for a "
        "--scoring that depends on it; none is the most probable class.",
        metavar="auto|none|NUMBER",
    )
    on_interrupt: str = option(
        "raise",
        "What Ctrl-C does while a model is learned. raise stops without a model. keep ends early and writes the model "
        "that there is, and the output says what was given up; before there is one, and at a second Ctrl-C, it stops.",
        choices=("raise", "keep"),
        metavar="raise|keep",
    )
    plain: bool = option(
        False, "Train without the table pipeline: hash the numeric columns, in bounded memory, with the options below."
    )


@dataclass(kw_only=True)
class Train(SeveralInputs, RowsOptions, HashOptions, LearningOptions, TableOptions):
    """Train a model on a file of rows and write it to a file.

    A table (CSV, TSV, Parquet, Arrow) may hold numbers, categories, dates and gaps. The command prepares its columns,
    learns how relevant each is, chooses C by cross-validation and calibrates the probabilities, as
    GCWSTabularClassifier does. The table must fit in memory, or --sample takes some of its rows. The options
    --regression, --balanced, --quantile, --seed and, for numbers, --loss apply; for the other options of learning and
    of the hash, add --plain.

    LIBSVM, NPY and NPZ files, sparse rows in Parquet, codes, and tables of numbers with --plain, may be larger than
    memory. The command hashes their rows as it reads them and keeps only the codes, in a temporary file. The solver
    passes over the codes until the duality gap is small. The weights are those of GCWSClassifier.fit on all rows at
    once, whatever --memory is; a GPU learns them only if the codes fit into its memory.

    The temporary file takes one byte per hash and row. It takes two if --bits and --t-bits add up to more than 8, and
    four if they add up to more than 16. INPUT may also be a file of codes and labels that [bold]hash[/bold] wrote. Then
    leave out the options of the hash.
    """

    context: typer.Context
    sample_weight: str | None = weight_option()
    id: str | None = id_option(" and are not used")
    model: Path = model_file(FileRole.WRITTEN)
    continue_from: Path | None = option(
        None,
        "Go on training an earlier model with the new rows of INPUT, in one pass and in bounded memory. The model "
        "keeps its classes and all its options, and must not come from a table, --cv or --balanced: train these on all "
        "rows. The file of the earlier model stays as it is.",
        "--continue",
        metavar="MODEL",
        role=FileRole.READ,
    )
    temp_dir: Path | None = option(
        None,
        "Folder of the temporary file of codes. By default that of the system for temporary files.",
        metavar="FOLDER",
        rich_help_panel=RunOptions.panel,
    )
    json: bool = json_flag()

    def __post_init__(self) -> None:
        of_numbers = tuple(dict.fromkeys([*REGRESSOR_LOSSES, *TABLE_LOSSES]))
        losses = of_numbers if self.regression else CLASSIFIER_LOSSES
        if self.loss is not None and self.loss not in losses:
            task = "regression" if self.regression else "classification"
            raise UsageError(f"--loss {self.loss} is not a loss for {task}: use one of {', '.join(losses)}.")
        if self.quantile is not None and self.loss != "quantile":
            raise UsageError("--quantile belongs to --loss quantile: add it, or leave --quantile out.")
        if self.cv and self.C is not None:
            raise UsageError("--cv chooses C itself: leave --C out, or leave --cv out.")
        self.threshold_value()
        for name in ("cv", "balanced", "classes", "threshold"):
            if self.regression and getattr(self, name) not in (False, "auto"):
                raise UsageError(f"--{name} needs classes, and --regression predicts numbers: leave one of them out.")
        if self.groups is not None and self.time is not None:
            raise UsageError("--groups and --time exclude each other: pass one of them.")
        if self.budget is not None and not 0 < self.budget < float("inf"):
            raise UsageError(f"--budget must be a positive number of seconds, got {self.budget:g}.")

    def threshold_value(self) -> str | float | None:
        """Return --threshold as the estimator takes it."""
        if self.threshold in ("auto", "none"):
            return "auto" if self.threshold == "auto" else None
        try:
            value = float(self.threshold)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise UsageError(f"--threshold must be auto, none or a probability from 0 to 1, got {self.threshold}.")
        return value

    def is_given(self, name: str) -> bool:
        """Return whether the command line sets a parameter, or the file of --config."""
        source = self.context.get_parameter_source(name)
        return source is not None and source.name in ("COMMANDLINE", "DEFAULT_MAP")


command = launcher(Train, "train", "train")
