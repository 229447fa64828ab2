"""Options that several commands share. They have the names of the parameters in Python, so that messages fit both."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ._errors import UsageError
from ._file_roles import FileRole
from ._machine_memory import available_memory

if TYPE_CHECKING:
    from ..formats import RowStream

LIBRARIES = 250_000_000  # bytes of Python and its libraries, as a rule
LEAST_BLOCK, MOST_BLOCK = 1 << 22, 1 << 26
BLOCK_SHARE = 32  # blocks that the memory besides the libraries would hold
HALF = "half"  # of the memory there is: the default of --memory
_UNITS = {"": 1, **{unit: 10 ** (3 * q) for q, unit in enumerate("KMGT", 1)}}
_UNITS |= {f"{unit}I": 2 ** (10 * q) for q, unit in enumerate("KMGT", 1)}

# The formats that kernelsketch.formats reads, repeated here because a help screen must not import it.
FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npy", "npz", "codes")
Format = Enum("Format", {name: name for name in FORMATS}, type=str)  # type: ignore[misc]


def memory_of(text: str) -> int:
    """Return the number of bytes that a text such as 2GB, 512MiB, 1e9 or half means."""
    if text == HALF:
        return available_memory() // 2
    found = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([KMGT]?I?)B?\s*", text.upper().replace("E", "e"))
    try:
        if found is None or (found[2] == "I"):
            raise ValueError
        size = int(float(found[1]) * _UNITS[found[2]])
        if size < 1:
            raise ValueError
    except (ValueError, OverflowError):
        sentence = f"{text!r} is not a size. Write it as in 2GB, 512MiB, 1500000000 or half."
        raise typer.BadParameter(sentence, param_hint="--memory") from None
    return size


def size_text(size: float) -> str:
    """Return a number of bytes, rounded up, as --memory takes it."""
    if size < 1e9:
        return f"{10 * math.ceil(size / 1e7)}MB"
    return f"{math.ceil(size / 1e7) / 100:g}GB"


def _label(text: str | None) -> str | int | None:
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else text


INPUT_PANEL, HASH_PANEL, RUN_PANEL = "Input", "Hash", "Resources"
_input_argument = typer.Argument(metavar="INPUT", help="File of rows. - is standard input.", show_default=False)
Input = Annotated[str, _input_argument, FileRole.READ]
InputOrFolder = Annotated[str, _input_argument, FileRole.READ_WITHOUT_OUTPUTS]
_model_option = typer.Option("--model", "-m", metavar="FILE", help="File of the model.", show_default=False)
Model = Annotated[Path, _model_option, FileRole.READ]
NewModel = Annotated[Path, _model_option, FileRole.WRITTEN]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TextOutput = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Output file; .gz, .bz2, .xz and .zst are compressed. - is standard output.",
    ),
    FileRole.WRITTEN,
]


def delimiter_option(panel: str) -> Any:
    return typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="Delimiter of CSV. By default a comma, for TSV a tab.",
        show_default=False,
        rich_help_panel=panel,
    )


@dataclass
class InputOptions:
    """How a file of rows is read."""

    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"Format of INPUT: {', '.join(FORMATS)}. By default it is known by the ending of the name or the "
            "first bytes.",
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="Label column of CSV, Parquet, Arrow and NPY: its name, or its number from 0; -1 is the last. "
            "For NPZ the name of the array.",
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ] = None
    n_features: Annotated[
        int | None,
        typer.Option(
            "--n-features",
            min=1,
            help="Number of features. Rows with more are an error.",
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether CSV starts with a line of names. By default it is detected.",
            show_default=False,
            rich_help_panel=INPUT_PANEL,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        delimiter_option(INPUT_PANEL),
    ] = None
    zero_based: Annotated[
        bool,
        typer.Option("--zero-based", help="Feature ids of LIBSVM text start at 0, not 1.", rich_help_panel=INPUT_PANEL),
    ] = False
    text_labels: Annotated[
        bool,
        typer.Option("--text-labels", help="Read labels as text, even numbers.", rich_help_panel=INPUT_PANEL),
    ] = False


class OnError(StrEnum):
    """What to do with a record that has no text."""

    STOP = "stop"
    SKIP = "skip"


class TextRecords(NamedTuple):
    """Which texts of a file become rows."""

    field: str
    ngram: int  # words per shingle, for a new index
    skip_errors: bool  # whether a record without a text is a row of zeros rather than an error
    delimiter: str | None = None  # of CSV


class KnownLabel(NamedTuple):
    """The label column of the training rows of a model, if it is known, and the number of features beside it."""

    column: str | int | None
    n_features: int
    ignored: bool  # whether the labels themselves are not needed


@dataclass
class HashOptions:
    """The parameters of GCWS."""

    n_components: Annotated[
        int, typer.Option("--n-components", "-k", min=1, help="Number of hashes per row.", rich_help_panel=HASH_PANEL)
    ] = 1024
    bits: Annotated[
        int, typer.Option("--bits", "-b", min=1, max=16, help="Number of bits per hash.", rich_help_panel=HASH_PANEL)
    ] = 8
    t_bits: Annotated[
        int,
        typer.Option(
            "--t-bits",
            min=0,
            max=8,
            help="Number of further bits per hash, of t*, which depends on the size of the sampled value. A few bits "
            "improve the accuracy on data with few features.",
            rich_help_panel=HASH_PANEL,
        ),
    ] = 0
    p: Annotated[
        float, typer.Option("--p", "-p", help="Power of the min-max kernel (pGMM).", rich_help_panel=HASH_PANEL)
    ] = 1.0
    gamma: Annotated[
        float | None,
        typer.Option(
            "--gamma",
            help="Use the exponential kernel exp(-gamma (1 - GMM)), eGMM, with this gamma.",
            show_default=False,
            rich_help_panel=HASH_PANEL,
        ),
    ] = None
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the hash.", rich_help_panel=HASH_PANEL)] = 0

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as GCWS and the models take them."""
        return {**self._shared(), "random_state": self.seed}

    def fields(self) -> dict[str, Any]:
        """Return the parameters as a Hasher has them."""
        return {**self._shared(), "seed": self.seed}

    def _shared(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("n_components", "bits", "t_bits", "p", "gamma")}


