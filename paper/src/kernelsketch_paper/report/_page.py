"""The report as one HTML page that needs no network: it contains style, scripts and numbers.

Every value passes through ``escape``. The numbers of plots and rankings are JSON in which no tag can begin; the page's
script draws them. A content security policy allows the page's own script and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from ..drawing import Plot, Ranking
from ._format import NOTHING, cell_text
from ._parts import Column, Difference, Report, Score, Section, Table
from ._provenance import duration, plain

SCRIPTS = ("draw.js", "plots.js", "rankings.js", "page.js")
SORTED_FROM, TALL_FROM = 6, 16  # rows
LONG, STACKED = 40, 24  # a text of more characters is broken into lines; one of these is too wide for a phone
DIGITS = 6
KEY = (
    '<p class="key"><span><span class="gap within">+0.42</span> agrees: within 1.0 point, '
    "or 2 standard deviations over splits</span>"
    '<span><span class="gap above">▲ +1.50</span> measured is higher</span>'
    '<span><span class="gap below">▼ \u22121.50</span> measured is lower</span></p>'
)


def as_page(report: Report, provenance: dict[str, Any], version: str = "") -> bytes:
    """Return the page."""
    style = _file("style.css")
    script = "\n".join(map(_file, SCRIPTS))
    toc = "".join(f'<li><a href="#{escape(s.key)}">{escape(s.short or s.title)}</a></li>' for s in report.sections)
    plots = [_plot_data(plot) for plot in report.all(Plot) if plot.panels]
    page = Template(_file("template.html")).substitute(
        title=escape(report.title),
        lead=escape(report.lead),
        banner=_banner(report),
        headline=_headlines(report),
        made=escape(_made(provenance)),
        toc=toc,
        sections="\n".join(map(_section, report.sections)),
        version=f" {escape(version)}" if version else "",
        plots=_json(plots),
        rankings=_json([_ranking_data(found) for found in report.all(Ranking)]),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )
    return page.encode()


def _file(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(value: Any) -> str:
    """Return JSON in which no tag and no entity can begin."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plot_data(plot: Plot) -> dict[str, Any]:
    def number(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.{DIGITS}g}")

    panels = []
    for panel in plot.panels:
        series = [
            {
                "name": s.name,
                "color": s.color if re.fullmatch(r"[a-z]+(-[1-4])?", s.color) else "other",
                "line": s.line,
                "marker": s.marker,
                "points": [[number(x), number(y), *([] if sd is None else [number(sd)])] for x, y, sd in s.points],
            }
            for s in panel.series
        ]
        found: dict[str, Any] = {"dataset": panel.dataset, "view": panel.view, "series": series}
        if panel.categories:
            found["categories"] = panel.categories
        panels.append(found)
    axes = {"x": plot.x, "y": plot.y, "xLog": plot.x_log, "yLog": plot.y_log, "band": plot.band, "limit": plot.limit}
    return {"key": plot.key, "title": plot.title, **axes, "panels": panels}


def _ranking_data(found: Ranking) -> dict[str, Any]:
    return {
        "key": found.key,
        "title": found.title,
        "methods": found.methods,
        "ranks": found.ranks,
        "critical": found.critical_difference,
        "groups": found.groups,
    }


def _banner(report: Report) -> str:
    """Return what the results lack, as a list that stands before every number."""
    if not report.banner:
        return ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in report.banner)
    return f'<aside class="banner" aria-label="What these results lack"><ul>{lines}</ul></aside>'


def _headlines(report: Report) -> str:
    cards = [
        f"<li><b>{escape(f.value)}</b><span>{escape(f.label)}</span><small>{escape(f.detail)}</small></li>"
        for f in report.headlines
    ]
    return f'<ul class="headline">{"".join(cards)}</ul>'


def _made(provenance: dict[str, Any]) -> str:
    """Return machine, commit and time in one line."""
    parts = [plain(provenance[name]) for name in ("machine", "cpu") if provenance.get(name)]
    if provenance.get("commit"):
        parts.append(f"commit {plain(provenance['commit'])[:40]}")
    if provenance.get("finished"):
        parts.append(f"finished {plain(provenance['finished'])}")
    if provenance.get("seconds"):
        parts.append(f"{duration(provenance['seconds'])} of computing")
    return " · ".join(parts) or "The machine and the commit are unknown."


