"""The page of ``kernelsketch evaluate --report``: metrics and plots in one HTML file that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ._svg import bars, calibration, matrix, scatter, short
from ._table_facts import by_importance, column_facts

MOST_CLASSES, MOST_COLUMNS = 20, 20
LARGEST = 1e300  # of a value in a plot

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1c2430; --muted: #5d6878; --page: #fff; --line: #dfe4ea; --mark: #2f6db3;
  --on: #fff; --shade: #0003; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6eaf0; --muted: #9aa6b5; --page: #14181f; --line: #323b48;
  --mark: #6ba6e8; --on: #0d1117; --shade: #fff3; }} }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; margin-bottom: 0; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.1rem; margin: 2.2rem 0 .4rem; }}
p, .muted {{ color: var(--muted); }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .25rem 1.2rem .25rem 0; text-align: right; border-bottom: 1px solid var(--line); }}
th:first-child, td:first-child {{ text-align: left; }}
.facts td {{ text-align: left; }}
th {{ font-weight: 600; color: var(--muted); }}
/* A shade at an edge shows that there is more beyond it. */
.plot {{ overflow-x: auto; background:
  linear-gradient(to right, var(--page) 30%, transparent) left / 2rem 100% no-repeat local,
  linear-gradient(to left, var(--page) 30%, transparent) right / 2rem 100% no-repeat local,
  linear-gradient(to right, var(--shade), transparent) left / .7rem 100% no-repeat,
  linear-gradient(to left, var(--shade), transparent) right / .7rem 100% no-repeat; }}
svg {{ width: 100%; height: auto; display: block; }}
.bars {{ display: grid; grid-template-columns: fit-content(min(16rem, 40%)) minmax(0, 28rem); gap: .35rem .6rem;
  margin: .6rem 0; font-size: .85rem; line-height: 1.3; align-items: center; }}
.bars dt {{ text-align: right; overflow-wrap: anywhere; }}
.bars dd {{ display: flex; align-items: center; gap: .6rem; margin: 0; color: var(--muted); white-space: nowrap; }}
.bars span {{ width: max(1px, calc((100% - 4.5rem) * var(--length))); height: 1rem; background: var(--mark);
  border-radius: 0 3px 3px 0; }}
@media (max-width: 40rem) {{ th, td {{ padding-right: .6rem; }} }}
svg text {{ font: 12px system-ui, sans-serif; fill: var(--ink); }}
svg text.muted {{ fill: var(--muted); }}
svg text.on-mark {{ fill: var(--on); }}
svg .mark {{ fill: var(--mark); }}
svg .dot {{ stroke: var(--page); stroke-width: 2; }}
svg .grid {{ stroke: var(--line); fill: none; }}
svg .line {{ stroke: var(--mark); stroke-width: 2; fill: none; }}
svg .diagonal {{ stroke: var(--muted); stroke-dasharray: 4 4; fill: none; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{subtitle}</p>
{sections}
</body>
</html>
"""


def report_page(
    model_name: str,
    input: str,
    model: Any,
    facts: dict[str, Any],
    lines: dict[str, str],
    points: Sequence[tuple[float, float]],
) -> str:
    """Return the page as text; ``lines`` are the metrics as the command prints them."""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in lines.items())
    sections = [section("Metrics", "", f'<table class="facts">{rows}</table>')]
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
    return PAGE.format(title=title, subtitle=subtitle, sections="\n".join(sections))


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
