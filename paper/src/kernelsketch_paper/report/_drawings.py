"""Plots of the report drawn with matplotlib, a panel a dataset; and the critical-difference diagram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..simulations._theory_drawings import new_figure
from ._parts import Panel, Plot, Ranking, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {
    "gmm": "#0b6f53",
    "gmm-1": "#4bb392",
    "gmm-2": "#1f9370",
    "gmm-3": "#0b6f53",
    "gmm-4": "#064936",
    "gcws": "#4bb392",
    "rbf": "#327fca",
    "rbf-1": "#68a5df",
    "rbf-2": "#327fca",
    "rbf-3": "#155da2",
    "rbf-4": "#0a376a",
    "nrff": "#0a376a",
    "linear": "#8a5a00",
    "nystroem": "#7d45b8",
    "trees": "#b73227",
    "lightgbm": "#a02c69",
}
LINES = {"solid": "-", "dashed": (0, (5, 2)), "dotted": (0, (1, 1.6)), "none": ""}
MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^", "star": "*", "none": ""}
WIDTH = 3.6  # inches a panel


def draw_plot(plot: Plot, panels: tuple[Panel, ...], title: str) -> Figure:
    """Panels of a plot in a grid, with one legend."""
    columns = min(plot.columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    tall = max((len(p.categories) * 0.19 for p in panels), default=0)
    width = 8.5 if len(panels) == 1 else WIDTH * columns + 1.6
    size = (width, max(2.7 if len(panels) > 1 else 4.2, tall) * rows + 1.3)
    figure, axes = new_figure(rows, columns, size, title, plot.caption)
    for ax, panel in zip(axes.flat, panels, strict=False):
        _draw_panel(ax, plot, panel, len(panels) > 1)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    _add_legends(figure, list(zip(axes.flat, panels, strict=False)))
    return figure


def _add_legends(figure: Figure, drawn: list[tuple[Axes, Panel]]) -> None:
    """One legend at the side; one for each range of samples where a name has a look of its own in each."""
    looks = {(s.name, s.color) for _, panel in drawn for s in panel.series}
    several = len(looks) > len({name for name, _ in looks})
    groups: dict[str, dict[str, Any]] = {}
    for ax, panel in drawn:
        own = groups.setdefault(panel.view.split(", ")[-1] if several else "", {})
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            own.setdefault(label, handle)
    for (title, handles), place in zip(groups.items(), ("upper", "lower"), strict=False):
        style: dict[str, Any] = {"loc": f"outside right {place}", "fontsize": 8, "title_fontsize": 8, "frameon": False}
        figure.legend(handles.values(), handles, title=title or None, **style)


def _draw_panel(ax: Axes, plot: Plot, panel: Panel, titled: bool) -> None:
    if plot.band is not None:
        ax.axvspan(-plot.band, plot.band, color="#e3f3ec", zorder=0)
    for series in panel.series:
        _draw_series(ax, series, plot.y_log or bool(panel.categories))
    if plot.x_log:
        ax.set_xscale("log")
    if plot.y_log:
        ax.set_yscale("log")
    ax.minorticks_off()  # most of the time of drawing
    if panel.categories:
        ax.set_yticks(range(len(panel.categories)), panel.categories, fontsize=8)
        ax.set_ylim(-0.6, len(panel.categories) - 0.4)
    if titled:
        ax.set_title(", ".join(part for part in (panel.dataset, panel.view) if part), fontsize=9.5)
    ax.set_xlabel(plot.x, fontsize=9)
    ax.set_ylabel(plot.y, fontsize=9)


def _draw_series(ax: Axes, series: Series, plain: bool) -> None:
    x, y, spreads = zip(*series.points, strict=True) if series.points else ((), (), ())
    style: dict[str, Any] = {
        "color": COLORS.get(series.color, "#555e68"),
        "linestyle": LINES[series.line],
        "marker": MARKERS[series.marker],
        "markersize": 4 if series.line != "none" else 6,
        "linewidth": 1.4,
        "label": series.name,
    }
    bars = None if plain or all(s is None for s in spreads) else [s or 0.0 for s in spreads]
    if bars is None:
        ax.plot(x, y, **style)
    else:
        ax.errorbar(x, y, yerr=bars, elinewidth=0.7, **style)


def draw_ranking(found: Ranking) -> Figure:
    """Ranks on a line; bars join methods that cannot be told apart."""
    n = len(found.methods)
    half = (n + 1) // 2
    figure, axes = new_figure(1, 1, (8, 1.9 + 0.32 * half), found.title, found.caption)
    ax = axes[0, 0]
    ax.axis("off")
    high = max(n, math.ceil(found.ranks[-1]))
    ax.set_xlim(1 - 0.3 * high, high + 0.3 * high)
    bottom = -0.5 * (len(found.groups) + 1) - half
    ax.set_ylim(bottom, 2.2)
    ax.plot([1, high], [0, 0], color="0.1", linewidth=1)
    for tick in range(1, high + 1):
        ax.plot([tick, tick], [0, 0.15], color="0.1", linewidth=1)
        ax.text(tick, 0.25, str(tick), ha="center", va="bottom", fontsize=9)
    ax.plot([1, 1 + found.critical_difference], [1.35, 1.35], color="0.1", linewidth=1.5)
    ax.text(1, 1.5, f"critical difference {found.critical_difference:.2f}", fontsize=9)
    for at, (first, last) in enumerate(found.groups):
        ends = [found.ranks[first] - 0.04, found.ranks[last] + 0.04]
        ax.plot(ends, [-0.4 - 0.4 * at] * 2, color=COLORS["gmm"], linewidth=4, solid_capstyle="round")
    for at, (name, rank) in enumerate(zip(found.methods, found.ranks, strict=True)):
        left = at < half
        y = -0.5 * (len(found.groups) + 1) - (at if left else n - 1 - at)
        edge = 1 - 0.06 * high if left else high + 0.06 * high
        ax.plot([rank, rank, edge], [0, y, y], color="0.45", linewidth=0.8)
        text = f"{name} {rank:.2f} " if left else f" {name} {rank:.2f}"
        ax.text(edge, y, text, ha="right" if left else "left", va="center", fontsize=9.5)
    return figure
