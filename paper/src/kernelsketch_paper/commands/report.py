"""``kernelsketch report`` writes the report of the paper's experiments from their results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelsketch.cli.plugins import ProgressMeter, print_json

if TYPE_CHECKING:
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Write the report of the paper's experiments: a web page, its text and its tables."""
    from rich.console import Console
    from rich.text import Text

    from kernelsketch.exceptions import InputError

    from ..report import FILES, write_report

    console = Console()
    folder = results if out is None else out
    with ProgressMeter("writing the report", quiet) as meter:
        try:
            found = write_report(results, folder)
            drawn = _draw(results, folder / "figures", meter) if with_figures else []
        except OSError as error:
            raise InputError(
                f"The report cannot be written to {folder}: {error.strerror or error}. Choose another folder with "
                "--out."
            ) from None
    if json:
        headlines = [{"value": one.value, "label": one.label, "detail": one.detail} for one in found.headlines]
        missing = {section.title: section.missing for section in found.sections if section.missing}
        files = [str(folder / name) for name in FILES]
        print_json({"title": found.title, "headlines": headlines, "missing": missing, "files": files, "figures": drawn})
        return
    console.print(_summary(found))
    for name in FILES:
        console.print(Text(str(folder / name)))
    if drawn:
        console.print(Text(f"{folder / 'figures'}: {len(drawn)} figures"))


def _draw(results: Path, folder: Path, meter: ProgressMeter) -> list[str]:
    from ..report import figures

    meter.begin("drawing figures")
    return figures(results, folder, progress=lambda name, done, total: meter.show(done / max(total, 1), name))


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
