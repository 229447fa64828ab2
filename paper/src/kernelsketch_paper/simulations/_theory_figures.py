"""The paper's theory figures as files: simulate, draw, and write pictures with their numbers beside them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kernelsketch._validation import check_positive_int
from kernelsketch.exceptions import InputError, MissingExtraError
from kernelsketch.storage import write_atomically

from . import _theory_drawings as drawings
from . import _theory_tables as tables
from ._chunks import check_seed, check_size
from ._fourier import simulate_fourier
from ._gcws import simulate_gcws
from ._limit import simulate_limit
from ._rbf_from_gmm import simulate_rbf_from_gmm
from ._theory_tables import Table, TheorySimulations

FORMATS = ("png", "svg")
Progress = Callable[[str, int, int], None]  # what is simulated, repetitions done, and in all


@dataclass(frozen=True)
class TheoryFigure:
    """A figure: the name of its files, what to see in it, its numbers and its drawing."""

    name: str
    sentence: str
    table: Callable[[TheorySimulations], Table]
    draw: Callable[[Table, TheorySimulations, str], Any]


FIGURES = (
    TheoryFigure(
        "variance-ratio",
        "What to see: for large k normalized features never vary more than plain ones, and the more alike two rows "
        "are the more is gained. Only gamma (1 - rho) counts.",
        tables.variance_ratio,
        drawings.draw_variance_ratio,
    ),
    TheoryFigure(
        "mse",
        "What to see: RFF follows V/k at every k. NRFF lies above V_n/k when k is small and the rows are alike, and "
        "joins it from about k = 100 on.",
        tables.mse,
        drawings.draw_mse,
    ),
    TheoryFigure(
        "relative-variance",
        "What to see: for kernels below 0.79 GCWS is the most precise for its size, by a factor of 1/E for small E; "
        "above, NRFF is.",
        tables.relative,
        drawings.draw_relative,
    ),
    TheoryFigure(
        "variance-ratio-gcws",
        "What to see: GCWS estimates RBF with less variance below a correlation of 0.53 to 0.60 for gamma up to 2, "
        "0.75 for gamma = 5, 0.85 for gamma = 10; NRFF above.",
        tables.variance_ratio_gcws,
        drawings.draw_variance_ratio_gcws,
    ),
    TheoryFigure(
        "gcws",
        "What to see: full samples are unbiased, and their error is that of a binomial share at every k. Without t* "
        "there is a small upward bias, which k does not change.",
        tables.gcws,
        drawings.draw_gcws,
    ),
    TheoryFigure(
        "limit",
        "What to see: the distance falls as 1/√D where the data have a variance, and more slowly where they have "
        "only a mean (1.5 degrees of freedom).",
        tables.limit,
        drawings.draw_limit,
    ),
    TheoryFigure(
        "rbf-from-gcws",
        "What to see: V_g/k holds from k of about 100 on, and later where the kernel is close to 0 or to 1. GCWS wins "
        "on unlike rows, NRFF on rows that are nearly equal.",
        tables.rbf_from_gcws,
        drawings.draw_rbf_from_gcws,
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
    progress: Progress | None = None,
) -> TheorySimulations:
    """Simulate the theorems, and write the paper's theory figures with their numbers.

    Each figure is NAME.png, NAME.svg and NAME.csv; ``THEORY_FIGURES`` lists them. With 100,000 repetitions it takes
    some minutes on two cores. Needs matplotlib: ``pip install 'kernelsketch[plot]'``.

    Parameters
    ----------
    out : path
        Folder, made where there is none. Files of the same names are replaced.
    k_max : int, default=1000
        Largest number of features or hashes.
    repetitions : int, default=100_000
        Of each simulation over k; that of the limit takes a hundredth.
    seed : int, default=0
    formats : sequence of str, default=("png", "svg")
        Of the pictures.
    n_jobs : int, default=None
        Threads: None is 1, -1 all processors. Files do not depend on it.
    progress : callable, default=None
        Called with the name of the simulation and the numbers of its repetitions done and in all.

    Returns
    -------
    simulations : TheorySimulations
        What the figures show.

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
    kinds = (formats,) if isinstance(formats, str) else tuple(formats)
    for kind in kinds:
        if kind not in FORMATS:
            raise InputError(f"formats must be among {', '.join(FORMATS)}, got {kind!r}.")
    if find_spec("matplotlib") is None:  # said now, not after minutes of simulation
        raise MissingExtraError("plot", "matplotlib")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "about.txt", _about(k_max, repetitions, seed).encode())
    found = _simulate(k_max, repetitions, seed, n_jobs, progress)
    for figure in FIGURES:
        table = figure.table(found)
        write_atomically(folder / f"{figure.name}.csv", tables.as_csv(table))
        drawing = figure.draw(table, found, figure.sentence)
        drawing.draw_without_rendering()
        drawing.set_layout_engine("none")  # laid out once: a second time would move things, and take as long
        for kind in kinds:
            write_atomically(folder / f"{figure.name}.{kind}", _picture(drawing, kind))
    return found


def _simulate(
    k_max: int, repetitions: int, seed: int, n_jobs: int | None, progress: Progress | None
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


def _picture(figure: Any, kind: str) -> bytes:
    """The same bytes for the same figure: no date, and names within SVG files by a fixed salt."""
    import matplotlib

    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "kernelsketch"}):
        figure.savefig(content, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()
