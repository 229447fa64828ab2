"""The report as Markdown and CSV, and cells of tables as text."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

from ..drawing import Ranking
from ._parts import Column, Difference, Report, Score, Table

MINUS, NOTHING = "\u2212", "\u2013"
MARKS = {"within": "", "above": "▲ ", "below": "▼ "}
TIDY = ("table", "row", "column", "value", "sd", "n")


def signed(value: float) -> str:
    """Return a number with two decimals and a sign; zero has no sign."""
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", MINUS)


def seconds(value: float) -> str:
    """Return seconds or milliseconds with three digits."""
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def size(value: float) -> str:
    """Return bytes in a fitting unit."""
    for unit, step in (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if value < 999.5 * step or unit == "GB":
            return f"{value / step:.0f} B" if unit == "B" else f"{value / step:.3g} {unit}"
    raise AssertionError


def cell_text(value: Any, kind: str = "text") -> str:
    """Return a cell as text for readers, with a dash where there is nothing."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, Score):
        return f"{value.mean:.2f}" if value.sd is None else f"{value.mean:.2f} ± {value.sd:.2f}"
    if isinstance(value, Difference):
        return MARKS[value.status] + signed(value.value)
    formats: dict[str, Any] = {
        "count": "{:,}".format,
        "percent": "{:.2f}".format,
        "number": "{:g}".format,
        "decimal": "{:.4f}".format,
        "ratio": "{:.1f}x".format,
        "points": signed,
        "seconds": seconds,
        "bytes": size,
    }
    return str(formats.get(kind, str)(value))


def column_name(column: Column) -> str:
    """Return a name that is clear by itself: the heading above the column and its label."""
    parts = [column.group, column.label, {"test": "chosen on test", "cv": "chosen by CV"}.get(column.choice, "")]
    return ", ".join(part for part in parts if part)


def row_name(table: Table, row: dict[str, Any]) -> str:
    """Return what a row is about."""
    return " / ".join(cell_text(row.get(c.key), c.kind) for c in table.columns[: table.keys])


def as_tidy(report: Report) -> bytes:
    """Return all tables and rankings as one CSV: one value per line, with standard deviation and number of splits."""
    text = StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(TIDY)
    for table in report.all(Table):
        for row in table.rows:
            for column in table.columns[table.keys :]:
                value = row.get(column.key)
                if value is not None and value != "":
                    lines.writerow((table.key, row_name(table, row), column.key, *_plain(value)))
    for found in report.all(Ranking):
        for method, rank in zip(found.methods, found.ranks, strict=True):
            lines.writerow((found.key, method, "rank", f"{rank:.6g}", "", found.n_datasets))
        for name, value in (
            ("friedman", found.statistic),
            ("p", found.p_value),
            ("nemenyi", found.critical_difference),
        ):
            lines.writerow((found.key, "all", name, f"{value:.6g}", "", found.n_datasets))
    return text.getvalue().encode()


def _plain(value: Any) -> tuple[Any, Any, Any]:
    if isinstance(value, Score):
        return f"{value.mean:.6g}", "" if value.sd is None else f"{value.sd:.6g}", value.n
    if isinstance(value, Difference):
        value = value.value
    return f"{value:.6g}" if isinstance(value, float) else value, "", ""


def as_markdown(report: Report) -> bytes:
    """Return the report as Markdown: its text and tables, and one line per plot."""
    lines = [f"# {report.title}", "", report.lead, ""]
    lines += [line for sentence in report.banner for line in (f"> {_safe(sentence)}", ">")][:-1]
    lines += [""] if report.banner else []
    lines += [f"- **{found.value}** {found.label}. {found.detail}".rstrip() for found in report.headlines]
    for section in report.sections:
        lines += ["", f"## {section.title}", ""]
        lines += [line for text in section.text for line in (_safe(text), "")]
        if section.missing:
            lines += [f"*{_safe(section.missing)}*", ""]
        for item in section.items:
            lines += [f"### {_safe(item.title)}", "", _safe(item.caption), ""]
            if isinstance(item, Table):
                lines += [*_markdown_table(item), ""]
            elif isinstance(item, Ranking):
                ranks = zip(item.methods, item.ranks, strict=True)
                lines += [*(f"{at}. {_safe(name)}: {rank:.2f}" for at, (name, rank) in enumerate(ranks, 1)), ""]
            else:
                names = {panel.dataset for panel in item.panels}
                lines += [
                    f"(report.html shows this plot{f', for {len(names)} datasets' if len(names) > 1 else ''}.)",
                    "",
                ]
    return ("\n".join(lines).rstrip() + "\n").encode()


def _markdown_table(table: Table) -> list[str]:
    if not table.rows:
        return ["(There is nothing to list.)"]
    lines = ["| " + " | ".join(_safe(column_name(c)) for c in table.columns) + " |"]
    lines.append("|" + "|".join("---" if c.kind == "text" else "--:" for c in table.columns) + "|")
    for at, row in enumerate(table.rows):
        highlighted = table.highlighted(at)
        cells = []
        for column in table.columns:
            text = _safe(cell_text(row.get(column.key), column.kind))
            cells.append(f"**{text}**" if column.key in highlighted else text)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _safe(text: str) -> str:
    """Return text that stays in its cell and contains no HTML."""
    kept = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return " ".join(kept.split())
