"""``kernelsketch theory``: the theorems simulated, and the paper's theory figures written."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from kernelsketch.exceptions import InputError

from ..simulations import THEORY_FIGURES, TheorySimulations, theory_figures

QUICK = 2000
SHOWN_K = (16, 128, 1000)


def theory(
    out: Annotated[Path, typer.Option("--out", help="Folder for the figures; made where there is none.")],
    seed: Annotated[int, typer.Option(min=0, help="Of all simulations.")] = 0,
    repetitions: Annotated[int, typer.Option(min=1, help="Of each simulation.")] = 100_000,
    quick: Annotated[bool, typer.Option("--quick", help=f"At most {QUICK} repetitions: seconds, rougher.")] = False,
    threads: Annotated[int, typer.Option(help="-1 is all processors. Files do not depend on it.")] = -1,
    formats: Annotated[list[str] | None, typer.Option("--format", help="png or svg; both if not given.")] = None,
) -> None:
    """Check the theorems by simulation, and draw the paper's theory figures with their numbers as CSV."""
    console = Console()
    count = min(repetitions, QUICK) if quick else repetitions
    columns = (
        TextColumn("{task.description:24}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    start = perf_counter()
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done)

        chosen: dict[str, Any] = {} if not formats else {"formats": formats}
        try:
            found = theory_figures(out, repetitions=count, seed=seed, n_jobs=threads, progress=show, **chosen)
        except OSError as error:
            raise InputError(f"{out} cannot be written to: {error.strerror or error}. Choose another --out.") from None
    console.print(_agreement(found))
    console.print(_summary(out, formats))
    console.print(f"{count:,} repetitions, seed {seed}, {perf_counter() - start:.0f} s.")


def _agreement(found: TheorySimulations) -> Table:
    """How far the simulated errors of random Fourier features are from the theorems."""
    fourier = found.fourier
    score = np.abs(fourier.rff.score(fourier.rff_theory())).max(axis=1)
    ratio = fourier.nrff.mse / fourier.nrff_theory()
    shown = [k for k in SHOWN_K if k <= fourier.k[-1]]
    table = Table(
        "rho",
        "gamma",
        "RFF: largest |z| over k",
        *(f"NRFF / theory, k={k}" for k in shown),
        title="Simulated mean squared error against theory",
        title_justify="left",
    )
    for column in table.columns:
        column.justify = "right"
    for (rho, gamma), z, ratios in zip(fourier.panels, score, ratio, strict=True):
        table.add_row(f"{rho:g}", f"{gamma:g}", f"{z:.1f}", *(f"{ratios[k - 1]:.3f}" for k in shown))
    return table


def _summary(out: Path, formats: list[str] | None) -> Table:
    endings = ", ".join([*(formats or ["png", "svg"]), "csv"])
    table = Table(
        "figure", f"what to see ({endings})", title=f"Written to {out}", title_justify="left", show_lines=True
    )
    for figure in THEORY_FIGURES:
        table.add_row(figure.name, figure.sentence.removeprefix("What to see: "))
    return table
