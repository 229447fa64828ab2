"""``kernelsketch dedup``: near-duplicate documents, from raw text to a clean file."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from .._errors import UsageError, stop_at_once
from .._file_roles import FileRole
from .._option_groups import with_option_groups
from .._options import OnError, RunOptions, delimiter_option

DOCUMENTS_PANEL, SIMILARITY_PANEL, RESULTS_PANEL = "Documents", "Similarity", "Further results"


class How(StrEnum):
    """How pairs become clusters."""

    SINGLE = "single"
    STAR = "star"


class Analyzer(StrEnum):
    """What shingles consist of."""

    WORD = "word"
    CHAR = "char"


class Weight(StrEnum):
    """The value of a shingle."""

    COUNT = "count"
    BINARY = "binary"
    LOG = "log"


@with_option_groups
def command(
    *,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Files of documents, all of one format and with the same columns: JSONL, CSV, TSV, Parquet or Arrow, "
            "all but Parquet also compressed; or folders of text files.",
            show_default=False,
        ),
        FileRole.READ_WITHOUT_OUTPUTS,
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The documents that stay, in the format of the input; JSONL for folders. - is standard output.",
            show_default=False,
        ),
        FileRole.WRITTEN,
    ],
    text: Annotated[
        str, typer.Option("--text", metavar="FIELD", help="Field of the text.", rich_help_panel=DOCUMENTS_PANEL)
    ] = "text",
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="FIELD",
            help="Field of the id, for the other results. By default documents are numbered from 0.",
            show_default=False,
            rich_help_panel=DOCUMENTS_PANEL,
        ),
    ] = None,
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="first|longest|FIELD",
            help="Which document of a cluster stays: the first, the longest, or the one with the largest number or "
            "the latest date in a field.",
            rich_help_panel=DOCUMENTS_PANEL,
        ),
    ] = "first",
    delimiter: Annotated[
        str | None,
        delimiter_option(DOCUMENTS_PANEL),
    ] = None,
    on_error: Annotated[
        OnError,
        typer.Option(
            "--on-error",
            help="What to do with a record without a text: stop, or skip it. A skipped record is not compared and "
            "stays in the output.",
            rich_help_panel=DOCUMENTS_PANEL,
        ),
    ] = OnError.STOP,
    threshold: Annotated[
        float,
        typer.Option(
            "--threshold",
            "-t",
            help="Smallest similarity of near-duplicates: the weighted Jaccard similarity of their shingles.",
            rich_help_panel=SIMILARITY_PANEL,
        ),
    ] = 0.8,
    how: Annotated[
        How,
        typer.Option(
            "--how",
            help="single: chains of near-duplicates are one cluster. star: every document of a cluster is a "
            "near-duplicate of the one that stays.",
            rich_help_panel=SIMILARITY_PANEL,
        ),
    ] = How.SINGLE,
    ngram: Annotated[
        int,
        typer.Option(
            "--ngram",
            min=1,
            help="Number of words or characters per shingle. Use fewer for short texts.",
            rich_help_panel=SIMILARITY_PANEL,
        ),
    ] = 5,
    analyzer: Annotated[
        Analyzer,
        typer.Option("--analyzer", help="Shingles of words or of characters.", rich_help_panel=SIMILARITY_PANEL),
    ] = Analyzer.WORD,
    weight: Annotated[
        Weight,
        typer.Option("--weight", help="Weight of a shingle that occurs c times.", rich_help_panel=SIMILARITY_PANEL),
    ] = Weight.COUNT,
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize", help="Bring texts into the normal form NFKC of Unicode.", rich_help_panel=SIMILARITY_PANEL
        ),
    ] = False,
    clusters: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            metavar="FILE",
            help="Write the document, the one that stays and their similarity, for clusters of two and more.",
            show_default=False,
            rich_help_panel=RESULTS_PANEL,
        ),
        FileRole.WRITTEN,
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            "--pairs",
            metavar="FILE",
            help="Write all pairs of near-duplicates. Equal documents are listed with the first of them.",
            show_default=False,
            rich_help_panel=RESULTS_PANEL,
        ),
        FileRole.WRITTEN,
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write a page with sizes of clusters, similarities and examples.",
            show_default=False,
            rich_help_panel=RESULTS_PANEL,
        ),
        FileRole.WRITTEN,
    ] = None,
    running: RunOptions,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Remove near-duplicate documents.

    Every document becomes shingles, runs of five words, and two documents are near-duplicates if their weighted Jaccard
    similarity reaches the threshold. Of each cluster of near-duplicates one document stays. The output has the
    documents that stay in their order; lines of JSONL and CSV are unchanged to the byte.

    Texts wait in a folder beside the output, OUTPUT.work, which is removed at the end; for standard output and devices,
    in a temporary folder. After an interruption the same command continues where it was, unless a file has changed. A
    folder OUTPUT.work that the command did not make is refused.
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"--threshold must be above 0 and at most 1, got {threshold:g}.")
    with stop_at_once():
        from ...storage import NamedPath, check_outputs
        from ..work.dedup import Task, dedup_files

    if output != "-":
        others = {"--clusters": clusters, "--pairs": pairs, "--report": report}
        named = [NamedPath(name, path) for name, path in others.items() if path is not None]
        check_outputs(named, [NamedPath("the work folder", f"{os.path.realpath(output)}.work")])
    task = Task(
        inputs=inputs,
        output=output,
        text=text,
        id=id,
        keep=keep,
        delimiter=delimiter,
        skip_errors=on_error.value == "skip",
        threshold=threshold,
        how=how.value,
        ngram=ngram,
        analyzer=analyzer.value,
        weight=weight.value,
        normalize=normalize,
        clusters=clusters,
        pairs=pairs,
        report=report,
        json=json,
        most_bytes=running.document_bytes,
        batch_bytes=running.batch_bytes,
    )
    dedup_files(task, running)
