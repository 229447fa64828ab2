"""Small plots as HTML and SVG text, for pages without any other file. Their style is that of the page.

A plot that is wider than the page shrinks to ``LEAST_SCALE``, where text is still legible; beyond that it scrolls.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import Any

SIDE = 300  # of a square plot
TURN = 35  # degrees by which names of columns are turned
LEAST_SCALE = 0.72


def bars(names: Sequence[str], shares: Sequence[float]) -> str:
    """Return horizontal bars of shares, with their names and values. They are as wide as the page allows."""
    most = max(shares)
    parts = [
        f"<dt>{escape(short(name, 80))}</dt>"
        f'<dd><span style="--length:{share / most if most else 0:.3f}"></span>{100 * share:.1f} %</dd>'
        for name, share in zip(names, shares, strict=True)
    ]
    return f'<dl class="bars">{"".join(parts)}</dl>'


def matrix(labels: Sequence[str], counts: Any) -> str:
    """Return the numbers of rows by true class (down) and predicted class (across), shaded by their share of a row."""
    size = max(26, min(64, 400 // len(labels)))
    left = max(72.0, 12 + max(_width(short(label, 18)) for label in labels))
    slant = [_width(short(label, 12)) for label in labels]
    top = 40 + math.sin(math.radians(TURN)) * max(slant)
    beyond = max(math.cos(math.radians(TURN)) * width - (len(labels) - j - 0.5) * size for j, width in enumerate(slant))
    parts = [_text(left, 14, "predicted class", "start", "muted")]
    parts.append(_text(0, top - 8, "true class", "start", "muted"))
    for j, label in enumerate(labels):
        x = left + (j + 0.5) * size
        turn = f'transform="rotate(-{TURN} {x:.0f} {top - 8:.0f})"'
        parts.append(_text(x, top - 8, short(label, 12), "start", extra=turn))
    for i, (label, row) in enumerate(zip(labels, counts, strict=True)):
        y, total = top + i * size, max(1, int(sum(row)))
        parts.append(_text(left - 8, y + size / 2 + 4, short(label, 18), "end"))
        for j, count in enumerate(row):
            share, x = int(count) / total, left + j * size
            told = f"{escape(label)} predicted as {escape(labels[j])}: {int(count):,} rows, {100 * share:.1f} %"
            parts.append(
                f'<g><title>{told}</title><rect class="mark" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{size - 2}" '
                f'height="{size - 2}" rx="3" style="fill-opacity:{0.05 + 0.95 * share:.3f}"/>'
                + (_cell(x, y, size, int(count), share) if count else "")
                + "</g>"
            )
    return _svg(left + size * len(labels) + max(4, beyond + 8), top + size * len(labels) + 4, parts)


def _width(text: str) -> float:
    """Return the width of a text in the plots, with some room to spare."""
    return sum(12.5 if unicodedata.east_asian_width(letter) in "WF" else 7.4 for letter in text)


def _cell(x: float, y: float, size: int, count: int, share: float) -> str:
    room = 1000 if size < 36 else 10_000
    shown = f"{count:,}" if count < room else f"{count / 1000:.1f}k" if count < 9_950 else f"{count / 1000:.0f}k"
    kind = "on-mark" if share > 0.5 else ""
    return _text(x + size / 2, y + size / 2 + 4, shown, "middle", kind, 'style="font-size:11px"')


def calibration(points: Sequence[dict[str, Any]], x_title: str, y_title: str) -> str:
    """Return observed against predicted frequencies; perfect ones lie on the diagonal."""
    parts = _axes([0, 0.25, 0.5, 0.75, 1], 0, 1, x_title, y_title)
    parts.append(_line([(0, 0), (1, 1)], 0, 1, "diagonal"))
    places = [(point["predicted"], point["observed"]) for point in points]
    parts.append(_line(places, 0, 1, "line"))
    most = max(point["rows"] for point in points)
    for point, (px, py) in zip(points, places, strict=True):
        x, y = _place(px, py, 0, 1)
        told = f"predicted {px:.3f}, observed {py:.3f}, {point['rows']:,} rows"
        size = f'cx="{x:.1f}" cy="{y:.1f}" r="{3 + 7 * math.sqrt(point["rows"] / most):.1f}"'
        parts.append(f'<circle class="mark dot" {size}><title>{told}</title></circle>')
    return _square(parts)


def curves(
    named: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    x_title: str,
    y_title: str,
    *,
    of_chance: Sequence[tuple[float, float]] = (),
    legend_right: bool,
    point: tuple[float, float] | None = None,
) -> str:
    """Return curves in the unit square, with a legend if they are several, and a point of the model on them."""
    parts = _axes([0, 0.25, 0.5, 0.75, 1], 0, 1, x_title, y_title)
    if of_chance:
        parts.append(_line(of_chance, 0, 1, "diagonal"))
    for number, (name, points) in enumerate(named):
        line = _line(points, 0, 1, f"line line-{number}")
        parts.append(line.replace("/>", f"><title>{escape(name)}</title></polyline>"))
        if len(named) > 1:
            left, base = SIDE - 160 if legend_right else 12, SIDE - 12 - 18 * (len(named) - 1 - number)
            parts.append(f'<path class="line line-{number}" d="M{left},{base - 4}h18"/>')
            parts.append(_text(left + 24, base, name, "start"))
    if point is not None:
        x, y = _place(*point, 0, 1)
        parts.append(f'<circle class="mark dot" cx="{x:.1f}" cy="{y:.1f}" r="6"><title>predictions</title></circle>')
    return _square(parts)


def scatter(points: Sequence[tuple[float, float]], x_title: str, y_title: str) -> str:
    """Return points; equal coordinates lie on the diagonal."""
    values = [value for point in points for value in point]
    low, high = min(values), max(values)
    if not high - low > 1e-12 * max(abs(low), abs(high), 1e-200):
        low, high = low - max(1, abs(low)), high + max(1, abs(high))
    parts = _axes(_round_ticks(low, high), low, high, x_title, y_title)
    parts.append(_line([(low, low), (high, high)], low, high, "diagonal"))
    for px, py in points:
        x, y = _place(px, py, low, high)
        parts.append(f'<circle class="mark" style="fill-opacity:.45" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>')
    return _square(parts)


def _round_ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers within a range."""
    unit = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(unit * factor for factor in (1, 2, 5, 10) if (high - low) / (unit * factor) <= 6)
    return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _place(px: float, py: float, low: float, high: float) -> tuple[float, float]:
    return SIDE * (px - low) / (high - low), SIDE - SIDE * (py - low) / (high - low)


