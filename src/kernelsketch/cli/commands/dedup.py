"""``kernelsketch dedup``: near-duplicate documents, from raw text to a clean file."""

from __future__ import annotations

from dataclasses import dataclass

from .._file_roles import FileRole
from .._option_groups import argument, launcher, option
from .._options import RunOptions, check_fraction, delimiter_option, document_format, json_flag, on_error_option


@dataclass
class DocumentOptions:
    """Which documents are read and written, and how."""

    panel = "Documents"
    inputs: list[str] = argument(
        ...,
        "INPUT",
        "Files of documents, all of one format and with the same columns: JSONL, lines of text, CSV, TSV, Parquet or "
        "Arrow, all but Parquet also compressed; folders of such files, or of text files; or quoted patterns such as "
        "'part-*.jsonl'.",
        FileRole.READ_WITHOUT_OUTPUTS,
    )
    output: str = option(
        ...,
        "The documents that stay, in the format of the input; JSONL for folders. - is standard output.",
        "-o",
        metavar="FILE",
        role=FileRole.WRITTEN,
        rich_help_panel=None,
    )
    format: str | None = document_format()
    text: str | None = option(
        None, "Field of the text. By default text; files without fields are read line by line.", metavar="FIELD"
    )
    id: str | None = option(
        None, "Field of the id, for the other results. By default documents are numbered from 0.", metavar="FIELD"
    )
    keep: str = option(
        "first",
        "Which document of a cluster stays: the first, the longest, or the one with the largest number or the latest "
        "date in a field.",
        metavar="first|longest|FIELD",
    )
    delimiter: str | None = delimiter_option()
    on_error: str = on_error_option(
        "stop",
        "What to do with a record without a text: stop, or skip it. A skipped record is not compared and stays in the "
        "output.",
    )


@dataclass
class SimilarityOptions:
    """What makes documents near-duplicates."""

    panel = "Similarity"
    threshold: float = option(
        0.8, "Smallest similarity of near-duplicates: the weighted Jaccard similarity of their shingles.", "-t"
    )
    how: str = option(
        "single",
        "single: chains of near-duplicates are one cluster. star: every document of a cluster is a near-duplicate of "
        "the one that stays.",
        choices=("single", "star"),
    )
    ngram: int = option(5, "Number of words or characters per shingle. Use fewer for short texts.", min=1)
    analyzer: str = option("word", "Shingles of words or of characters.", choices=("word", "char"))
    weight: str = option("count", "Weight of a shingle that occurs c times.", choices=("count", "binary", "log"))
    normalize: bool = option(False, "Bring texts into the normal form NFKC of Unicode.")


@dataclass
class AgainstOptions:
    """Old documents that new ones are compared with."""

    panel = "Old documents"
    against: list[str] | None = option(
        None,
        "Also remove documents that are near-duplicates of old ones: files or folders as for INPUT, or a collection "
        "that --append has made. Can be given several times.",
        metavar="OLD",
        role=FileRole.READ_WITHOUT_OUTPUTS,
    )
    append: bool = option(
        False,
        "Add the documents that stay to the collection that --against names: a folder, which is made if it is not "
        "there.",
    )
    matches: str | None = option(
        None,
        "Write which documents are known: the document, the most similar old one, their similarity, and where the old "
        "one is from.",
        metavar="FILE",
        role=FileRole.WRITTEN,
    )


@dataclass
class ResultOptions:
    """Files besides the output."""

    panel = "Further results"
    clusters: str | None = option(
        None,
        "Write the document, the one that stays and their similarity, for clusters of two and more.",
        metavar="FILE",
        role=FileRole.WRITTEN,
    )
    pairs: str | None = option(
        None,
        "Write all pairs of near-duplicates. Equal documents are listed with the first of them.",
        metavar="FILE",
        role=FileRole.WRITTEN,
    )
    report: str | None = option(
        None,
        "Write a page with sizes of clusters, similarities and examples.",
        metavar="FILE.html",
        role=FileRole.WRITTEN,
    )


@dataclass
class Dedup(RunOptions, ResultOptions, AgainstOptions, SimilarityOptions, DocumentOptions):
    """Remove near-duplicate documents.

    Every document becomes shingles, runs of five words, and two documents are near-duplicates if their weighted Jaccard
    similarity reaches the threshold. Of each cluster of near-duplicates one document stays. The output has the
    documents that stay in their order; lines of JSONL and CSV are unchanged to the byte.

    With --against OLD, a document that is a near-duplicate of an old one goes, too: it is known. The other documents
    are then compared with each other.

    Texts are stored in a folder beside the output, OUTPUT.work, which is removed at the end; for standard output and
    devices, in a temporary folder. After an interruption the same command continues where it was, unless a file has
    changed. A folder OUTPUT.work that the command did not make is refused.
    """

    json: bool = json_flag("Print the summary as JSON.")

    def __post_init__(self) -> None:
        check_fraction("--threshold", self.threshold)


command = launcher(Dedup, "dedup", "dedup_files")
