"""What commands print about the columns of a tabular model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._results import print_table

if TYPE_CHECKING:
    from ..tabular import ColumnPlan

SHOWN, MOST_COLUMNS = 5, 50


def column_facts(model: Any) -> list[dict[str, Any]]:
    """Return what was done to each column, in the order of the table."""
    return [
        {**plan_facts(column), "importance": float(value)}
        for column, value in zip(model.columns_, model.feature_importances_, strict=True)
    ]


def plan_facts(column: ColumnPlan) -> dict[str, Any]:
    """Return what is done to a column."""
    return {
        "name": column.name,
        "kind": column.kind,
        "treatment": column.treatment,
        "used": column.is_used,
        "missing": column.n_missing,
    }


def important_columns(columns: list[dict[str, Any]]) -> str:
    """Return the most important columns as text."""
    first = by_importance(columns)[:SHOWN]
    return ", ".join(f"{column['name']} ({100 * column['importance']:.0f} %)" for column in first) or "no column"


def by_importance(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns that have an importance, the most important first."""
    return sorted((column for column in columns if column["importance"] > 0), key=lambda c: -c["importance"])


def print_columns(columns: list[dict[str, Any]]) -> None:
    """Print a table of the columns: what is done to each, missing values, and the importance if it is known."""
    known = "importance" in columns[0]
    rows = []
    for column in columns:
        importance = [f"{100 * column['importance']:.1f} %" if column["used"] else "-"] if known else []
        rows.append([column["name"], column["treatment"], f"{column['missing']:,}", *importance])
    names = ("column", "treatment", "missing", *(["importance"] if known else []))
    print_table(names, rows, range(2, len(names)), MOST_COLUMNS, "columns")