@dataclass
class RunOptions:
    """What a command may use of the machine, and whether it shows progress."""

    threads: Annotated[
        int,
        typer.Option(
            "--threads",
            help="Number of threads; -1 uses all processors. Results do not depend on it.",
            rich_help_panel=RUN_PANEL,
        ),
    ] = -1
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Upper limit of memory, such as 2GB. Python and its libraries take up to 0.3 GB of it. half is half "
            "of the memory of the machine, or of the control group if it has less.",
            rich_help_panel=RUN_PANEL,
        ),
    ] = HALF
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.", rich_help_panel=RUN_PANEL)] = False

    @property
    def bytes(self) -> int:
        return memory_of(self.memory)

    @property
    def block_bytes(self) -> int:
        """Bytes of X per block: a small part of the memory, and not more than keeps the processors busy."""
        return min(MOST_BLOCK, max(LEAST_BLOCK, (self.bytes - LIBRARIES) // BLOCK_SHARE))

    @property
    def batch_bytes(self) -> int:
        """Bytes that a batch of Parquet or Arrow may take while pyarrow decodes it."""
        return max(1 << 26, (self.bytes - LIBRARIES) // 3)

    @property
    def document_bytes(self) -> int:
        """Bytes that a document may have: with its words, shingles and their keys it takes up to 24 times as much."""
        return max(1 << 20, (self.bytes - LIBRARIES) // 24)


def label_of(stream: RowStream, reading: InputOptions) -> str | int | None:
    """Return the label column of a file that has been opened: its name, or its number if it has none."""
    return stream.label_name or _label(reading.label)


def open_input(
    path: str, reading: InputOptions, running: RunOptions, *, as_table: bool = False, known: KnownLabel | None = None
) -> RowStream:
    """Open a file of rows, or standard input, as a stream of blocks; ``as_table`` reads tables as they are.

    ``known`` is the label column of a model, which applies if the command line names none; the file may lack it.
    """
    from ..formats import open_rows

    if reading.label is not None or (known is not None and known.column is None):
        known = None
    if running.threads == 0 or running.threads < -1:
        raise UsageError(f"--threads must be -1 or positive, got {running.threads}.")
    return open_rows(
        path,
        format=None if reading.format is None else reading.format.value,
        label=_label(reading.label) if known is None else known.column,
        n_features=reading.n_features,
        block_bytes=running.block_bytes,
        header=reading.header,
        delimiter=reading.delimiter,
        zero_based=reading.zero_based or None,
        text_labels=reading.text_labels or None,
        n_jobs=running.threads,
        as_table=as_table,
        label_beside=None if known is None else known.n_features,
        ignore_labels=known is not None and known.ignored,
        batch_bytes=running.batch_bytes,
    )
