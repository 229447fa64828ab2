"""Draw plots to PNG and SVG files with matplotlib.

Figures are made without pyplot, so drawing leaves no state behind and needs no display.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelsketch.exceptions import InputError

from .._choices import FORMATS
from .._library import write_atomically
from ._plot import Panel, Plot, Ranking, Series

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
OTHER = "#555e68"
LINES: dict[str, dict[str, Any]] = {
    "solid": {"linestyle": "-"},
    "thick": {"linestyle": "-", "linewidth": 4.5, "alpha": 0.6},
    "dashed": {"linestyle": (0, (5, 2))},
    "dotted": {"linestyle": (0, (1, 1.6))},
    "none": {"linestyle": "", "markersize": 6},
}
MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^", "star": "*", "none": ""}
WIDTH, HEIGHT = 3.6, 2.7  # inches of one of several panels
ALONE = (8.5, 4.2)  # inches of a single panel


def check_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """Return the formats of pictures as a tuple; a single name is accepted too."""
    kinds = (formats,) if isinstance(formats, str) else tuple(formats)
    for kind in kinds:
        if kind not in FORMATS:
            raise InputError(f"formats must be among {', '.join(FORMATS)}, got {kind!r}.")
    return kinds


def write_figure(folder: Path, name: str, figure: Figure, formats: Sequence[str]) -> None:
    """Write a figure in each format. The same figure gives the same bytes."""
    import matplotlib

    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is computed once; a second time would move things and take as long
    for kind in formats:
        content = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else None
        with matplotlib.rc_context({"svg.hashsalt": "kernelsketch"}):  # ids within SVG files stay the same
            figure.savefig(content, format=kind, dpi=130, metadata=metadata)
        write_atomically(folder / f"{name}.{kind}", content.getvalue())


def draw_plot(plot: Plot, panels: Sequence[Panel] | None = None, title: str | None = None) -> Figure:
    """Draw all panels of a plot, or some of them, in a grid with one legend."""
    panels = plot.panels if panels is None else panels
    columns = min(plot.columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    single = len(panels) == 1
    tall = max((len(p.categories) * 0.19 for p in panels), default=0)
    width = ALONE[0] if single else WIDTH * columns + 1.6
    height = max(ALONE[1] if single else HEIGHT, tall) * rows + 1.3
    figure, axes = _new_figure(rows, columns, (width, height), title or plot.title, plot.caption, plot.shared)
    for ax, panel in zip(axes.flat, panels, strict=False):
        _draw_panel(ax, plot, panel, titled=not single)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    _add_legends(figure, list(zip(axes.flat, panels, strict=False)))
    return figure


def _new_figure(
    rows: int, columns: int, size: tuple[float, float], title: str, caption: str, shared: bool = False
) -> tuple[Figure, Any]:
    """Return a figure with its axes, a title above and a caption below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=12, fontweight="bold")
    lines = math.ceil(len(caption) / (12 * size[0]))
    figure.supxlabel(textwrap.fill(caption, len(caption) // max(1, lines) + 8), fontsize=9.5, color="0.25")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=shared, sharey=shared)
    for ax in axes.flat:
        ax.grid(color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.tick_params(labelsize=9)
    return figure, axes


def _add_legends(figure: Figure, drawn: list[tuple[Axes, Panel]]) -> None:
    """Add one legend at the side, or one per range of samples where a name has a colour of its own in each."""
    looks = {(s.name, s.color) for _, panel in drawn for s in panel.series if s.name}
    several = len(looks) > len({name for name, _ in looks})
    groups: dict[str, dict[str, Any]] = {}
    for ax, panel in drawn:
        own = groups.setdefault(panel.view.split(", ")[-1] if several else "", {})
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            own.setdefault(label, handle)
    places = ("center",) if len(groups) == 1 else ("upper", "lower")
    for (title, handles), place in zip(groups.items(), places, strict=False):
        style: dict[str, Any] = {"loc": f"outside right {place}", "fontsize": 8, "title_fontsize": 8, "frameon": False}
        figure.legend(handles.values(), handles, title=title or None, **style)


def _draw_panel(ax: Axes, plot: Plot, panel: Panel, titled: bool) -> None:
    y_log = plot.y_log if panel.y_log is None else panel.y_log
    if plot.band is not None:
        ax.axvspan(-plot.band, plot.band, color="#e3f3ec", zorder=0)
    for series in panel.series:
        _draw_series(ax, _within(series, plot.limit), y_log or bool(panel.categories))
    if plot.limit is not None:
        _draw_beyond(ax, panel, plot.limit)
    if plot.x_log:
        ax.set_xscale("log")
    if y_log:
        ax.set_yscale("log")
    if plot.y_limits is not None:
        ax.set_ylim(plot.y_limits)
    ax.minorticks_off()  # minor ticks take most of the time of drawing
    if panel.categories:
        ax.set_yticks(range(len(panel.categories)), panel.categories, fontsize=8)
        ax.set_ylim(-0.6, len(panel.categories) - 0.4)
    if titled:
        ax.set_title(", ".join(part for part in (panel.dataset, panel.view) if part), fontsize=9.5)
    ax.set_xlabel(plot.x, fontsize=9)
    ax.set_ylabel(panel.y or plot.y, fontsize=9)
    if plot.shared:
        ax.label_outer()


def _draw_series(ax: Axes, series: Series, plain: bool) -> None:
    x, y, deviations = zip(*series.points, strict=True) if series.points else ((), (), ())
    color = series.color if series.color.startswith("#") else COLORS.get(series.color, OTHER)
    style: dict[str, Any] = {
        "color": color,
        "marker": MARKERS[series.marker],
        "markersize": 4,
        "linewidth": 1.4,
        "label": series.name or "_nolegend_",
        **LINES[series.line],
    }
    bars = None if plain or all(s is None for s in deviations) else [s or 0.0 for s in deviations]
    if bars is None:
        ax.plot(x, y, **style)
    else:
        ax.errorbar(x, y, yerr=bars, elinewidth=0.7, **style)


def _within(series: Series, limit: float | None) -> Series:
    """Return a series without the points beyond the limit of the x axis."""
    return series if limit is None else replace(series, points=tuple(p for p in series.points if abs(p[0]) <= limit))


def _draw_beyond(ax: Axes, panel: Panel, limit: float) -> None:
    """Draw points beyond the limit as arrows at the edge, with their value; those of one line stand side by side."""
    taken: dict[tuple[float, bool], int] = {}
    for series in panel.series:
        for x, y, _ in series.points:
            if abs(x) <= limit:
                continue
            right, color = x > 0, COLORS.get(series.color, OTHER)
            at = taken[y, right] = taken.get((y, right), -1) + 1
            edge = (limit - 0.17 * limit * at) * (1 if right else -1)
            ax.plot([edge], [y], marker=">" if right else "<", color=color, markersize=6, linestyle="")
            place: dict[str, Any] = {"textcoords": "offset points", "ha": "right" if right else "left", "va": "center"}
            text = f"{x:+.2f}".replace("-", "\u2212")
            ax.annotate(text, (edge, y), (-6 if right else 6, 0), fontsize=8, color=color, **place)
    xs = [min(limit, max(-limit, x)) for series in panel.series for x, *_ in series.points]
    if xs:
        ax.set_xlim(min(xs) - 0.05 * limit, max(xs) + 0.05 * limit)


def draw_ranking(found: Ranking) -> Figure:
    """Draw the critical-difference diagram: ranks on a line, and bars that join equal methods."""
    n = len(found.methods)
    half = (n + 1) // 2
    figure, axes = _new_figure(1, 1, (8, 1.9 + 0.32 * half), found.title, found.caption)
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
