"""``kernelsketch report``: the report of the paper's experiments, from their results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from kernelsketch.exceptions import InputError

from ..report import FILES, Report, figures, write_report

RESULTS = Path("results")


def report(
    results: Annotated[Path, typer.Option("--results", help="Folder with results.csv and provenance.json.")] = RESULTS,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report; that of the results if none.")
    ] = None,
    with_figures: Annotated[bool, typer.Option("--figures", help="Also the figures, as PNG, SVG and CSV.")] = False,
) -> None:
    """Write the report of the paper's experiments: a page, its text and its tables."""
    console = Console()
    folder = results if out is None else out
    try:
        found = write_report(results, folder)
        drawn = _draw(results, folder / "figures", console) if with_figures else []
    except OSError as error:
        raise InputError(f"{folder} cannot be written to: {error.strerror or error}. Choose another --out.") from None
    console.print(_summary(found))
    for name in FILES:
        console.print(Text(str(folder / name)))
    if drawn:
        console.print(Text(f"{folder / 'figures'}: {len(drawn)} figures"))


def _draw(results: Path, folder: Path, console: Console) -> list[str]:
    columns = (TextColumn("{task.description:24}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("figures")

        def show(name: str, done: int, total: int) -> None:
            bars.update(task, description=name, completed=done, total=total)

        return figures(results, folder, progress=show)


def _summary(found: Report) -> Table:
    table = Table("", "", title=found.title, title_justify="left", show_header=False)
    table.columns[0].justify = "right"
    for figure in found.headline:
        table.add_row(Text(figure.value, style="bold"), Text(f"{figure.label}. {figure.detail}"))
    for section in found.sections:
        if section.missing:
            table.add_row(Text("none", style="dim"), Text(f"{section.title}: {section.missing}", style="dim"))
    return table
