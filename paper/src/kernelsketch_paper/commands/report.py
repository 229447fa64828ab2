"""``kernelsketch report`` writes the report of the paper's experiments from their results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..report import Report

RESULTS = Path("results")


def report(
    results: Annotated[
        Path,
        typer.Option(
            "--results", metavar="FOLDER", help="Folder that holds results.csv, provenance.json and tabular.csv."
        ),
    ] = RESULTS,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FOLDER", help="Folder for the report. The default is the folder of the results."
        ),
    ] = None,
    with_figures: Annotated[
        bool, typer.Option("--figures", help="Also draw the figures as PNG and SVG, with their numbers as CSV.")
    ] = False,
) -> None:
    """Write the report of the paper's experiments: a web page, its text and its tables."""
    from rich.console import Console
    from rich.text import Text

    from kernelsketch.exceptions import InputError

    from ..report import FILES, write_report

    console = Console()
    folder = results if out is None else out
    try:
        found = write_report(results, folder)
        drawn = _draw(results, folder / "figures", console) if with_figures else []
    except OSError as error:
        raise InputError(
            f"The report cannot be written to {folder}: {error.strerror or error}. Choose another folder with --out."
        ) from None
    console.print(_summary(found))
    for name in FILES:
        console.print(Text(str(folder / name)))
    if drawn:
        console.print(Text(f"{folder / 'figures'}: {len(drawn)} figures"))


def _draw(results: Path, folder: Path, console: Console) -> list[str]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    from ..report import figures

    columns = (TextColumn("{task.description:24}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("figures")

        def show(name: str, done: int, total: int) -> None:
            bars.update(bar, description=name, completed=done, total=total)

        return figures(results, folder, progress=show)


def _summary(found: Report) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("", "", title=found.title, title_justify="left", show_header=False)
    table.columns[0].justify = "right"
    for headline in found.headlines:
        table.add_row(Text(headline.value, style="bold"), Text(f"{headline.label}. {headline.detail}"))
    for section in found.sections:
        if section.missing:
            table.add_row(Text("none", style="dim"), Text(f"{section.title}: {section.missing}", style="dim"))
    return table
