"""Pages of HTML that load nothing, those of ``--report``; page.html is their frame."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template


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


def table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