def _axes(ticks: Sequence[float], low: float, high: float, x_title: str, y_title: str) -> list[str]:
    parts = []
    for tick in ticks:
        at, up = _place(tick, tick, low, high)
        parts.append(f'<path class="grid" d="M0,{up:.1f}h{SIDE}M{at:.1f},0v{SIDE}"/>')
        parts.append(_text(at, SIDE + 18, f"{tick:.4g}", "middle", "muted"))
        parts.append(_text(-8, up + 4, f"{tick:.4g}", "end", "muted"))
    parts.append(_text(SIDE / 2, SIDE + 38, x_title, "middle"))
    parts.append(_text(-SIDE / 2, -56, y_title, "middle", extra='transform="rotate(-90)"'))
    return parts


def _line(points: Sequence[tuple[float, float]], low: float, high: float, kind: str) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(px, py, low, high) for px, py in points))
    return f'<polyline class="{kind}" points="{places}"/>'


def _square(parts: Sequence[str]) -> str:
    return _svg(SIDE + 100, SIDE + 60, [f'<g transform="translate(76 10)">{"".join(parts)}</g>'])


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    size = (
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="max-width:{width:.0f}px;min-width:{LEAST_SCALE * width:.0f}px"'
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{"".join(parts)}</svg>'


def _text(x: float, y: float, text: str, anchor: str, kind: str = "", extra: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(text)}</text>'


def short(text: str, most: int) -> str:
    """Return the beginning of a text that is too long."""
    return text if len(text) <= most else text[: most - 1] + "…"
