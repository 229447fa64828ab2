"""``kernelsketch train``: from a file of rows to a model file, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ..._losses import CLASSIFIER_LOSSES, LOSSES, PROBABILITY_LOSSES, REGRESSOR_LOSSES, loss_named
from .._errors import UsageError, stop_at_once
from .._option_groups import with_option_groups
from .._options import RUN_PANEL, HashOptions, Input, InputOptions, Json, NewModel, RunOptions

LEARNING_PANEL, TABLE_PANEL = "Learning", "Tables"
Effort = Enum("Effort", {name: name for name in ("quick", "default", "thorough")}, type=str)  # type: ignore[misc]
Loss = Enum("Loss", {name: name for name in LOSSES}, type=str)  # type: ignore[misc]


def _listed(losses: tuple[str, ...]) -> str:
    """Return the names of losses for the help, with what is special about them."""
    first, *more = (name + ", which gives probabilities" * (name in PROBABILITY_LOSSES) for name in losses)
    return f"{', '.join([f'{first} (the default)', *more[:-1]])} or {more[-1]}"


@dataclass
class LearningOptions:
    """What is learned, and how closely."""

    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            "-C",
            help="Inverse strength of the regularization, as in LinearSVC: larger values fit the training rows more "
            "closely. The default is 1.",
            show_default=False,
            rich_help_panel=LEARNING_PANEL,
        ),
    ] = None
    cv: Annotated[
        bool,
        typer.Option(
            "--cv",
            help="Choose C by cross-validation. All codes must fit in memory.",
            rich_help_panel=LEARNING_PANEL,
        ),
    ] = False
    regression: Annotated[
        bool,
        typer.Option("--regression", help="Predict numbers instead of classes.", rich_help_panel=LEARNING_PANEL),
    ] = False
    classes: Annotated[
        bool,
        typer.Option(
            "--classes",
            help="Learn a class for each label, even if the labels are very many different numbers.",
            rich_help_panel=LEARNING_PANEL,
        ),
    ] = False
    loss: Annotated[
        Loss | None,
        typer.Option(
            "--loss",
            metavar="LOSS",
            help=f"Loss function: {_listed(CLASSIFIER_LOSSES)}. With --regression: {_listed(REGRESSOR_LOSSES)}.",
            show_default=False,
            rich_help_panel=LEARNING_PANEL,
        ),
    ] = None
    quantile: Annotated[
        float | None,
        typer.Option(
            "--quantile",
            metavar="SHARE",
            help="With --loss quantile: the share of labels that is to be below the predictions. The default is 0.5, "
            "the median.",
            show_default=False,
            rich_help_panel=LEARNING_PANEL,
        ),
    ] = None
    balanced: Annotated[
        bool,
        typer.Option(
            "--balanced",
            help="Weight classes inversely to their frequency, as class_weight='balanced' does.",
            rich_help_panel=LEARNING_PANEL,
        ),
    ] = False
    tol: Annotated[
        float,
        typer.Option(
            "--tol",
            help="Relative duality gap at which the solver stops.",
            rich_help_panel=LEARNING_PANEL,
        ),
    ] = 1e-3
    max_iter: Annotated[
        int,
        typer.Option(
            "--max-iter", min=1, help="Largest number of passes over the codes.", rich_help_panel=LEARNING_PANEL
        ),
    ] = 1000

    def __post_init__(self) -> None:
        losses = REGRESSOR_LOSSES if self.regression else CLASSIFIER_LOSSES
        if self.loss is not None and self.loss.value not in losses:
            task = "regression" if self.regression else "classification"
            raise UsageError(f"--loss {self.loss.value} is not a loss for {task}: use one of {', '.join(losses)}.")
        if self.quantile is not None and (self.loss is None or loss_named(self.loss.value).parameter != "quantile"):
            raise UsageError("--quantile belongs to --loss quantile: add it, or leave --quantile out.")
        if self.cv and self.C is not None:
            raise UsageError("--cv chooses C itself: leave --C out, or leave --cv out.")
        for name in ("cv", "balanced", "classes"):
            if self.regression and getattr(self, name):
                raise UsageError(f"--{name} needs classes, and --regression predicts numbers: leave one of them out.")


@dataclass
class TableOptions:
    """How a model is learned from a table."""

    effort: Annotated[
        Effort,
        typer.Option(
            "--effort",
            metavar="EFFORT",
            help="How much work training does: quick, default or thorough. quick takes a fraction of the time of "
            "default, thorough several times as long.",
            rich_help_panel=TABLE_PANEL,
        ),
    ] = Effort.default  # type: ignore[attr-defined]
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="SECONDS",
            help="Time that training may take. It then uses fewer hashes, fewer values of C, fewer trees and, if "
            "necessary, fewer rows.",
            show_default=False,
            rich_help_panel=TABLE_PANEL,
        ),
    ] = None
    plain: Annotated[
        bool,
        typer.Option(
            "--plain",
            help="Train as on other files: the bare hash of numbers, in bounded memory, with the options below.",
            rich_help_panel=TABLE_PANEL,
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.budget is not None and not 0 < self.budget < float("inf"):
            raise UsageError(f"--budget must be a positive number of seconds, got {self.budget:g}.")


def _given_options(context: typer.Context) -> list[str]:
    """Return the names of the parameters that the command line has set."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


@dataclass
class TrainTask:
    """What the command line asks for; ``given`` names the parameters that it sets."""

    input: str
    model: Path
    table: TableOptions
    hashing: HashOptions
    learning: LearningOptions
    reading: InputOptions
    running: RunOptions
    temp_dir: Path | None
    json: bool
    given: list[str]


@with_option_groups
def command(
    *,
    context: typer.Context,
    input: Input,
    model: NewModel,
    table: TableOptions,
    learning: LearningOptions,
    hashing: HashOptions,
    reading: InputOptions,
    running: RunOptions,
    temp_dir: Annotated[
        Path | None,
        typer.Option(
            "--temp-dir",
            metavar="FOLDER",
            help="Folder of the temporary file of codes. By default that of the system for temporary files.",
            show_default=False,
            rich_help_panel=RUN_PANEL,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Train a model on a file of rows and write it to a file.

    A table (CSV, TSV, Parquet, Arrow) may hold numbers, categories, dates and gaps. The command prepares its columns,
    learns how relevant each is, chooses C by cross-validation and calibrates the probabilities, as
    GCWSTabularClassifier does. The table must fit in memory. The options --regression, --balanced and --seed apply;
    for the other options of learning and of the hash, add --plain.

    LIBSVM, NPY and NPZ files, sparse rows in Parquet, codes, and tables of numbers with --plain, may be larger than
    memory. The command hashes their rows as it reads them and keeps only the codes, in a temporary file. The solver
    passes over the codes until the duality gap is small. The weights are those of GCWSClassifier.fit on all rows at
    once, whatever --memory is; on a GPU only if the codes fit into it.

    The temporary file takes one byte per hash and row. It takes two if --bits and --t-bits add up to more than 8, and
    four if they add up to more than 16. INPUT may also be a file of codes and labels that [bold]hash[/bold] wrote. Then
    leave out the options of the hash.
    """
    with stop_at_once():
        from ..work.train import train

    task = TrainTask(input, model, table, hashing, learning, reading, running, temp_dir, json, _given_options(context))
    train(task)
