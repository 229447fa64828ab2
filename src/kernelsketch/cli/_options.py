"""The options that commands share. Their names are those of the parameters in Python, so that messages fit both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..formats import READABLE, RowStream, open_rows
from ._errors import UsageError

MOST_BLOCK = 1 << 26
_UNITS = {"": 1, **{unit: 10 ** (3 * q) for q, unit in enumerate("KMGT", 1)}}
_UNITS |= {f"{unit}I": 2 ** (10 * q) for q, unit in enumerate("KMGT", 1)}

Format = Enum("Format", {name: name for name in READABLE}, type=str)  # type: ignore[misc]


def memory_of(text: str) -> int:
    """Bytes of a text such as 2GB, 512MiB or 1e9."""
    found = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([KMGT]?I?)B?\s*", text.upper().replace("E", "e"))
    try:
        if found is None or (found[2] == "I"):
            raise ValueError
        size = int(float(found[1]) * _UNITS[found[2]])
        if size < 1:
            raise ValueError
    except (ValueError, OverflowError):
        sentence = f"{text!r} is no size. Write it as in 2GB, 512MiB or 1500000000."
        raise typer.BadParameter(sentence, param_hint="--memory") from None
    return size


def _label(text: str | None) -> str | int | None:
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else text


READING, HASHING, RUNNING = "Reading", "Hash", "Running"
Input = Annotated[str, typer.Argument(metavar="INPUT", help="File of rows; - is standard input.", show_default=False)]
Model = Annotated[Path, typer.Option("--model", "-m", metavar="FILE", help="The model's file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON on standard output.")]


@dataclass
class Reading:
    """How a file of rows is read."""

    format: Annotated[
        Format | None,
        typer.Option(
            "--format", help="By default by the name's ending, else by the first bytes.", rich_help_panel=READING
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="Column of the label in CSV, Parquet, Arrow and NPY: its name, or its number from 0, -1 for the last. "
            "In NPZ the name of the array.",
            rich_help_panel=READING,
        ),
    ] = None
    n_features: Annotated[
        int | None, typer.Option("--n-features", min=1, help="Refuse rows that have more.", rich_help_panel=READING)
    ] = None
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether CSV has a line of names.", rich_help_panel=READING),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", metavar="CHAR", help="Between cells of CSV.", rich_help_panel=READING)
    ] = None
    zero_based: Annotated[
        bool, typer.Option("--zero-based", help="Ids of LIBSVM text count from 0.", rich_help_panel=READING)
    ] = False
    text_labels: Annotated[
        bool, typer.Option("--text-labels", help="Take all labels as text.", rich_help_panel=READING)
    ] = False


@dataclass
class Hashing:
    """The parameters of GCWS."""

    n_components: Annotated[
        int, typer.Option("--n-components", "-k", min=1, help="Hashes a row.", rich_help_panel=HASHING)
    ] = 1024
    bits: Annotated[
        int, typer.Option("--bits", "-b", min=1, max=16, help="Bits kept of each.", rich_help_panel=HASHING)
    ] = 8
    t_bits: Annotated[
        int,
        typer.Option("--t-bits", min=0, max=8, help="Bits of t*: for data of few features.", rich_help_panel=HASHING),
    ] = 0
    p: Annotated[float, typer.Option("--p", "-p", help="Power of the min-max kernel.", rich_help_panel=HASHING)] = 1.0
    gamma: Annotated[
        float | None, typer.Option("--gamma", help="Of the exponential kernel, eGMM.", rich_help_panel=HASHING)
    ] = None
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the hash.", rich_help_panel=HASHING)] = 0

    def parameters(self) -> dict[str, Any]:
        """As GCWS and the models take them."""
        names = ("n_components", "bits", "t_bits", "p", "gamma")
        return {**{name: getattr(self, name) for name in names}, "random_state": self.seed}

    def fields(self) -> dict[str, Any]:
        """As a Hasher has them."""
        given = self.parameters()
        return {**given, "seed": given.pop("random_state")}


@dataclass
class Running:
    """What a command may use of the machine, and how much it tells."""

    threads: Annotated[
        int,
        typer.Option("--threads", help="-1 is all processors. Results do not depend on it.", rich_help_panel=RUNNING),
    ] = -1
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="To use at most, as in 2GB; the libraries take 0.25 of it.",
            rich_help_panel=RUNNING,
        ),
    ] = "2GB"
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.", rich_help_panel=RUNNING)] = False

    @property
    def bytes(self) -> int:
        return memory_of(self.memory)

    @property
    def block_bytes(self) -> int:
        """Of X in a block: a small part of the memory, and not more than keeps the processors busy."""
        return max(1 << 16, min(MOST_BLOCK, self.bytes // 32))


def open_input(path: str, reading: Reading, running: Running) -> RowStream:
    """The rows of a file or of standard input."""
    if running.threads == 0 or running.threads < -1:
        raise UsageError(f"--threads must be -1 or above 0, got {running.threads}.")
    return open_rows(
        path,
        format=None if reading.format is None else reading.format.value,
        label=_label(reading.label),
        n_features=reading.n_features,
        block_bytes=running.block_bytes,
        header=reading.header,
        delimiter=reading.delimiter,
        zero_based=reading.zero_based or None,
        text_labels=reading.text_labels or None,
        n_jobs=running.threads,
    )
