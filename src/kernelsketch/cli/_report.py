"""The page of ``kernelsketch evaluate --report``: metrics and plots in one HTML file that loads nothing."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ._page import facts_table, page, section, table
from ._slices import FEW_ROWS, slice_table
from ._svg import bars, calibration, curves, matrix, scatter, short
from ._table_facts import by_importance, column_facts

MOST_CLASSES, MOST_COLUMNS, MOST_CURVES = 20, 20, 5
LARGEST = 1e300  # of a value in a plot


def report_page(
    model_name: str,
    input: str,
    model: Any,
    facts: dict[str, Any],
    lines: dict[str, str],
    scores: Any,
) -> str:
    """Return the page as text; ``lines`` are the metrics as the command prints them, from the ``scores``."""
    sections = [section("Metrics", "", facts_table(lines))]
    if "classes" in facts:
        sections += _class_sections(facts, scores)
    else:
        shown = [point for point in scores.points if max(map(abs, point)) < LARGEST]
        note = f"The first {len(scores.points):,} rows. Exact predictions lie on the diagonal."
        if shown:
            sections.append(section("Predictions", note, scatter(shown, "predicted", "true value")))
    sections += [_slice_section(found, facts.get("positive")) for found in facts.get("slices", ())]
    if hasattr(model, "columns_"):
        sections.append(_importance_section(column_facts(model)))
    subtitle = f"{escape(type(model).__name__)}, evaluated on {facts['rows']:,} rows of {escape(input)}"
    title = escape(f"Evaluation of {model_name}")
    return page(title, subtitle, sections)


def _slice_section(found: dict[str, Any], positive: Any) -> str:
    notes = ["Means over the rows with a value, ± their standard errors."]
    if found["kind"] == "quartiles":
        notes.append("Each slice has about a quarter of the rows.")
    if any(one["few_rows"] for one in found["slices"]):
        notes.append(f"Slices of less than {FEW_ROWS} rows are marked: their scores may be chance.")
    if "observed" in found["slices"][0]:
        of_one = escape(str(positive))
        notes.append(f"The share of {of_one} is that among the labels (positive) and the mean prediction (predicted).")
    return section(f"Slices by {escape(found['column'])}", " ".join(notes), table(*slice_table(found)))


def _curve_sections(facts: dict[str, Any], scores: Any) -> list[str]:
    """Return the curves of the positive class or, if none is chosen, of the most frequent classes."""
    found, positive = facts["classes"], scores.positive
    by_rows = np.argsort([-one["rows"] for one in found], kind="stable")[:MOST_CURVES].tolist()
    shown = sorted(by_rows) if positive is None else [positive]
    known = {number: curve for number in shown if (curve := scores.ranking.curves(number)) is not None}
    if not known:
        return []
    names = {number: str(found[number]["label"]) for number in known}
    if positive is None:
        which = f"The {len(shown)} most frequent of {len(found)} classes" if len(found) > len(shown) else "Each class"
        note = f"{which} against the rest; --positive LABEL shows one."
    else:
        note = f"The positive class is {escape(names[positive])}; --positive LABEL chooses another one."
    point = None if positive is None else _point(facts, positive)
    roc = [(f"{short(names[n], 12)}, AUC {found[n]['auc']:.3f}", curve.roc) for n, curve in known.items()]
    pairs = [
        (f"{short(names[n], 12)}, AP {found[n]['average_precision']:.3f}", c.precision_recall) for n, c in known.items()
    ]
    share = next(iter(known.values())).share
    dashed = "The dashed line is chance" + ("." if point is None else "; the point is what the model predicts.")
    return [
        section(
            "ROC curve",
            f"{note} {dashed}",
            curves(
                roc,
                "false positive rate",
                "true positive rate (recall)",
                of_chance=[(0, 0), (1, 1)],
                legend_right=True,
                point=None if point is None else (point[0], point[1]),
            ),
        ),
        section(
            "Precision and recall",
            note,
            curves(
                pairs,
                "recall",
                "precision",
                of_chance=[(0, share), (1, share)] if len(known) == 1 else [],
                legend_right=False,
                point=None if point is None or point[2] is None else (point[1], point[2]),
            ),
        ),
    ]


def _point(facts: dict[str, Any], positive: int) -> tuple[float, float, float | None] | None:
    """Return the false positive rate, the recall and the precision of the predictions."""
    counts = np.asarray(facts["confusion"])
    actual, chosen = counts[positive].sum(), counts[:, positive].sum()
    others = counts.sum() - actual
    if not actual or not others:
        return None
    one = facts["classes"][positive]
    return float((chosen - counts[positive, positive]) / others), one["recall"], one["precision"]


def _class_sections(facts: dict[str, Any], scores: Any) -> list[str]:
    found = facts["classes"]
    chosen = np.sort(np.argsort([-one["rows"] for one in found], kind="stable")[:MOST_CLASSES])
    labels = [str(found[number]["label"]) for number in chosen]
    counts = np.asarray(facts["confusion"])[np.ix_(chosen, chosen)]
    some = f"The {MOST_CLASSES} most frequent of {len(found)} classes. " if len(found) > MOST_CLASSES else ""
    note = f"{some}Number of rows; the shade is the share of the true class."
    sections = [section("Confusion matrix", note, matrix(labels, counts)), *_curve_sections(facts, scores)]
    if "calibration" in facts:
        two = len(found) == 2
        x_title = (
            f"predicted probability of {short(str(facts['positive']), 24)}"
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
    return [*sections, section("Classes", some, table(("class", "rows", *_SHARES.values()), cells))]


_SHARES = {"precision": "precision", "recall": "recall", "f1": "F1", "auc": "AUC", "average_precision": "AP"}


def _importance_section(columns: list[dict[str, Any]]) -> str:
    found = by_importance(columns)
    shown = found[:MOST_COLUMNS]
    note = "Change of the model's values when the column is permuted, as a share of the sum over columns."
    if len(found) > len(shown):
        note = f"The {len(shown)} most important of {len(columns)} columns. {note}"
    plot = bars([column["name"] for column in shown], [column["importance"] for column in shown]) if shown else "-"
    return section("Importance of columns", note, plot)
