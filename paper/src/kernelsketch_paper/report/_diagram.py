"""The critical-difference diagram as inline SVG: ranks on a line, bars over methods that cannot be told apart."""

from __future__ import annotations

import math
from html import escape

from ._parts import Ranking

WIDTH, MARGIN, TOP, STEP, BAR = 640, 150, 62, 22, 9


def diagram(found: Ranking) -> str:
    """SVG that takes its colours from the page."""
    n = len(found.methods)
    high = max(n, math.ceil(found.ranks[-1]))
    half = (n + 1) // 2

    def x(rank: float) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (rank - 1) / (high - 1), 1)

    under = TOP + 14 + BAR * len(found.groups)
    height = under + STEP * half + 10
    names = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(found.methods, found.ranks, strict=True))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(f"{found.title}: {names}")}">',
        f'<line class="ink" x1="{x(1)}" x2="{x(high)}" y1="{TOP}" y2="{TOP}"/>',
    ]
    for tick in range(1, high + 1):
        parts.append(f'<line class="ink" x1="{x(tick)}" x2="{x(tick)}" y1="{TOP}" y2="{TOP - 6}"/>')
        parts.append(f'<text x="{x(tick)}" y="{TOP - 11}" text-anchor="middle">{tick}</text>')
    span = x(min(high, 1 + found.critical_difference))
    parts.append(f'<line class="ink" x1="{x(1)}" x2="{span}" y1="22" y2="22"/>')
    parts += [f'<line class="ink" x1="{end}" x2="{end}" y1="18" y2="26"/>' for end in (x(1), span)]
    parts.append(f'<text x="{x(1)}" y="12">critical difference {found.critical_difference:.2f}</text>')
    for at, (first, last) in enumerate(found.groups):
        y = TOP + 10 + BAR * at
        ends = f'x1="{x(found.ranks[first]) - 3}" x2="{x(found.ranks[last]) + 3}"'
        parts.append(f'<line class="clique" {ends} y1="{y}" y2="{y}"/>')
    for at, (name, rank) in enumerate(zip(found.methods, found.ranks, strict=True)):
        left = at < half
        y = under + STEP * (at if left else n - 1 - at) + 8
        edge, anchor = (MARGIN - 12, "end") if left else (WIDTH - MARGIN + 12, "start")
        parts.append(f'<path class="leader" d="M{x(rank)} {TOP}V{y}H{edge}"/>')
        place = f'x="{edge + (-6 if left else 6)}" y="{y + 4}" text-anchor="{anchor}"'
        parts.append(f'<text class="method" {place}>{escape(name)} {rank:.2f}</text>')
    return "".join([*parts, "</svg>"])
