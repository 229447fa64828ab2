"""``kernelsketch index build | query | dedup``: near neighbours of the rows of files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import typer

from .._errors import UsageError
from .._file_roles import FileRole
from .._option_groups import TYPER_SETTINGS, examples, launcher, option
from .._options import (
    DOCUMENT_FORMATS,
    FORMATS,
    InputOptions,
    RowsOptions,
    SeveralInputs,
    check_fraction,
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
class InputRows(RowsOptions):
    """How a file of rows or of texts is read."""

    format: str | None = option(
        None,
        f"Format of INPUT: {', '.join(FORMATS)}; of texts {', '.join(DOCUMENT_FORMATS)}. By default the ending of the "
        "name or the first bytes decide.",
        metavar="FORMAT",
        choices=(*FORMATS, *(name for name in DOCUMENT_FORMATS if name not in FORMATS)),
    )


@dataclass
class TextOptions:
    """Which texts of a file become rows."""

    panel = "Texts"
    text: str | None = option(
        None,
        "Take the texts of this field of JSONL, CSV, Parquet or Arrow as rows of shingles. With --format lines each "
        "line is a text, and of a folder each file.",
        metavar="FIELD",
    )
    id: str | None = option(
        None,
        "Field or column of the id of each text or row, which is no feature. Answers then have ids instead of row "
        "numbers.",
        metavar="FIELD",
        rich_help_panel=InputOptions.panel,
    )
    on_error: str | None = on_error_option(
        None,
        "What to do with a record without a text: stop, or skip it. A skipped record is counted, and no row is similar "
        "to it. By default stop.",
    )

    @property
    def takes_texts(self) -> bool:
        """Whether an option says that the file has texts."""
        return self.text is not None or getattr(self, "format", None) in ("jsonl", "lines")

    def check_texts(self) -> None:
        """Refuse options of texts for rows of numbers, and the other way round."""
        if self.takes_texts:
            self.check_no_numbers()
        else:
            self.check_no_texts("name their field with --text, or pass --format jsonl or lines")

    def check_no_texts(self, advice: str) -> None:
        """Refuse options of texts; rows of numbers that are indexed may have ids too."""
        for field in fields(NewTextOptions):
            if field.name != "id" and getattr(self, field.name, None) not in (None, False):
                raise UsageError(f"--{field.name.replace('_', '-')} applies to texts: {advice}.")

    def check_no_numbers(self) -> None:
        """Refuse options of rows of numbers."""
        for name in ("label", "drop", "n_features", "header", "zero_based", "text_labels", "encoding"):
            if getattr(self, name) != getattr(InputOptions, name):
                option = "header/--no-header" if name == "header" else name.replace("_", "-")
                raise UsageError(f"--{option} applies to rows of numbers, and --text takes texts: pass one of them.")
        format = getattr(self, "format", None)
        if format not in (None, *DOCUMENT_FORMATS):
            raise UsageError(
                f"--format {format} is a format of rows of numbers, and --text takes texts: leave one of them out."
            )


@dataclass
class NewTextOptions(TextOptions):
    """How texts become rows."""

    panel = "Texts"
    ngram: int | None = option(
        None, "Number of words or characters per shingle. Use fewer for short texts. By default 5.", min=1
    )
    analyzer: str | None = option(
        None, "Shingles of words or of characters. By default word.", choices=("word", "char")
    )
    weight: str | None = option(
        None,
        "Weight of a shingle that occurs c times; idf is c times the inverse document frequency, for which a file is "
        "read twice. By default count.",
        choices=("count", "binary", "log", "idf"),
    )
    normalize: bool = option(False, "Bring texts into the normal form NFKC of Unicode.")


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


KEYWORDS: dict[str, Any] = {"ngram": 1, "analyzer": "word", "weight": "idf", "heavy_fraction": 1.0}


@dataclass
class Build(SeveralInputs, InputRows, HashOptions, IndexOptions, NewTextOptions):
    """Build an index of the rows of files. Rows are numbered from 0, and have the ids of --id if it is given.

    The index is built in memory. Unless you pass --codes-only, it stores the rows too: as bytes if all values are
    integers from 0 to 255, otherwise as float32. A label column is not part of a row: name it with --label.
    """

    inputs: list[str] = input_files(FileRole.READ_WITHOUT_OUTPUTS)
    index: Path = index_file(FileRole.WRITTEN)
    keywords: bool = option(
        False,
        "Make an index to search texts by their words, in which rare words count most. It stands for --ngram 1 "
        "--weight idf --heavy-fraction 1.",
        rich_help_panel="Texts",
    )
    json: bool = json_flag()

    def __post_init__(self) -> None:
        if self.keywords:
            self._take_keywords()
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

    def _take_keywords(self) -> None:
        """Set the options that --keywords stands for."""
        if not self.takes_texts:
            raise UsageError(
                "--keywords applies to texts: name their field with --text, or pass --format jsonl or lines."
            )
        for name, value in KEYWORDS.items():
            if getattr(self, name) not in (None, value):
                shown = f"{value:g}" if isinstance(value, float) else value
                raise UsageError(
                    f"--keywords stands for --{name.replace('_', '-')} {shown}: leave one of them out, or pass the "
                    "options one by one."
                )
            setattr(self, name, value)


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
class Query(InputRows, SearchOptions, TextOptions):
    """Find the nearest indexed rows of each row of a file, or the indexed texts that are most similar to new ones.

    The output has a header and one line per neighbour, with tabs between the number of the row, the number of the
    neighbour and their similarity. With --id, rows have their ids; neighbours have those of the index. The similarity
    is exact unless the index was built with --codes-only. The file of the index is memory-mapped, so parts that the
    queries do not need are not read.

    An index of texts takes texts: JSONL with a field text, or the one that --text names; lines of text; or tables.
    """

    input: str = input_file(FileRole.READ_WITHOUT_OUTPUTS, "rows or of texts")
    index: Path = index_file(FileRole.READ)
    output: str = text_output()
    new: str | None = option(
        None,
        "Also write the records of the texts without a neighbour, unchanged: those that are new to the index.",
        metavar="FILE",
        role=FileRole.WRITTEN,
        rich_help_panel="Texts",
    )
    json: bool = json_flag("Write one JSON object per row.")

    def __post_init__(self) -> None:
        for name in ("n_neighbors", "n_rerank", "fill_missing"):
            if self.threshold is not None and getattr(self, name):
                option = name.replace("_", "-")
                raise UsageError(f"--{option} and --threshold exclude each other: pass one of them.")
        check_fraction("--heavy-fraction", self.heavy_fraction)
        check_fraction("--threshold", self.threshold)
        if self.takes_texts:
            self.check_no_numbers()


@dataclass
class Dedup(InputRows, HashOptions, NewTextOptions):
    """Find pairs of rows of a file that are near-duplicates.

    To remove near-duplicate documents from a file, use kernelsketch dedup.

    The output has a header and one line per pair, with tabs between the numbers of the two rows, which count from 0,
    the similarity that their codes estimate, and the exact similarity, which is at least --threshold. A row that equals
    earlier rows is listed once, with the first of them.
    """

    input: str = input_file(FileRole.READ_WITHOUT_OUTPUTS, "rows or of texts")
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
            "kernelsketch index build articles.jsonl --text body --id doc_id -i articles.safetensors",
            "kernelsketch index build articles.jsonl --text body --keywords -i words.safetensors",
        ),
    ),
    (
        "query",
        Query,
        (
            "kernelsketch index query new.svm -i news.safetensors -n 5",
            "kernelsketch index query new.svm -i news.safetensors --threshold 0.8 --json",
            "kernelsketch index query new.jsonl --text body -i articles.safetensors -t 0.7 --new only-new.jsonl",
            "echo 'harbour bridge' | kernelsketch index query - -i words.safetensors",
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