def _prose(text: str) -> str:
    """Return escaped text, with words in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _section(section: Section) -> str:
    parts = [f'<section id="{escape(section.key)}" aria-labelledby="{escape(section.key)}-title">']
    parts.append(f'<h2 id="{escape(section.key)}-title">{escape(section.title)}</h2>')
    parts += [f"<p>{_prose(text)}</p>" for text in section.text]
    if section.missing:
        parts.append(f'<p class="missing">{_prose(section.missing)}</p>')
    for item in section.items:
        if isinstance(item, Table):
            parts.append(_table(item))
        elif isinstance(item, Ranking):
            parts.append(f'<figure class="item" id="ranking-{escape(item.key)}">{_caption(item)}')
            parts.append(f'<div class="ranks" tabindex="0">{_rank_list(item)}</div></figure>')
        elif item.panels:
            parts.append(
                f'<figure class="item plot" id="plot-{escape(item.key)}">{_caption(item)}<div class="canvas"></div>'
            )
            parts.append("<details><summary>Numbers of this plot</summary></details></figure>")
    return "\n".join([*parts, "</section>"])


def _rank_list(found: Ranking) -> str:
    """Return the ranks as a list, which the script replaces by a diagram."""
    ranks = zip(found.methods, found.ranks, strict=True)
    return f"<ol>{''.join(f'<li>{escape(name)}: {rank:.2f}</li>' for name, rank in ranks)}</ol>"


def _caption(item: Plot | Ranking) -> str:
    return f'<figcaption><h3>{escape(item.title)}</h3><p class="caption">{escape(item.caption)}</p></figcaption>'


def _table(table: Table) -> str:
    key = escape(f"tab-{table.key}")
    parts = [f'<div class="item" id="{key}"><h3 id="{key}-title">{escape(table.title)}</h3>']
    parts.append(f'<p class="caption">{escape(table.caption)}</p>')
    if not table.rows:
        return "".join([*parts, '<p class="nothing">There is nothing to list.</p></div>'])
    choices = {c.choice for c in table.columns}
    if {"test", "cv"} <= choices:
        parts.append("<div data-choice-switch></div>")
    columns = [c for c in table.columns if c.kind != "note"]
    notes = {
        at: str(row["note"]) for at, row in enumerate(table.rows) if len(columns) < len(table.columns) and row["note"]
    }
    tall = " tall" if len(table.rows) >= TALL_FROM else ""
    names = ["sortable"] if len(table.rows) >= SORTED_FROM else []
    if _columns_with_text(table, STACKED):
        names.append("stack")  # a phone shows each row as a paragraph
    label = f'tabindex="0" role="region" aria-labelledby="{key}-title"'
    parts.append(f'<div class="scroll{tall}" {label}><table{_class(names)}>{_head(columns, table.keys)}<tbody>')
    numbers = {at: number for number, at in enumerate(notes, 1)}
    long = _columns_with_text(table, LONG)
    for at in range(len(table.rows)):
        mark = f'<sup><a href="#{key}-note-{numbers[at]}">{numbers[at]}</a></sup>' if at in numbers else ""
        parts.append(f"<tr>{_cells(table, columns, long, at, mark)}</tr>")
    parts.append("</tbody></table></div>")
    if any(isinstance(value, Difference) for row in table.rows for value in row.values()):
        parts.append(KEY)
    if notes:
        lines = (f'<li id="{key}-note-{numbers[at]}">{escape(text)}</li>' for at, text in notes.items())
        parts.append(f'<ol class="notes">{"".join(lines)}</ol>')
    return "".join([*parts, "</div>"])


def _head(columns: list[Column], keys: int) -> str:
    """Return one row of headings, or two where columns have groups."""
    grouped = any(c.group for c in columns)
    above: list[str] = []
    below: list[str] = []
    for at, column in enumerate(columns):
        first = column.group and (at == 0 or columns[at - 1].group != column.group)
        if first:
            own = [c for c in columns if c.group == column.group]
            spans = {k: sum(c.choice in ("", k) for c in own) for k in ("test", "cv")} | {"both": len(own)}
            data = f' data-spans="{escape(json.dumps(spans))}"' if any(c.choice for c in own) else ""
            above.append(f'<th scope="colgroup" colspan="{len(own)}"{data}>{escape(column.group)}</th>')
        classes = _classes(column, bool(first), at < keys) + (["stick"] if at == 0 else [])
        rows = ' rowspan="2"' if grouped and not column.group else ""
        cell = f'<th scope="col"{_class(classes)}{rows} data-column="{at}">{escape(column.label)}</th>'
        (above if rows else below).append(cell)
    upper = f"<tr>{''.join(above)}</tr>" if above else ""
    return f"<thead>{upper}<tr>{''.join(below)}</tr></thead>"


def _classes(column: Column, edge: bool, key: bool) -> list[str]:
    classes = ["text"] if key or column.kind == "text" else []
    classes += [f"by-{column.choice}"] if column.choice else []
    return classes + (["edge"] if edge else [])


def _class(names: list[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def _cells(table: Table, columns: list[Column], long: set[str], at: int, mark: str) -> str:
    parts, row = [], table.rows[at]
    for number, column in enumerate(columns):
        value = row.get(column.key)
        edge = bool(column.group) and columns[number - 1].group != column.group
        classes = _classes(column, edge, number < table.keys)
        text = _cell(value, column.kind)
        if column.key in long:
            classes.append("long")
        if column.key in table.highlighted(at):
            text = f"<strong>{text}</strong>"
        data = f' data-value="{escape(_sort_value(value))}" data-label="{escape(column.label)}"'
        if number < table.keys:
            parts.append(f'<th scope="row"{_class(classes)}{data}>{text}{mark if number == 0 else ""}</th>')
        else:
            parts.append(f"<td{_class(classes)}{data}>{text}</td>")
    return "".join(parts)


def _columns_with_text(table: Table, longer_than: int) -> set[str]:
    """Return the keys of columns that hold at least one text of more characters."""
    texts = [c.key for c in table.columns if c.kind == "text"]
    return {key for key in texts if any(len(str(row.get(key) or "")) > longer_than for row in table.rows)}


def _cell(value: Any, kind: str) -> str:
    text = cell_text(value, kind)
    if text == NOTHING:
        return f'<span class="none">{NOTHING}</span>'
    if isinstance(value, Difference):
        return f'<span class="gap {value.status}">{escape(text)}</span>'
    if isinstance(value, Score) and value.sd is not None:
        mean, _, sd = text.partition(" ± ")
        return f'{escape(mean)} <span class="sd">± {escape(sd)}</span>'
    return escape(text)


def _sort_value(value: Any) -> str:
    """Return what a table is sorted by: a number or text, and nothing for an empty cell."""
    if value is None:
        return ""
    if isinstance(value, Score):
        return f"{value.mean:.6g}"
    if isinstance(value, Difference):
        return f"{value.value:.6g}"
    text = str(value)
    bound = re.fullmatch(r"([≤>] )?([\d,]+)", text)  # samples needed, where a sign marks a bound
    return bound[2].replace(",", "") if bound else text
