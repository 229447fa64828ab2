"""``kernelsketch index build | query | dedup``: near neighbours of the rows of files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .._errors import UsageError, stop_at_once
from .._file_roles import FileRole
from .._option_groups import examples, with_option_groups
from .._options import InputOptions, InputOrFolder, Json, OnError, RunOptions, TextOutput, TextRecords

INDEX_PANEL, SEARCH_PANEL, TEXT_PANEL = "Index", "Search", "Texts"

command = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)

_index_option = typer.Option("--index", "-i", metavar="FILE", help="File of the index.", show_default=False)
Power = Annotated[float, typer.Option("--p", "-p", help="Power of the min-max kernel.", rich_help_panel=INDEX_PANEL)]
TextField = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="FIELD",
        help="Take the texts of this field of JSONL, CSV, Parquet or Arrow as rows of shingles. For a folder of text "
        "files pass text.",
        show_default=False,
        rich_help_panel=TEXT_PANEL,
    ),
]
Ngram = Annotated[
    int | None,
    typer.Option(
        "--ngram",
        min=1,
        help="Number of words per shingle, with --text. By default 5.",
        show_default=False,
        rich_help_panel=TEXT_PANEL,
    ),
]
SkipOrStop = Annotated[
    OnError | None,
    typer.Option(
        "--on-error",
        help="What to do with a record without a text, with --text: stop, or skip it. A skipped record is counted, and "
        "no row is similar to it. By default stop.",
        show_default=False,
        rich_help_panel=TEXT_PANEL,
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the hash.", rich_help_panel=INDEX_PANEL)]


@command.callback()
def index() -> None:
    """Find near neighbours and near-duplicates under the GMM kernel: weighted Jaccard similarity, also for signed data.

    First build an index of a file, then query it with another file. dedup needs no index.
    """


@command.command(
    epilog=examples(
        "kernelsketch index build news.svm.gz -i news.safetensors",
        "kernelsketch index build images.npy -i images.safetensors --recall 0.95 --n-neighbors 10",
        "kernelsketch index build articles.jsonl --text body -i articles.safetensors",
    )
)
@with_option_groups
def build(
    *,
    input: InputOrFolder,
    index: Annotated[Path, _index_option, FileRole.WRITTEN],
    text: TextField = None,
    ngram: Ngram = None,
    on_error: SkipOrStop = None,
    n_tables: Annotated[
        int,
        typer.Option(
            "--n-tables",
            min=0,
            help="Number of LSH tables. More tables find more neighbours; 0 compares all codes.",
            rich_help_panel=INDEX_PANEL,
        ),
    ] = 32,
    hashes_per_table: Annotated[
        int,
        typer.Option(
            "--hashes-per-table",
            min=1,
            max=8,
            help="Number of hashes on which two rows must agree to meet in a table. More give fewer candidates.",
            rich_help_panel=INDEX_PANEL,
        ),
    ] = 4,
    n_components: Annotated[
        int,
        typer.Option(
            "--n-components",
            "-k",
            min=1,
            help="Number of hashes per row, one byte each. More hashes rank the candidates better.",
            rich_help_panel=INDEX_PANEL,
        ),
    ] = 128,
    heavy_fraction: Annotated[
        float | None,
        typer.Option(
            "--heavy-fraction",
            help="For sparse rows: use inverted lists of features instead of tables. A row is in the lists of its "
            "heaviest features, which hold this fraction of its weight.",
            show_default=False,
            rich_help_panel=INDEX_PANEL,
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            "--recall",
            help="Choose the options above so that queries find this fraction of their --n-neighbors nearest rows. "
            "The choice is made on the first rows and replaces what you pass.",
            show_default=False,
            rich_help_panel=INDEX_PANEL,
        ),
    ] = None,
    n_neighbors: Annotated[
        int,
        typer.Option(
            "--n-neighbors",
            "-n",
            min=1,
            help="Number of neighbours that queries will ask for.",
            rich_help_panel=INDEX_PANEL,
        ),
    ] = 5,
    codes_only: Annotated[
        bool,
        typer.Option(
            "--codes-only",
            help="Do not store the rows. The index is smaller, and similarities are estimates.",
            rich_help_panel=INDEX_PANEL,
        ),
    ] = False,
    p: Power = 1.0,
    seed: Seed = 0,
    reading: InputOptions,
    running: RunOptions,
    json: Json = False,
) -> None:
    """Build an index of the rows of a file. Rows are numbered from 0.

    The index is built in memory. Unless you pass --codes-only, it stores the rows too: as bytes if all values are
    integers from 0 to 255, otherwise as float32. A label column is not part of a row: name it with --label.
    """
    if heavy_fraction is not None and recall is not None:
        raise UsageError(
            "--heavy-fraction and --recall exclude each other: --recall chooses the heavy fraction itself."
        )
    if heavy_fraction is not None and codes_only:
        raise UsageError("--heavy-fraction and --codes-only exclude each other: inverted lists need the stored rows.")
    _check_fraction("--heavy-fraction", heavy_fraction)
    _check_recall(recall)
    with stop_at_once():
        from ..work.index import build_index

    options = {
        "n_tables": n_tables,
        "hashes_per_table": hashes_per_table,
        "n_components": n_components,
        "heavy_fraction": heavy_fraction,
        "n_neighbors": n_neighbors,
        "store_vectors": not codes_only,
        "p": p,
        "random_state": seed,
    }
    build_index(input, index, options, recall, _texts(text, ngram, on_error, reading), reading, running, json)


@command.command(
    epilog=examples(
        "kernelsketch index query new.svm -i news.safetensors -n 5",
        "kernelsketch index query new.svm -i news.safetensors --threshold 0.8 --json",
        "kernelsketch index query new.jsonl --text body -i articles.safetensors --threshold 0.5",
    )
)
@with_option_groups
def query(
    *,
    input: InputOrFolder,
    index: Annotated[Path, _index_option, FileRole.READ],
    text: TextField = None,
    on_error: SkipOrStop = None,
    n_neighbors: Annotated[
        int | None,
        typer.Option(
            "--n-neighbors",
            "-n",
            min=1,
            help="Number of neighbours per row. By default that of the index.",
            show_default=False,
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            "-t",
            help="Find all rows of at least this similarity instead of a number of neighbours.",
            show_default=False,
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    n_rerank: Annotated[
        int | None,
        typer.Option(
            "--n-rerank",
            min=1,
            help="Number of candidates per row that are re-ranked by their exact similarity.",
            show_default=False,
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    n_tables: Annotated[
        int | None,
        typer.Option(
            "--n-tables",
            min=0,
            help="Use only the first tables of the index, which is faster.",
            show_default=False,
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    heavy_fraction: Annotated[
        float | None,
        typer.Option(
            "--heavy-fraction",
            help="Use a smaller heavy fraction than that of the index, which is faster.",
            show_default=False,
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    fill_missing: Annotated[
        bool,
        typer.Option(
            "--fill-missing",
            help="If a row has too few candidates, search all indexed rows, and fill up with rows of similarity 0.",
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = False,
    output: TextOutput = "-",
    reading: InputOptions,
    running: RunOptions,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object per row.")] = False,
) -> None:
    """Find the nearest indexed rows of each row of a file.

    The output has a header and one line per neighbour, with tabs between the number of the row, the number of the
    neighbour and their similarity. The similarity is exact unless the index was built with --codes-only. The file of
    the index is memory-mapped, so parts that the queries do not need are not read.
    """
    for_neighbors = {"--n-neighbors": n_neighbors, "--n-rerank": n_rerank, "--fill-missing": fill_missing or None}
    for option, value in for_neighbors.items():
        if threshold is not None and value is not None:
            raise UsageError(f"{option} and --threshold exclude each other: pass one of them.")
    _check_fraction("--heavy-fraction", heavy_fraction)
    _check_fraction("--threshold", threshold)
    with stop_at_once():
        from ..work.index import query_index

    changes = {
        "n_rerank": n_rerank,
        "n_tables": n_tables,
        "heavy_fraction": heavy_fraction,
        "fill_missing": fill_missing or None,
    }
    texts = _texts(text, None, on_error, reading)
    query_index(input, index, n_neighbors, threshold, changes, texts, output, reading, running, json)


@command.command(
    epilog=examples(
        "kernelsketch index dedup news.svm.gz --threshold 0.9",
        "kernelsketch index dedup images.npy --threshold 0.7 --recall 0.99 -o pairs.tsv",
    )
)
@with_option_groups
def dedup(
    *,
    input: InputOrFolder,
    text: TextField = None,
    ngram: Ngram = None,
    on_error: SkipOrStop = None,
    threshold: Annotated[float, typer.Option("--threshold", "-t", help="Smallest similarity of a pair.")] = 0.8,
    recall: Annotated[
        float,
        typer.Option(
            "--recall",
            help="Fraction of the pairs at the threshold that is found. More similar pairs are found more often.",
        ),
    ] = 0.95,
    output: TextOutput = "-",
    p: Power = 1.0,
    seed: Seed = 0,
    reading: InputOptions,
    running: RunOptions,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object per pair.")] = False,
) -> None:
    """Find pairs of rows of a file that are near-duplicates.

    To remove near-duplicate documents from a file, use kernelsketch dedup.

    The output has a header and one line per pair, with tabs between the numbers of the two rows, which count from 0,
    the similarity that their codes estimate, and the exact similarity, which is at least --threshold. A row that equals
    earlier rows is listed once, with the first of them.
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"--threshold must be above 0 and at most 1, got {threshold:g}.")
    _check_recall(recall)
    with stop_at_once():
        from ..work.index import find_near_duplicates

    parameters = {"p": p, "random_state": seed}
    find_near_duplicates(
        input, threshold, recall, output, parameters, _texts(text, ngram, on_error, reading), reading, running, json
    )


def _texts(text: str | None, ngram: int | None, on_error: OnError | None, reading: InputOptions) -> TextRecords | None:
    """Return which texts are the rows; None for rows of numbers."""
    if text is None:
        if ngram is not None:
            raise UsageError("--ngram applies to texts: pass --text too.")
        if on_error is not None:
            raise UsageError("--on-error applies to records without a text: pass --text too.")
        return None
    for name in ("format", "label", "n_features", "header", "zero_based", "text_labels"):
        if getattr(reading, name) != getattr(InputOptions, name):
            option = "header/--no-header" if name == "header" else name.replace("_", "-")
            raise UsageError(f"--{option} applies to rows of numbers, and --text takes texts: pass one of them.")
    return TextRecords(text, 5 if ngram is None else ngram, on_error == OnError.SKIP)


def _check_fraction(option: str, value: float | None) -> None:
    if value is not None and not 0 < value <= 1:
        raise UsageError(f"{option} must be above 0 and at most 1, got {value:g}.")


def _check_recall(value: float | None) -> None:
    if value is not None and not 0 < value < 1:
        raise UsageError(f"--recall must be above 0 and below 1, got {value:g}.")
