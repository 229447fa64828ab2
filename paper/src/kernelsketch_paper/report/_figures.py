"""The paper's figures as files: PNG and SVG, with their numbers as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from kernelsketch.exceptions import InputError, MissingExtraError
from kernelsketch.storage import write_atomically

from ..simulations._theory_figures import FORMATS, _picture
from ._contents import assemble, load, plots_of
from ._drawings import draw_plot, draw_ranking
from ._parts import Panel, Plot, Ranking, Report

PER_DATASET = ("hashing",)  # a figure a dataset: many panels each
PER_FIGURE = 12  # panels, as in the paper


def figures(
    results_folder: Any,
    out: Any,
    *,
    formats: Sequence[str] = FORMATS,
    progress: Callable[[str, int, int], None] | None = None,
) -> list[str]:
    """Draw the paper's figures from results. Needs matplotlib: ``pip install 'kernelsketch[plot]'``.

    Parameters
    ----------
    results_folder : path
        Folder with ``results.csv``.
    out : path
        Folder, made where there is none. Files of the same names are replaced.
    formats : sequence of str, default=("png", "svg")
        Of the pictures. The numbers are always written, as CSV.
    progress : callable, default=None
        Called with the name of a figure, its number and how many there are.

    Returns
    -------
    names : list of str
        Of the figures: NAME.png, NAME.svg and NAME.csv.
    """
    kinds = (formats,) if isinstance(formats, str) else tuple(formats)
    for kind in kinds:
        if kind not in FORMATS:
            raise InputError(f"formats must be among {', '.join(FORMATS)}, got {kind!r}.")
    if find_spec("matplotlib") is None:
        raise MissingExtraError("plot", "matplotlib")
    rows, provenance = load(Path(results_folder))
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    jobs = _jobs(assemble(rows, provenance))
    for at, (name, draw, numbers) in enumerate(jobs, 1):
        write_atomically(folder / f"{name}.csv", numbers())
        drawing = draw() if kinds else None
        if drawing is not None:
            drawing.draw_without_rendering()
            drawing.set_layout_engine("none")  # laid out once: a second time would take as long
        for kind in kinds:
            write_atomically(folder / f"{name}.{kind}", _picture(drawing, kind))
        if progress is not None:
            progress(name, at, len(jobs))
    return [name for name, _, _ in jobs]


def _jobs(report: Report) -> list[tuple[str, Callable[[], Any], Callable[[], bytes]]]:
    """Name, drawing and numbers of each figure."""
    jobs: list[tuple[str, Callable[[], Any], Callable[[], bytes]]] = []
    for plot in plots_of(report):
        for name, title, panels in _parts(plot):

            def draw(plot: Plot = plot, panels: tuple[Panel, ...] = panels, title: str = title) -> Any:
                return draw_plot(plot, panels, title)

            def numbers(panels: tuple[Panel, ...] = panels) -> bytes:
                return as_csv(panels)

            jobs.append((name, draw, numbers))
    for found in report.all(Ranking):

        def draw_ranks(found: Ranking = found) -> Any:
            return draw_ranking(found)

        def ranks(found: Ranking = found) -> bytes:
            lines = [f"{m},{r:.6g}" for m, r in zip(found.methods, found.ranks, strict=True)]
            return ("\n".join(["method,rank", *lines]) + "\n").encode()

        jobs.append((found.key, draw_ranks, ranks))
    return jobs


def _parts(plot: Plot) -> list[tuple[str, str, tuple[Panel, ...]]]:
    """A plot as figures: one a dataset, or as many as its panels need."""
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
    """Points of panels, a line each; a category in place of y where the axis has categories."""
    text = StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("dataset", "view", "series", "x", "y", "sd"))
    for panel in panels:
        for series in panel.series:
            for x, y, sd in series.points:
                shown = panel.categories[int(y)] if panel.categories else f"{y:.6g}"
                spread = "" if sd is None else f"{sd:.6g}"
                lines.writerow((panel.dataset, panel.view, series.name, f"{x:.6g}", shown, spread))
    return text.getvalue().encode()
