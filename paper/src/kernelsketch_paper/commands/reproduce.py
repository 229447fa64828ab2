"""``kernelsketch reproduce`` runs the experiments behind the paper's tables and figures, and further comparisons."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelsketch.cli.plugins import ProgressMeter, memory_of, print_json

from .._choices import SCALE_NAMES, TARGETS

if TYPE_CHECKING:
    from rich.table import Table

    from ..experiments import State

Target = Enum("Target", {name: name for name in TARGETS}, type=str)  # type: ignore[misc]
FOLDER = Path("results")


def reproduce(
    target: Annotated[
        Target,
        typer.Argument(
            metavar="TARGET", help="One table, all figures, the comparisons beyond the paper, or everything."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FOLDER", help="Folder of the results. A later run continues from what it finds there."
        ),
    ] = FOLDER,
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            "--datasets",
            metavar="NAME",
            help="Run this dataset only: a name of `kernelsketch datasets`, or a file of your own (CSV, TSV, LIBSVM, "
            "Parquet, Arrow, NPZ) with features that are numbers. The option may be repeated.",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="Name or number of the column of labels in your own files."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(min=0, metavar="MINUTES", help="Time after which no further cell starts.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run every experiment at small scale. This takes some minutes.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Run the complete grids of the paper. This takes days.")] = False,
    scale: Annotated[str, typer.Option(help=f"One of {', '.join(SCALE_NAMES)}.", hidden=True)] = "standard",
    jobs: Annotated[
        int, typer.Option(help="Number of processes, each with one thread; -1 starts one per processor.")
    ] = -1,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory that all running cells may use together, such as 2GB. half is half of the memory of the "
            "machine, or of the control group if it has less. By default 80 % of the free memory.",
        ),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Download datasets that are not on this machine.")
    ] = False,
    skip_checksum: Annotated[
        bool, typer.Option("--skip-checksum", help="Accept dataset files whose checksum differs from the registry's.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run the paper's experiments. You can interrupt them at any time: finished cells are kept."""
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other: choose one of them.")
    limit = None if memory is None else memory_of(memory)
    from rich.console import Console
    from rich.live import Live

    from kernelsketch.exceptions import InputError, KernelsketchError

    from ..experiments import reproduce as run

    chosen = "quick" if quick else "full" if full else scale
    console = Console()
    with ExitStack() as stack:
        if console.is_terminal and not (quiet or as_json):
            live = stack.enter_context(Live(console=console, refresh_per_second=2, transient=True))
            show: Callable[[State], None] = lambda state: live.update(_shown(state))  # noqa: E731
        else:
            meter = stack.enter_context(ProgressMeter("reproducing", quiet))
            show = lambda state: meter.show(state.done / max(state.total, 1), _line(state))  # noqa: E731
        try:
            found = run(
                target.value,
                out,
                scale=chosen,
                datasets=datasets or (),
                label=int(label) if label is not None and label.lstrip("-").isdecimal() else label,
                jobs=jobs,
                memory=limit,
                budget=None if budget is None else 60 * budget,
                download=download,
                verify=not skip_checksum,
                progress=show,
            )
        except KeyboardInterrupt:
            print(f"Stopped. The finished cells are in {out}; the same command continues from there.", file=sys.stderr)
            raise typer.Exit(130) from None
        except KernelsketchError:
            raise
        except OSError as error:
            raise InputError(
                f"The results cannot be written to {out}: {error.strerror or error}. Choose another folder with --out."
            ) from None
    state = found.state
    if as_json:
        print_json(
            {
                "done": state.done,
                "total": state.total,
                "results": str(out),
                "out_of_time": state.out_of_time,
                "other_versions": found.other_versions,
                "absent": list(found.absent),
                "stand_ins": list(found.stand_ins),
                "not_run": found.not_run,
                "failed": _failures(state),
            }
        )
        if state.failed or state.broken:
            raise typer.Exit(1)
        return
    console.print(f"{state.done} of {state.total} cells are done; the results are in {out}.")
    console.print(
        f"To make the page and the figures: kernelsketch report --results {out} --figures",
        highlight=False,
        soft_wrap=True,
    )
    if state.out_of_time:
        console.print("The time budget is used up; the same command continues the run.")
    if found.other_versions:
        console.print(f"{found.other_versions} stored cells belong to other versions or scales and were not used.")
    if found.stand_ins:
        console.print(
            f"{len(found.absent)} datasets of the paper are not on this machine. Bundled ones stood in: "
            f"{', '.join(found.stand_ins)}. --download gets those that have an address; `kernelsketch datasets` lists "
            "all of them.",
            highlight=False,
        )
    for name, reason in found.not_run.items():
        if not found.stand_ins or name not in found.absent:
            console.print(f"not run: {name}: {reason}", highlight=False)
    for line in _failures(state):
        console.print(f"failed: {line}", highlight=False, style="red")
    if state.failed or state.broken:
        raise typer.Exit(1)


def _failures(state: State) -> list[str]:
    """Return one line per reason, with the number of cells that failed for it."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for key, reason in state.failed.items():
        cell = json.loads(key)
        counts[cell["dataset"], cell["experiment"], reason] += 1
    return [
        f"{dataset}, experiment {experiment}, {n} {'cell' if n == 1 else 'cells'}: {reason}"
        for (dataset, experiment, reason), n in counts.items()
    ]


def _line(state: State) -> str:
    """Return what is running as one line."""
    running = ", ".join(sorted({f"{cell.experiment} of {cell.dataset}" for cell in state.running}))
    return f"{state.done} of {state.total} cells" + (f", now {running}" if running else "")


def _shown(state: State) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    left = "" if state.seconds_left is None else f"about {_duration(state.seconds_left)} left"
    count = f"{state.done}/{state.total} cells"
    table.add_row(count, ProgressBar(max(state.total, 1), state.done, width=40), left)
    for cell in state.running:
        settings = [f"split {cell.split}", *(f"gamma={g:g}" for g in cell.gammas[:1])]
        settings += [f"{name}={value}" for name, value in (("k", cell.k), ("b", cell.b)) if value is not None]
        table.add_row("", f"{cell.experiment}: {cell.dataset}, {cell.method}", ", ".join(settings))
    return table


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
