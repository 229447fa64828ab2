"""Options that several commands share. They have the names of the parameters in Python, so that messages fit both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ._errors import UsageError
from ._file_roles import FileRole
from ._memory import BLOCK_SHARE, HALF, LEAST_BLOCK, LIBRARIES, MOST_BLOCK, memory_of
from ._option_groups import argument, option

if TYPE_CHECKING:
    from ..formats import RowStream

# The formats that kernelsketch.formats reads, repeated here because a help screen must not import it.
FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npy", "npz", "codes")
DOCUMENT_FORMATS = ("jsonl", "lines", "csv", "tsv", "parquet", "arrow")

TABLE_FORMATS = (
    "csv",
    "tsv",
    "jsonl",
    "parquet",
    "text",
)  # that formats.open_table writes, repeated for the same reason


def _column(text: str) -> str | int:
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def input_file(role: FileRole = FileRole.READ, what: str = "rows") -> Any:
    return argument(..., "INPUT", f"File of {what}. - is standard input.", role)


def input_files(role: FileRole = FileRole.READ) -> Any:
    help = (
        "Files of rows, folders of parts such as part-0.parquet, and patterns in quotes such as 'part-*.csv', with the "
        "same columns. They are read in this order, the parts of a folder by name. - is standard input."
    )
    return argument(..., "INPUT", help, role)


def model_file(role: FileRole) -> Any:
    return option(..., "File of the model.", "-m", metavar="FILE", role=role)


def text_output() -> Any:
    help = "Output file; .gz, .bz2, .xz and .zst are compressed. - is standard output."
    return option("-", help, "-o", metavar="FILE", role=FileRole.WRITTEN)


def output_format(*choices: str) -> Any:
    return option(None, "Format of OUTPUT. By default the ending of the name decides.", choices=choices)


def zero_based_output() -> Any:
    return option(False, "Feature ids in text start at 0. By default they start at 1, as in LIBLINEAR.")


def json_flag(help: str = "Print the result as JSON.") -> Any:
    return option(False, help)


def quiet_flag() -> Any:
    return option(False, "Show no progress.", "-q")


def delimiter_option() -> Any:
    return option(None, "Delimiter of CSV. By default a comma, for TSV a tab.", metavar="CHAR")


def document_format() -> Any:
    help = (
        f"Format of INPUT: {', '.join(DOCUMENT_FORMATS)}. By default the ending of the name or the first bytes decide."
    )
    return option(None, help, metavar="FORMAT", choices=DOCUMENT_FORMATS)


def on_error_option(default: str | None, help: str) -> Any:
    return option(default, help, choices=("stop", "skip"))


@dataclass
class InputOptions:
    """How a file of rows is read."""

    panel = "Input"
    format: str | None = option(
        None,
        f"Format of INPUT: {', '.join(FORMATS)}. By default the ending of the name or the first bytes decide.",
        metavar="FORMAT",
        choices=FORMATS,
    )
    label: list[str] | None = option(
        None,
        "Label column of CSV, Parquet, Arrow and NPY: its name, or its number from 0; -1 is the last. For NPZ the name "
        "of the array. Repeat the option to train a model of a table on several labels.",
        metavar="COLUMN",
    )
    drop: list[str] | None = option(
        None,
        "Column of CSV, Parquet, Arrow and NPY to leave out: its name, or its number from 0 in a file without names. "
        "It may be missing when the model predicts. Repeat the option for more columns.",
        metavar="COLUMN",
    )
    n_features: int | None = option(None, "Number of features. Rows with more are an error.", min=1)
    header: bool | None = option(
        None, "Whether CSV starts with a line of names. By default it is detected.", "--header/--no-header"
    )
    delimiter: str | None = delimiter_option()
    zero_based: bool = option(False, "Feature ids of LIBSVM text start at 0, not 1.")
    text_labels: bool = option(False, "Read labels as text, even numbers.")
    encoding: str | None = option(
        None,
        "Encoding of CSV and LIBSVM text, such as latin-1, cp1252 or utf-16. By default UTF-8.",
        metavar="ENCODING",
    )

    @property
    def labels(self) -> list[str | int]:
        """The label columns, by names or numbers."""
        return [_column(text) for text in self.label or ()]


def weight_option() -> Any:
    help = "Column of weights of rows, none of which is negative. It is no feature."
    return option(None, help, metavar="COLUMN", rich_help_panel=InputOptions.panel)


def id_option(use: str) -> Any:
    help = f"Column of ids of rows, which are no feature{use}"
    return option(None, help, metavar="COLUMN", rich_help_panel=InputOptions.panel)


@dataclass
class SeveralInputs:
    """The inputs of commands that read several files as one table."""

    inputs: list[str] = input_files()

    @property
    def input(self) -> str:
        """The inputs as messages name them."""
        return shown_inputs(self.inputs)


def shown_inputs(inputs: list[str]) -> str:
    return inputs[0] if len(inputs) == 1 else f"{inputs[0]} and {len(inputs) - 1} more"


class KnownLabel(NamedTuple):
    """The label columns of the training rows of a model, if they are known, and the number of features beside them."""

    columns: list[str | int]
    n_features: int
    ignored: bool  # whether the labels themselves are not needed
    features: tuple[str, ...] | None = None  # names of the features of a model of numbers


@dataclass
class HashOptions:
    """The parameters of GCWS."""

    panel = "Hash"
    n_components: int = option(1024, "Number of hashes per row.", "-k", min=1)
    bits: int = option(8, "Number of bits per hash.", "-b", min=1, max=16)
    t_bits: int = option(
        0,
        "Number of further bits per hash, of t*, which depends on the size of the sampled value. A few bits improve "
        "the accuracy on data with few features.",
        min=0,
        max=8,
    )
    p: float = option(1.0, "Power of the min-max kernel (pGMM).", "-p")
    gamma: float | None = option(None, "Use the exponential kernel exp(-gamma (1 - GMM)), eGMM, with this gamma.")
    seed: int = option(0, "Seed of the hash.", min=0)

    def hash_parameters(self) -> dict[str, Any]:
        """Return the parameters as GCWS and the models take them, without the seed."""
        return {name: getattr(self, name) for name in ("n_components", "bits", "t_bits", "p", "gamma")}


@dataclass
class RunOptions:
    """What a command may use of the machine, and whether it shows progress."""

    panel = "Resources"
    threads: int = option(-1, "Number of threads; -1 uses all processors. Results do not depend on it.")
    memory: str = option(
        HALF,
        "Upper limit of memory, such as 2GB. Python and its libraries take up to 0.3 GB of it. half is half of the "
        "memory of the machine, or of the control group if it has less.",
        metavar="SIZE",
    )
    quiet: bool = quiet_flag()

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


@dataclass
class RowsOptions(RunOptions, InputOptions):
    """The options of commands that read rows."""


def check_fraction(option: str, value: float | None, *, below: bool = False) -> None:
    """Refuse an option that is not above 0 and at most 1, or ``below`` 1."""
    if value is not None and not (0 < value < 1 or (value == 1 and not below)):
        raise UsageError(f"{option} must be above 0 and {'below' if below else 'at most'} 1, got {value:g}.")


def check_threads(running: RunOptions) -> None:
    if running.threads == 0 or running.threads < -1:
        raise UsageError(f"--threads must be -1 or positive, got {running.threads}.")


def label_of(stream: RowStream, reading: InputOptions) -> str | int | None:
    """Return the label column of a file that has been opened: its name, or its number if it has none."""
    return stream.label_name or next(iter(reading.labels), None)


def open_input(
    path: str | list[str],
    options: RowsOptions,
    *,
    as_table: bool = False,
    known: KnownLabel | None = None,
    several_labels: bool = False,
    drops: bool = True,
    carry: list[str] | None = None,
) -> RowStream:
    """Open files of rows, or standard input, as a stream of blocks; ``as_table`` reads tables as they are.

    ``known`` are the label columns of a model, which apply if the command line names none; the file may lack them.
    Blocks carry the columns that :func:`columns_beside` lists and those of ``carry``, which may be features, beside X.
    Without ``drops`` the command leaves columns out itself, apart from those that not all files have.
    """
    from ..formats import open_rows, row_files

    labels, features_beside, ignored = options.labels, None, known is not None and known.ignored
    if len(labels) > 1 and not several_labels:
        raise UsageError("--label is given several times, which only train, predict and evaluate take: name one label.")
    if not labels and known is not None and known.columns:
        labels, features_beside = known.columns, known.n_features
    check_threads(options)
    return open_rows(
        row_files([path] if isinstance(path, str) else path),
        format=options.format,
        label=next(iter(labels), None),
        n_features=options.n_features,
        block_bytes=options.block_bytes,
        header=options.header,
        delimiter=options.delimiter,
        zero_based=options.zero_based or None,
        text_labels=options.text_labels or None,
        n_jobs=options.threads,
        as_table=as_table,
        label_beside=features_beside,
        ignore_labels=ignored,
        batch_bytes=options.batch_bytes,
        carry=carry,
        drop=options.drop if drops else None,
        optional=None if drops else options.drop,
        beside=[*(("label", label) for label in labels[1:]), *columns_beside(options)],
        features=None if known is None else known.features,
        encoding=options.encoding,
    )


def columns_beside(options: RowsOptions) -> list[tuple[str, str]]:
    """Return the columns of weights and of ids that the command line names, with the names of the options."""
    given = ((name, getattr(options, name, None)) for name in ("sample_weight", "id"))
    return [(name, column) for name, column in given if column is not None]
