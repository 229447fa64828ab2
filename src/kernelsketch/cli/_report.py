"""The page of ``kernelsketch evaluate --report``: metrics and plots in one HTML file that loads nothing.

``page.html`` is the frame of this page and of that of ``dedup --report``.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from ._svg import bars, calibration, matrix, scatter, short
from ._table_facts import by_importance, column_facts

MOST_CLASSES, MOST_COLUMNS = 20, 20
LARGEST = 1e300  # of a value in a plot


def report_page(
    model_name: str,
    input: str,
    model: Any,
    facts: dict[str, Any],
    lines: dict[str, str],
    points: Sequence[tuple[float, float]],
) -> str:
    """Return the page as text; ``lines`` are the metrics as the command prints them."""
    sections = [section("Metrics", "", facts_table(lines))]
    if "classes" in facts:
        sections += _class_sections(facts)
    shown = [point for point in points if max(map(abs, point)) < LARGEST]
    if shown:
        note = f"The first {len(points):,} rows. Exact predictions lie on the diagonal."
        sections.append(section("Predictions", note, scatter(shown, "predicted", "true value")))
    if hasattr(model, "columns_"):
        sections.append(_importance_section(column_facts(model)))
    subtitle = f"{escape(type(model).__name__)}, evaluated on {facts['rows']:,} rows of {escape(input)}"
    title = escape(f"Evaluation of {model_name}")
    return page(title, subtitle, sections)


def page(title: str, subtitle: str, sections: Sequence[str]) -> str:
    """Return a page of HTML; title and subtitle are HTML too."""
    template = Template(Path(__file__).with_name("page.html").read_text("utf-8"))
    return template.substitute(title=title, subtitle=subtitle, sections="\n".join(sections))


def facts_table(lines: dict[str, str]) -> str:
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in lines.items())
    return f'<table class="facts">{rows}</table>'


def section(title: str, note: str, content: str) -> str:
    told = f"<p>{note}</p>" if note else ""
    return f'<h2>{title}</h2>{told}<div class="plot">{content}</div>'


def _class_sections(facts: dict[str, Any]) -> list[str]:
    found = facts["classes"]
    chosen = np.sort(np.argsort([-one["rows"] for one in found], kind="stable")[:MOST_CLASSES])
    labels = [str(found[number]["label"]) for number in chosen]
    counts = np.asarray(facts["confusion"])[np.ix_(chosen, chosen)]
    some = f"The {MOST_CLASSES} most frequent of {len(found)} classes. " if len(found) > MOST_CLASSES else ""
    note = f"{some}Number of rows; the shade is the share of the true class."
    sections = [section("Confusion matrix", note, matrix(labels, counts))]
    if "calibration" in facts:
        two = len(found) == 2
        x_title = (
            f"predicted probability of {short(str(found[1]['label']), 24)}"
            if two
            else "probability of the predicted class"
        )
        y_title = "observed frequency" if two else "observed accuracy"
        note = (
            "Calibrated probabilities lie on the diagonal. A point is a bin of equal width; larger ones have more rows."
        )
        sections.append(section("Calibration", note, calibration(facts["calibration"], x_title, y_title)))
    cells = [
        (str(one["label"]), f"{one['rows']:,}", *("-" if one[key] is None else f"{one[key]:.3f}" for key in _SHARES))
        for one in (found[number] for number in chosen)
    ]
    head = "".join(f"<th>{name}</th>" for name in ("class", "rows", "precision", "recall", "F1"))
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
    return [*sections, section("Classes", some, f"<table><tr>{head}</tr>{body}</table>")]


_SHARES = ("precision", "recall", "f1")


def _importance_section(columns: list[dict[str, Any]]) -> str:
    found = by_importance(columns)
    shown = found[:MOST_COLUMNS]
    note = "Change of the model's values when the column is permuted, as a share of the sum over columns."
    if len(found) > len(shown):
        note = f"The {len(shown)} most important of {len(columns)} columns. {note}"
    plot = bars([column["name"] for column in shown], [column["importance"] for column in shown]) if shown else "-"
    return section("Importance of columns", note, plot)
