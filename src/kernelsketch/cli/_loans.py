"""A table of loans for ``kernelsketch demo``: who fails to repay? The rows are invented, and the same on each call.

The table has what tables of lenders have, and nothing in it was adjusted after a model had been tried:

- numbers on different scales with heavy tails (income, amount), counts (late payments) and shares (utilization);
- categories with 3, 6, 12, 40 and 150 levels, most rows in a few of them;
- gaps at random (income, housing), and gaps that mean something: no card, so no utilization; no job, so no tenure;
- columns unrelated to the label: branch, balance and contacts;
- a smooth effect along a mixture of columns: the logarithm of the monthly payment relative to the income;
- interactions: late payments weigh more with a used-up card, tenure matters for employees only, and loans for a
  business depend on the income;
- a threshold rule: long loans to people below 25;
- effects of single categories, drawn at random for each region and purpose;
- noise: the label is drawn from the probability, and 2 % of the labels are then turned around.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._array import Array

EMPLOYMENT = ("employee", "self-employed", "public service", "retired", "student", "unemployed")
HOUSING = ("rent", "own", "with parents")
FLIPPED = 0.02  # share of labels that are turned around


class Loans(NamedTuple):
    """A table of loans."""

    names: list[str]  # of the columns
    X: Array  # of objects: numbers and strings, with None where a value is missing
    y: Array  # "default" or "repaid"
    is_category: Array  # whether a column holds strings
    probability: Array  # of "default", from which the label was drawn: no model can do better


def loan_lines(n_rows: int) -> tuple[str, list[str]]:
    """Return the names of the columns and the rows of a table of loans as lines of CSV."""
    loans = make_loans(n_rows)
    lines = []
    for row, outcome in zip(loans.X.tolist(), loans.y.tolist(), strict=True):
        cells = ["" if cell is None else cell if isinstance(cell, str) else f"{cell:.6g}" for cell in row]
        lines.append(",".join([*cells, outcome]))
    return ",".join([*loans.names, "outcome"]), lines


def make_loans(n_rows: int) -> Loans:
    """Return a table of loans."""
    rng = np.random.default_rng(0)
    employment = rng.choice(EMPLOYMENT, n_rows, p=[0.5, 0.14, 0.14, 0.1, 0.06, 0.06])
    works = np.isin(employment, EMPLOYMENT[:3])
    age = np.where(employment == "retired", rng.uniform(60, 85, n_rows), 18 + 45 * rng.beta(1.6, 2.2, n_rows))
    income = np.exp(rng.normal(7.8, 0.5, n_rows) + 0.35 * works + 0.008 * (age - 40)) + rng.exponential(100, n_rows)
    amount = np.exp(rng.normal(8.9, 0.8, n_rows) + 0.3 * (np.log(income) - 8))
    term = rng.choice([12, 24, 36, 48, 60, 72], n_rows, p=[0.1, 0.2, 0.3, 0.15, 0.15, 0.1])
    late = rng.poisson(rng.gamma(0.4, 2.0, n_rows))
    utilization = rng.beta(1.2 + 0.3 * np.minimum(late, 5), 2.5, n_rows)
    has_card = rng.random(n_rows) < 0.85
    tenure = np.minimum(rng.exponential(7, n_rows), np.maximum(age - 17, 0.1))
    housing = rng.choice(HOUSING, n_rows, p=[0.52, 0.38, 0.1])
    region, region_effect = _category(rng, "region", 40, n_rows, spread=0.35)
    purpose, purpose_effect = _category(rng, "purpose", 12, n_rows, spread=0.5)
    branch, _ = _category(rng, "branch", 150, n_rows, spread=0)
    balance = np.round(np.sinh(rng.normal(0, 3, n_rows)) * 200, 2)
    contacts = rng.poisson(3, n_rows)

    burden = np.log(amount / term / income)  # an oblique direction of the logarithms
    logit = -1.4 + 1.6 * (burden + 2.6) + region_effect + purpose_effect
    logit += 0.5 * np.sqrt(late) * np.where(has_card, 0.5 + 2 * utilization, 1)
    logit -= np.where(employment == "employee", 0.9 * np.log1p(tenure) - 1.3, 0)
    logit += 1.2 * (employment == "unemployed") + 0.8 * np.sin(age / 8) + 0.4 * (housing == "rent") - 0.4 * has_card
    logit += np.where(purpose == "purpose 2", 1.5 * np.tanh(8 - np.log(income)), 0)
    logit += 1.5 * ((age < 25) & (term >= 48))
    probability = FLIPPED + (1 - 2 * FLIPPED) / (1 + np.exp(-1.5 * logit))
    y = np.where(rng.random(n_rows) < probability, "default", "repaid")

    gone = rng.random((2, n_rows))
    columns: dict[str, tuple[Array, Any]] = {  # values, and where they are missing
        "income": (np.round(income), gone[0] < np.where(employment == "self-employed", 0.2, 0.05)),
        "amount": (np.round(amount, -2), False),
        "term": (term, False),
        "age": (np.floor(age), False),
        "tenure": (np.round(tenure, 1), ~works),
        "utilization": (np.round(utilization, 3), ~has_card),
        "late": (late, False),
        "balance": (balance, False),
        "contacts": (contacts, False),
        "employment": (employment, False),
        "housing": (housing, gone[1] < 0.08),
        "region": (region, False),
        "purpose": (purpose, False),
        "branch": (branch, False),
    }
    X = np.empty((n_rows, len(columns)), dtype=object)
    for i, (values, missing) in enumerate(columns.values()):
        X[:, i] = values
        X[np.broadcast_to(missing, n_rows), i] = None
    is_category = np.array([values.dtype.kind == "U" for values, _ in columns.values()])
    return Loans(list(columns), X, y, is_category, probability)


def _category(rng: Any, name: str, levels: int, n_rows: int, spread: float) -> tuple[Array, Array]:
    """Return a category per row, with frequencies that fall as a power, and the effect of the category of each row."""
    shares = 1 / np.arange(2, levels + 2)
    drawn = rng.choice(levels, n_rows, p=shares / shares.sum())
    effects = rng.normal(0, spread, levels) if spread else np.zeros(levels)
    return np.array([f"{name} {i + 1}" for i in range(levels)])[drawn], effects[drawn]
