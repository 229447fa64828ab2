"""Write the paper's theory figures: simulate, draw, and store the pictures with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._checks import check_positive_int, check_seed
from .._choices import FORMATS
from .._library import write_atomically
from ..drawing import Plot, check_formats, draw_plot, write_figure
from . import _theory_plots as plots
from . import _theory_tables as tables
from ._chunks import check_size
from ._fourier import simulate_fourier
from ._gcws import simulate_gcws
from ._limit import simulate_limit
from ._rbf_from_gmm import simulate_rbf_from_gmm
from ._theory_tables import Columns, TheorySimulations

OnSimulation = Callable[[str, int, int], None]  # called with the name, the repetitions done and in all


@dataclass(frozen=True)
class TheoryFigure:
    """A figure: the name of its files, the sentence that says what to see, its numbers and its plot."""

    name: str
    sentence: str
    table: Callable[[TheorySimulations], Columns]
    plot: Callable[[Columns, TheorySimulations, str], Plot]


FIGURES = (
    TheoryFigure(
        "variance-ratio",
        "What to see: for large k, normalized features never have a larger variance than plain ones, and the gain "
        "grows with the similarity of the rows. The ratio depends on gamma (1 - rho) only.",
        tables.variance_ratio,
        plots.variance_ratio,
    ),
    TheoryFigure(
        "mse",
        "What to see: RFF follows V/k at every k. NRFF lies above V_n/k when k is small and the rows are similar, and "
        "follows it from about k = 100 on.",
        tables.mse,
        plots.mse,
    ),
    TheoryFigure(
        "relative-variance",
        "What to see: for kernels E below 0.79, GCWS has the smallest relative variance, by a factor of 1/E for small "
        "E; above 0.79, NRFF has.",
        tables.relative,
        plots.relative_variance,
    ),
    TheoryFigure(
        "variance-ratio-gcws",
        "What to see: GCWS estimates the RBF kernel with less variance than NRFF below a correlation of 0.53 to 0.60 "
        "for gamma up to 2, of 0.75 for gamma = 5, and of 0.85 for gamma = 10. Above it, NRFF has less variance.",
        tables.variance_ratio_gcws,
        plots.variance_ratio_gcws,
    ),
    TheoryFigure(
        "gcws",
        "What to see: samples (i*, t*) are unbiased, and their error is GMM (1 - GMM) / k at every k. Without t* there "
        "is a small upward bias, which does not depend on k.",
        tables.gcws,
        plots.gcws,
    ),
    TheoryFigure(
        "limit",
        "What to see: the distance decreases as 1/√D where the data have a variance, and more slowly where they have "
        "only a mean (1.5 degrees of freedom).",
        tables.limit,
        plots.limit,
    ),
    TheoryFigure(
        "rbf-from-gcws",
        "What to see: V_g/k holds from about k = 100 on, and later where the kernel is close to 0 or to 1. GCWS is "
        "better for dissimilar rows, NRFF for rows that are nearly equal.",
        tables.rbf_from_gcws,
        plots.rbf_from_gcws,
    ),
)


def theory_figures(
    out: Any,
    *,
    k_max: int = 1000,
    repetitions: int = 100_000,
    seed: int = 0,
    formats: Sequence[str] = FORMATS,
    n_jobs: int | None = None,
    progress: OnSimulation | None = None,
) -> TheorySimulations:
    """Simulate the theorems, and write the paper's theory figures with their numbers.

    Each figure is NAME.png, NAME.svg and NAME.csv; ``THEORY_FIGURES`` lists the figures. With 100,000 repetitions this
    takes some minutes on two cores.

    Parameters
    ----------
    out : path
        Folder for the files. It is created if it does not exist. Files of the same names are replaced.
    k_max : int, default=1000
        Largest number of features or hashes.
    repetitions : int, default=100_000
        Number of repetitions of each simulation over k. The simulation of the limit takes a hundredth of it.
    seed : int, default=0
        Seed of all simulations.
    formats : sequence of str, default=("png", "svg")
        Formats of the pictures. The numbers are always written, as CSV.
    n_jobs : int, default=None
        Number of threads: None means 1, -1 means all processors. The files do not depend on it.
    progress : callable, default=None
        Function that is called with the name of a simulation, the number of repetitions done and the number in all.

    Returns
    -------
    simulations : TheorySimulations
        The simulations that the figures show.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from kernelsketch_paper.simulations import theory_figures
    >>> with TemporaryDirectory() as out:
    ...     found = theory_figures(out, k_max=20, repetitions=100, formats=["svg"])
    ...     len(list(Path(out).glob("*.svg")))
    7
    """
    folder = Path(out)
    check_size(k_max, "k_max")
    check_positive_int(repetitions, "repetitions")
    check_seed(seed)
    kinds = check_formats(formats)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "about.txt", _about(k_max, repetitions, seed).encode())
    found = _simulate(k_max, repetitions, seed, n_jobs, progress)
    for figure in FIGURES:
        table = figure.table(found)
        write_atomically(folder / f"{figure.name}.csv", tables.as_csv(table))
        if kinds:
            write_figure(folder, figure.name, draw_plot(figure.plot(table, found, figure.sentence)), kinds)
    return found


def _simulate(
    k_max: int, repetitions: int, seed: int, n_jobs: int | None, progress: OnSimulation | None
) -> TheorySimulations:
    def part(name: str) -> Any:
        bar = None if progress is None else lambda done, total: progress(name, done, total)
        return {"seed": seed, "n_jobs": n_jobs, "progress": bar}

    size: dict[str, Any] = {"k_max": k_max, "repetitions": repetitions}
    return TheorySimulations(
        simulate_fourier(**size, **part("random Fourier features")),
        simulate_gcws(**size, **part("GCWS")),
        simulate_rbf_from_gmm(**size, **part("RBF from GCWS")),
        simulate_limit(repetitions=max(10, repetitions // 100), **part("limit of GMM")),
        repetitions,
    )


def _about(k_max: int, repetitions: int, seed: int) -> str:
    from kernelsketch import __version__

    return f"kernelsketch {__version__} theory: seed {seed}, {repetitions} repetitions, k up to {k_max}\n"
