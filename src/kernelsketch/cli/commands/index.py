"""``kernelsketch index build | query | dedup``: near neighbours of the rows of files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from .._errors import UsageError
from .._file_roles import FileRole
from .._option_groups import TYPER_SETTINGS, examples, launcher, option
from .._options import (
    InputOptions,
    RowsOptions,
    SeveralInputs,
    check_fraction,
    id_option,
    input_file,
    input_files,
    json_flag,
    on_error_option,
    text_output,
)

command = typer.Typer(no_args_is_help=True, **TYPER_SETTINGS)


@command.callback()
def index() -> None:
    """Find near neighbours and near-duplicates under the GMM kernel: weighted Jaccard similarity, also for signed data.

    First build an index of a file, then query it with another file. dedup needs no index.
    """


def index_file(role: FileRole) -> Any:
    return option(..., "File of the index.", "-i", metavar="FILE", role=role)


@dataclass
class TextOptions:
    """Which texts of a file become rows."""

    panel = "Texts"
    text: str | None = option(
        None,
        "Take the texts of this field of JSONL, CSV, Parquet or Arrow as rows of shingles. For a folder of text files "
        "pass text.",
        metavar="FIELD",
    )
    on_error: str | None = on_error_option(
        None,
        "What to do with a record without a text, with --text: stop, or skip it. A skipped record is counted, and no "
        "row is similar to it. By default stop.",
    )

    def check_texts(self) -> None:
        """Refuse options of texts for rows of numbers, and the other way round."""
        if self.text is None:
            if getattr(self, "ngram", None) is not None:
                raise UsageError("--ngram applies to texts: pass --text too.")
            if self.on_error is not None:
                raise UsageError("--on-error applies to records without a text: pass --text too.")
            return
        for name in ("format", "label", "drop", "n_features", "header", "zero_based", "text_labels", "encoding", "id"):
            if getattr(self, name, None) != getattr(InputOptions, name, None):
                option = "header/--no-header" if name == "header" else name.replace("_", "-")
                raise UsageError(f"--{option} applies to rows of numbers, and --text takes texts: pass one of them.")
        if len(getattr(self, "inputs", ["one"])) > 1:
            raise UsageError("--text takes the texts of one file or folder: join the files, or put them into a folder.")


@dataclass
class NewTextOptions(TextOptions):
    """How texts become rows."""

    panel = "Texts"
    ngram: int | None = option(None, "Number of words per shingle, with --text. By default 5.", min=1)


@dataclass
class HashOptions:
    """Parameters of the hash."""

    panel = "Index"
    p: float = option(1.0, "Power of the min-max kernel.", "-p")
    seed: int = option(0, "Seed of the hash.", min=0)


@dataclass
class IndexOptions:
    """Parameters of an index."""

    panel = "Index"
    n_tables: int = option(32, "Number of LSH tables. More tables find more neighbours; 0 compares all codes.", min=0)
    hashes_per_table: int = option(
        4,
        "Number of hashes on which two rows must agree to meet in a table. More give fewer candidates.",
        min=1,
        max=8,
    )
    n_components: int = option(
        128, "Number of hashes per row, one byte each. More hashes rank the candidates better.", "-k", min=1
    )
    heavy_fraction: float | None = option(
        None,
        "For sparse rows: use inverted lists of features instead of tables. A row is in the lists of its heaviest "
        "features, which hold this fraction of its weight.",
    )
    recall: float | None = option(
        None,
        "Choose the options above so that queries find this fraction of their --n-neighbors nearest rows. The choice "
        "is made on the first rows and replaces what you pass.",
    )
    n_neighbors: int = option(5, "Number of neighbours that a query finds by default.", "-n", min=1)
    codes_only: bool = option(False, "Do not store the rows. The index is smaller, and similarities are estimates.")


@dataclass
class Build(SeveralInputs, RowsOptions, HashOptions, IndexOptions, NewTextOptions):
    """Build an index of the rows of files. Rows are numbered from 0, or have the ids of a column of whole numbers.

    The index is built in memory. Unless you pass --codes-only, it stores the rows too: as bytes if all values are
    integers from 0 to 255, otherwise as float32. A label column is not part of a row: name it with --label.
    """

    inputs: list[str] = input_files(FileRole.READ_WITHOUT_OUTPUTS)
    index: Path = index_file(FileRole.WRITTEN)
    id: str | None = id_option(". They are whole numbers, which queries then return.")
    json: bool = json_flag()

    def __post_init__(self) -> None:
        if self.heavy_fraction is not None and self.recall is not None:
            raise UsageError(
                "--heavy-fraction and --recall exclude each other: --recall chooses the heavy fraction itself."
            )
        if self.heavy_fraction is not None and self.codes_only:
            raise UsageError(
                "--heavy-fraction and --codes-only exclude each other: inverted lists need the stored rows."
            )
        check_fraction("--heavy-fraction", self.heavy_fraction)
        check_fraction("--recall", self.recall, below=True)
        self.check_texts()


@dataclass
class SearchOptions:
    """What a query finds, and how."""

    panel = "Search"
    n_neighbors: int | None = option(None, "Number of neighbours per row. By default that of the index.", "-n", min=1)
    threshold: float | None = option(
        None, "Find all rows of at least this similarity instead of a number of neighbours.", "-t"
    )
    n_rerank: int | None = option(
        None, "Number of candidates per row that are re-ranked by their exact similarity.", min=1
    )
    n_tables: int | None = option(None, "Use only the first tables of the index, which is faster.", min=0)
    heavy_fraction: float | None = option(None, "Use a smaller heavy fraction than that of the index, which is faster.")
    fill_missing: bool = option(
        False, "If a row has too few candidates, search all indexed rows, and fill up with rows of similarity 0."
    )


@dataclass
class Query(RowsOptions, SearchOptions, TextOptions):
    """Find the nearest indexed rows of each row of a file.

    The output has a header and one line per neighbour, with tabs between the number of the row, the number of the
    neighbour and their similarity. The similarity is exact unless the index was built with --codes-only. The file of
    the index is memory-mapped, so parts that the queries do not need are not read.
    """

    input: str = input_file(FileRole.READ_WITHOUT_OUTPUTS)
    index: Path = index_file(FileRole.READ)
    output: str = text_output()
    json: bool = json_flag("Write one JSON object per row.")

    def __post_init__(self) -> None:
        for name in ("n_neighbors", "n_rerank", "fill_missing"):
            if self.threshold is not None and getattr(self, name):
                option = name.replace("_", "-")
                raise UsageError(f"--{option} and --threshold exclude each other: pass one of them.")
        check_fraction("--heavy-fraction", self.heavy_fraction)
        check_fraction("--threshold", self.threshold)
        self.check_texts()


@dataclass
class Dedup(RowsOptions, HashOptions, NewTextOptions):
    """Find pairs of rows of a file that are near-duplicates.

    To remove near-duplicate documents from a file, use kernelsketch dedup.

    The output has a header and one line per pair, with tabs between the numbers of the two rows, which count from 0,
    the similarity that their codes estimate, and the exact similarity, which is at least --threshold. A row that equals
    earlier rows is listed once, with the first of them.
    """

    input: str = input_file(FileRole.READ_WITHOUT_OUTPUTS)
    threshold: float = option(0.8, "Smallest similarity of a pair.", "-t")
    recall: float = option(
        0.95, "Fraction of the pairs at the threshold that is found. More similar pairs are found more often."
    )
    output: str = text_output()
    json: bool = json_flag("Write one JSON object per pair.")

    def __post_init__(self) -> None:
        check_fraction("--threshold", self.threshold)
        check_fraction("--recall", self.recall, below=True)
        self.check_texts()


for name, kind, lines in (
    (
        "build",
        Build,
        (
            "kernelsketch index build news.svm.gz -i news.safetensors",
            "kernelsketch index build images.npy -i images.safetensors --recall 0.95 --n-neighbors 10",
            "kernelsketch index build articles.jsonl --text body -i articles.safetensors",
        ),
    ),
    (
        "query",
        Query,
        (
            "kernelsketch index query new.svm -i news.safetensors -n 5",
            "kernelsketch index query new.svm -i news.safetensors --threshold 0.8 --json",
            "kernelsketch index query new.jsonl --text body -i articles.safetensors --threshold 0.5",
        ),
    ),
    (
        "dedup",
        Dedup,
        (
            "kernelsketch index dedup news.svm.gz --threshold 0.9",
            "kernelsketch index dedup images.npy --threshold 0.7 --recall 0.99 -o pairs.tsv",
        ),
    ),
):
    command.command(name, epilog=examples(*lines))(launcher(kind, "index", name))
