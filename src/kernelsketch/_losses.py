"""The table of losses: names and properties, without NumPy, so that the help of the command line can read it.

The formulas are in ``_loss_formulas.py`` and, for native code and GPUs, in ``native/core/losses.h``. CONTRIBUTING.md
has the recipe "How to add a loss".
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

Kind = TypeVar("Kind")


class Loss(NamedTuple):
    """One row of the table of losses."""

    name: str  # the value of the estimators' parameter ``loss``
    formula: str  # in the documentation: of the margin m = y f, or of the residual r = f - y
    use: str  # in the documentation: what it is for
    is_regression: bool = False  # targets are numbers; otherwise classes: y is 1 or -1, and y beta is never below 0
    has_probabilities: bool = False  # decision values are log-odds, so that a classifier has ``predict_proba``
    is_smooth: bool = False  # the derivative is continuous, so that Newton's method can learn with the loss
    has_margin: bool = False  # rows beyond a margin have a loss of 0, so that coordinate descent can skip them
    parameter: str | None = None  # the parameter of the estimator that the loss depends on


# The first loss of each kind is its default. The number of a loss, by which back ends know it, is its position here.
LOSS_TABLE = (
    Loss(
        "squared_hinge",
        r"\max(0, 1 - m)^2",
        "Classification. The default, as in ``LinearSVC``.",
        is_smooth=True,
        has_margin=True,
    ),
    Loss("hinge", r"\max(0, 1 - m)", "Classification. It grows linearly, so wrong labels count less.", has_margin=True),
    Loss(
        "log_loss",
        r"\log(1 + e^{-m})",
        "Classification with log-odds as decision values.",
        has_probabilities=True,
        is_smooth=True,
    ),
    Loss("squared_error", "r^2", "Ridge regression.", is_regression=True, is_smooth=True),
    Loss(
        "huber",
        r"\min(|r|, \epsilon)\, (2 |r| - \min(|r|, \epsilon))",
        "Regression with outliers: r^2 up to ``epsilon``, and linear beyond it.",
        is_regression=True,
        is_smooth=True,
        parameter="epsilon",
    ),
    Loss(
        "quantile",
        r"\max(-q r, (1 - q) r)",
        "Regression: the quantile q = ``quantile`` of the targets, for instance the median.",
        is_regression=True,
        parameter="quantile",
    ),
)
LOSSES = tuple(loss.name for loss in LOSS_TABLE)
CLASSIFIER_LOSSES = tuple(loss.name for loss in LOSS_TABLE if not loss.is_regression)
REGRESSOR_LOSSES = tuple(loss.name for loss in LOSS_TABLE if loss.is_regression)
TABLE_LOSSES = ("squared_error", "absolute_error", "quantile", "poisson")  # of regressions on tables
PROBABILITY_LOSSES = tuple(loss.name for loss in LOSS_TABLE if loss.has_probabilities)
WITH_PROBABILITIES = " or ".join(f"loss={name!r}" for name in PROBABILITY_LOSSES)  # for messages


def loss_number(name: str) -> int:
    """Return the number by which back ends know a loss."""
    return LOSSES.index(name)


def loss_named(name: str) -> Loss:
    """Return the row of a loss."""
    return LOSS_TABLE[loss_number(name)]


def names_losses(kind: type[Kind]) -> type[Kind]:
    """Put the names of losses in place of ``{classifier losses}`` and ``{regressor losses}`` in a docstring."""
    for what, names in (("classifier", CLASSIFIER_LOSSES), ("regressor", REGRESSOR_LOSSES)):
        listed = ", ".join(f'"{name}"' for name in names)
        kind.__doc__ = kind.__doc__ and kind.__doc__.replace(f"{{{what} losses}}", f"{{{listed}}}")
    return kind
