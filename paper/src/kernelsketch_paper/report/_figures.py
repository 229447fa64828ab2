"""Draw the paper's figures to files: PNG and SVG, with their numbers as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from .._choices import FORMATS
from .._library import write_atomically
from ..drawing import Panel, Plot, Ranking, check_formats, draw_plot, draw_ranking, write_figure
from ._contents import assemble, load, plots_of
from ._parts import Report

PER_DATASET = ("hashing",)  # plots that get one figure per dataset, since each dataset has many panels
PER_FIGURE = 12  # panels of one figure, as in the paper


def figures(
    results_folder: Any,
    out: Any,
    *,
    formats: Sequence[str] = FORMATS,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[str]:
    """Draw the paper's figures from results.

    Parameters
    ----------
    results_folder : path
        Folder that holds ``results.csv``.
    out : path
        Folder for the files. It is created if it does not exist. Files of the same names are replaced.
    formats : sequence of str, default=("png", "svg")
        Formats of the pictures. The numbers are always written, as CSV.
    progress : callable, default=None
        Function that is called with the name of a figure, its position and the number of figures.

    Returns
    -------
    names : list of str
        Names of the figures. The files are NAME.png, NAME.svg and NAME.csv.
    """
    kinds = check_formats(formats)
    loaded = load(Path(results_folder))
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = list(_pictures(assemble(*loaded)))
    for at, picture in enumerate(pictures, 1):
        write_atomically(folder / f"{picture.name}.csv", picture.numbers)
        if kinds:
            write_figure(folder, picture.name, picture.draw(), kinds)
        if progress is not None:
            progress(picture.name, at, len(pictures))
    return [picture.name for picture in pictures]


@dataclass(frozen=True)
class _Picture:
    """A figure that is not drawn yet: the name of its files, its numbers as CSV, and the function that draws it."""

    name: str
    numbers: bytes
    draw: Callable[[], Any]


def _pictures(report: Report) -> Iterator[_Picture]:
    for plot in plots_of(report):
        for name, title, panels in _parts(plot):
            yield _Picture(name, as_csv(panels), partial(draw_plot, plot, panels, title))
    for found in report.all(Ranking):
        lines = [f"{method},{rank:.6g}" for method, rank in zip(found.methods, found.ranks, strict=True)]
        numbers = ("\n".join(["method,rank", *lines]) + "\n").encode()
        yield _Picture(found.key, numbers, partial(draw_ranking, found))


def _parts(plot: Plot) -> list[tuple[str, str, tuple[Panel, ...]]]:
    """Divide a plot into figures: one per dataset, or as many as its panels need."""
    if plot.key in PER_DATASET:
        names = list(dict.fromkeys(panel.dataset for panel in plot.panels))
        return [
            (f"{plot.key}-{name}", f"{name}: {plot.title}", tuple(p for p in plot.panels if p.dataset == name))
            for name in names
        ]
    pieces = [plot.panels[i : i + PER_FIGURE] for i in range(0, len(plot.panels), PER_FIGURE)]
    if len(pieces) == 1:
        return [(plot.key, plot.title, pieces[0])]
    return [(f"{plot.key}-{at}", f"{plot.title} ({at} of {len(pieces)})", piece) for at, piece in enumerate(pieces, 1)]


def as_csv(panels: Sequence[Panel]) -> bytes:
    """Return the points of panels as CSV, one per line. Where the y axis has categories, y is the category."""
    text = StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("dataset", "view", "series", "x", "y", "sd"))
    for panel in panels:
        for series in panel.series:
            for x, y, sd in series.points:
                shown = panel.categories[int(y)] if panel.categories else f"{y:.6g}"
                deviation = "" if sd is None else f"{sd:.6g}"
                lines.writerow((panel.dataset, panel.view, series.name, f"{x:.6g}", shown, deviation))
    return text.getvalue().encode()
