"""``kernelsketch reproduce``: the paper's tables and figures, and what it leaves out."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from kernelsketch.cli.plugins import UsageError, format_duration
from kernelsketch.exceptions import InputError, KernelsketchError

from ..experiments import SCALES, TARGETS, State, reproduce

Target = Enum("Target", {name: name for name in TARGETS}, type=str)  # type: ignore[misc]
FOLDER = Path("results")


def reproduce_command(
    target: Annotated[Target, typer.Argument(help="A table, the figures, what lies beyond the paper, or all.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of results; a run goes on where it was.")] = FOLDER,
    datasets: Annotated[list[str] | None, typer.Option("--datasets", help="Only this one; may be repeated.")] = None,
    budget: Annotated[float | None, typer.Option(min=0, help="Minutes after which no cell is begun.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Every experiment at small scale: 10 minutes.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's whole grids: days.")] = False,
    scale: Annotated[str, typer.Option(help=f"One of {', '.join(SCALES)}.", hidden=True)] = "standard",
    jobs: Annotated[int, typer.Option(help="Processes of one thread each; -1 is one a processor.")] = -1,
    memory: Annotated[float | None, typer.Option(min=0.1, help="GB for all cells together.")] = None,
    download: Annotated[bool, typer.Option("--download", help="Fetch datasets that are not here.")] = False,
    skip_checksum: Annotated[
        bool, typer.Option("--skip-checksum", help="Also use dataset files whose checksum differs.")
    ] = False,
) -> None:
    """Run the paper's experiments. Interrupt at any time: finished cells are kept."""
    if quick and full:
        raise UsageError("--quick and --full exclude each other.")
    chosen = "quick" if quick else "full" if full else scale
    console = Console()
    with Live(console=console, refresh_per_second=2, transient=True) as live:
        try:
            found = reproduce(
                target.value,
                out,
                scale=chosen,
                datasets=datasets or (),
                jobs=jobs,
                memory=None if memory is None else int(memory * 1e9),
                budget=None if budget is None else 60 * budget,
                download=download,
                verify=not skip_checksum,
                progress=lambda state: live.update(_shown(state)),
            )
        except KeyboardInterrupt:
            console.print(f"Stopped. Finished cells are in {out}: the same command goes on from there.")
            raise typer.Exit(130) from None
        except KernelsketchError:
            raise
        except OSError as error:
            raise InputError(f"{out} cannot be written to: {error.strerror or error}. Choose another --out.") from None
    state = found.state
    console.print(f"{state.done} of {state.total} cells are done; results are in {out}.")
    console.print(f"For the page and the figures: kernelsketch report --results {out} --figures", highlight=False)
    if state.out_of_time:
        console.print("The budget is used up: the same command goes on.")
    if found.others:
        console.print(f"{found.others} stored cells of other versions were left aside.")
    for name, reason in found.not_run.items():
        console.print(f"not run: {name}: {reason}", highlight=False)
    for key, reason in state.failed.items():
        console.print(f"failed: {key}: {reason}", highlight=False, style="red")
    if state.failed:
        raise typer.Exit(1)


def _shown(state: State) -> Table:
    table = Table.grid(padding=(0, 1))
    left = "" if state.seconds_left is None else f"about {format_duration(state.seconds_left)} left"
    count = f"{state.done}/{state.total} cells"
    table.add_row(count, ProgressBar(max(state.total, 1), state.done, width=40), left)
    for cell in state.running:
        settings = [f"split {cell.split}", *(f"gamma={g:g}" for g in cell.gammas[:1])]
        settings += [f"{name}={value}" for name, value in (("k", cell.k), ("b", cell.b)) if value is not None]
        table.add_row("", f"{cell.experiment}: {cell.dataset}, {cell.method}", ", ".join(settings))
    return table
