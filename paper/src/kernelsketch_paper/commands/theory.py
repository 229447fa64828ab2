"""``kernelsketch theory`` checks the theorems by simulation and draws the paper's theory figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelsketch.cli.plugins import ProgressMeter, print_json

from .._choices import FORMATS

if TYPE_CHECKING:
    from rich.table import Table

    from ..simulations import TheorySimulations

QUICK = 2000
SHOWN_K = (16, 128, 1000)


def theory(
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="Folder for the figures. It is created if it does not exist."),
    ],
    seed: Annotated[int, typer.Option(min=0, help="Seed of all simulations.")] = 0,
    repetitions: Annotated[int, typer.Option(min=1, help="Number of repetitions of each simulation.")] = 100_000,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Use at most {QUICK} repetitions: seconds instead of minutes, less exact.")
    ] = False,
    threads: Annotated[
        int, typer.Option(help="Number of threads; -1 uses all processors. The files do not depend on it.")
    ] = -1,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="FORMAT", help="Format of the figures: png or svg. The default is both."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check the theorems by simulation, and draw the paper's theory figures with their numbers as CSV."""
    from rich.console import Console

    from kernelsketch.exceptions import InputError

    from ..simulations import THEORY_FIGURES, theory_figures

    console = Console()
    count = min(repetitions, QUICK) if quick else repetitions
    kinds = formats or list(FORMATS)
    with ProgressMeter("simulating", quiet) as meter:

        def show(name: str, done: int, total: int) -> None:
            if name != meter.title:
                meter.begin(name)
            meter.show(done / max(total, 1), f"{done:,} of {total:,}")

        try:
            found = theory_figures(out, repetitions=count, seed=seed, formats=kinds, n_jobs=threads, progress=show)
        except OSError as error:
            raise InputError(
                f"The figures cannot be written to {out}: {error.strerror or error}. Choose another folder with --out."
            ) from None
    if json:
        names = [figure.name for figure in THEORY_FIGURES]
        facts = {"repetitions": count, "seed": seed, "folder": str(out), "figures": names, "formats": kinds}
        print_json({**facts, "errors": _errors(found), "seconds": meter.seconds})
        return
    console.print(_agreement(found))
    console.print(_summary(out, kinds))
    console.print(f"{count:,} repetitions, seed {seed}, {meter.seconds:.0f} s.")


def _errors(found: TheorySimulations) -> list[dict[str, float]]:
    """Return how far the simulated errors are from the theorems: in standard errors for RFF, as a ratio for NRFF."""
    import numpy as np

    fourier = found.fourier
    score = np.abs(fourier.rff.score(fourier.rff_theory())).max(axis=1)
    ratio = (fourier.nrff.mse / fourier.nrff_theory())[:, -1]
    return [
        {"rho": float(rho), "gamma": float(gamma), "rff_largest_z": float(z), "nrff_ratio": float(last)}
        for (rho, gamma), z, last in zip(fourier.panels, score, ratio, strict=True)
    ]


def _agreement(found: TheorySimulations) -> Table:
    """Show how far the simulated errors of random Fourier features are from the theorems."""
    import numpy as np
    from rich.table import Table

    fourier = found.fourier
    score = np.abs(fourier.rff.score(fourier.rff_theory())).max(axis=1)
    ratio = fourier.nrff.mse / fourier.nrff_theory()
    shown = [k for k in SHOWN_K if k <= fourier.k[-1]]
    table = Table(
        "rho",
        "gamma",
        "RFF: largest |z| over k",
        *(f"NRFF / theory, k={k}" for k in shown),
        title="Simulated mean squared error compared with theory",
        title_justify="left",
    )
    for column in table.columns:
        column.justify = "right"
    for (rho, gamma), z, ratios in zip(fourier.panels, score, ratio, strict=True):
        table.add_row(f"{rho:g}", f"{gamma:g}", f"{z:.1f}", *(f"{ratios[k - 1]:.3f}" for k in shown))
    return table


def _summary(out: Path, formats: list[str]) -> Table:
    from rich.table import Table

    from ..simulations import THEORY_FIGURES

    endings = ", ".join([*formats, "csv"])
    table = Table(
        "figure", f"what to see ({endings})", title=f"Written to {out}", title_justify="left", show_lines=True
    )
    for figure in THEORY_FIGURES:
        table.add_row(figure.name, figure.sentence.removeprefix("What to see: "))
    return table
