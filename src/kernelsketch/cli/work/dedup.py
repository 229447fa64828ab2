"""``kernelsketch dedup``: read documents, join their texts, write those that stay."""

from __future__ import annotations

import json as json_text
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._validation import check_n_jobs
from ...backends import SHINGLE_VERSION
from ...exceptions import InputError
from ...formats import TABLES, DocumentStream, DocumentWriter, Fields, open_text, too_long
from ...neighbors import TextClusters, join_texts, rank_of
from ...storage import check_other, check_target
from ...text import PlainShingles, StoredTexts, texts_of
from .._dedup_report import Example, dedup_page
from .._errors import UsageError
from .._options import RunOptions
from .._process_memory import enough_memory, memory_left
from .._progress import ProgressMeter, format_duration
from .._results import print_facts, print_json

Array = NDArray[Any]

CHECKPOINT_SECONDS = 10.0
LINES = 10_000  # per write
EXAMPLES = 12  # of the report
PER_DOCUMENT = 150  # bytes of memory besides the prefixes
LEAST_ROOM = 1 << 25  # bytes for rows and prefixes
SURE = 0.9  # share of the documents that are expected which there will be


@dataclass
class Task:
    """What the command was asked for."""

    inputs: list[str]
    output: str
    text: str
    id: str | None
    keep: str
    delimiter: str | None
    skip_errors: bool
    threshold: float
    how: str
    ngram: int
    analyzer: str
    weight: str
    normalize: bool
    clusters: str | None
    pairs: str | None
    report: str | None
    json: bool
    most_bytes: int  # of a document
    batch_bytes: int  # of a batch of Parquet or Arrow

    @property
    def fields(self) -> Fields:
        return Fields(self.text, self.id, None if self.keep in ("first", "longest") else self.keep)

    def shingles(self, threads: int) -> PlainShingles:
        return PlainShingles(self.ngram, self.ngram, self.analyzer, weight=self.weight, threads=threads)

    def signature(self) -> str:
        """Return what the stored texts depend on: the files and how they are read."""
        files = [(os.path.abspath(path), os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in self.inputs]
        how = (self.text, self.keep, self.delimiter, self.skip_errors, self.ngram, self.analyzer, self.weight)
        return json_text.dumps([SHINGLE_VERSION, files, how, self.normalize])


@dataclass
class Counts:
    """What was read."""

    documents: int = 0
    expected: int = 0  # documents in all, as far as it can be estimated; 0 if it cannot
    skipped: int = 0
    empty: int = 0
    replaced: int = 0
    bytes: int = 0


def dedup_files(task: Task, running: RunOptions) -> None:
    """Write the documents that stay, and the other results."""
    if running.threads == 0 or running.threads < -1:
        raise UsageError(f"--threads must be -1 or positive, got {running.threads}.")
    threads = check_n_jobs(running.threads)
    formats = _check_files(task)
    folder = Path(f"{task.output}.work") if task.output != "-" else Path(tempfile.mkdtemp()) / "work"
    left = memory_left(running, least=LEAST_ROOM)
    texts = StoredTexts(folder, task.signature(), task.shingles(threads), threads)
    done = False
    try:
        with ProgressMeter("reading", running.quiet) as meter:
            counts = _read(task, texts, meter, running, left)
            records = texts.records()
            counts.empty = int((records["norm"] == 0).sum()) - counts.skipped
            meter.begin("comparing")
            rank = rank_of(None if task.keep == "first" else records["priority"], len(records))
            found = join_texts(
                texts,
                task.threshold,
                task.how,
                rank,
                room=_room(running, left, len(records)),
                threads=threads,
                keep_pairs=task.pairs is not None,
                progress=lambda fraction: meter.show(fraction, _some(counts.documents, "document")),
            )
            meter.begin("writing")
            ids = _write(task, formats, found.stays, meter)
            equal = _count_equal(records)
            _write_lists(task, found, ids)
            if task.report is not None:
                _write_report(task, texts, found, ids, counts)
        done = True
    finally:
        texts.close(remove=done or task.output == "-" or not texts.can_continue)
    _summarize(task, counts, found, equal, ids, meter.seconds)


def _check_files(task: Task) -> list[str]:
    """Refuse missing inputs, inputs of several formats, and outputs that are inputs, before any work is done."""
    for path in task.inputs:
        if path == "-":
            raise UsageError("INPUT cannot be standard input, which can be read only once: store it in a file first.")
        if not os.path.exists(path):
            raise InputError(f"{path} cannot be read: no such file or folder.")
    outputs = [path for path in (task.output, task.clusters, task.pairs, task.report) if path is not None]
    for path in outputs:
        for read in task.inputs:
            check_other(path, read, "one of the inputs")
        if path != "-":
            check_target(Path(path))
    files = [path for path in outputs if path != os.devnull]
    if len(set(files)) < len(files):
        raise UsageError("--output, --clusters, --pairs and --report must be different files.")
    formats = []
    for path in task.inputs:
        with _stream(task, path) as stream:
            formats.append(stream.format)
    if len(set(formats)) > 1:
        raise InputError(
            f"the inputs have several formats ({', '.join(sorted(set(formats)))}): pass files of one format."
        )
    written = _output_format(task.output)
    wanted = "jsonl" if formats[0] == "files" else formats[0]
    if written is not None and written != wanted:
        raise InputError(
            f"{task.output} asks for {written}, but the documents stay as they are, in {wanted}: choose another name."
        )
    if task.output == "-" and wanted in TABLES:
        raise UsageError(f"{wanted} cannot be written to standard output: name a file with -o.")
    return formats


def _output_format(path: str) -> str | None:
    endings = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
    endings |= {".arrow": "arrow", ".feather": "arrow"}
    name = Path(path)
    return endings.get(name.suffix.lower()) or endings.get(Path(name.stem).suffix.lower())


def _stream(task: Task, path: str, *, records_only: bool = False) -> DocumentStream:
    return DocumentStream(
        path,
        task.fields,
        records_only=records_only,
        delimiter=task.delimiter,
        most_bytes=task.most_bytes,
        batch_bytes=task.batch_bytes,
    )


def _documents(
    task: Task, meter: ProgressMeter, counts: Counts, *, records_only: bool = False
) -> Iterator[tuple[DocumentStream, Any]]:
    """Yield all blocks of all inputs, counted and shown."""
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 1 for path in task.inputs]
    before, total = 0, max(1, sum(sizes))
    for path, size in zip(task.inputs, sizes, strict=True):
        with _stream(task, path, records_only=records_only) as stream:
            for block in stream:
                counts.documents += len(block.texts)
                part = stream.fraction
                counts.expected = 0 if part is None else int(counts.documents * total / max(1, before + part * size))
                yield stream, block
                rate = counts.documents / max(meter.seconds, 1e-9)
                text = f"{_some(counts.documents, 'document')}, {rate:,.0f} per second"
                meter.show(None if part is None else (before + part * size) / total, text)
        before += size


def _read(task: Task, texts: StoredTexts, meter: ProgressMeter, running: RunOptions, left: int) -> Counts:
    """Store the texts of all documents, from where an interrupted run stopped."""
    counts, saved = Counts(), monotonic()
    known, seen = texts.resumed, 0
    if known:
        counts.skipped, counts.replaced = texts.extra["skipped"], texts.extra["replaced"]
        print(f"kernelsketch: continuing after {known:,} documents of an interrupted run.", file=sys.stderr)
    for stream, block in _documents(task, meter, counts):
        _room(running, left, counts.documents, counts.expected)  # says at once that there are too many
        if seen < known:  # blocks are always the same
            seen += len(block.texts)
            continue
        if block.faults and not task.skip_errors:
            first = block.faults[min(block.faults)]
            raise InputError(f"{first} Mend the record, or pass --on-error skip to leave such records as they are.")
        counts.skipped += len(block.faults)
        counts.replaced += block.replaced
        given = texts_of([text or b"" for text in block.texts], "NFKC" if task.normalize else None)
        if task.normalize and int(np.diff(given.ends).max()) > task.most_bytes:  # a character may become eighteen
            raise too_long(f"{stream.name}, a text in normal form", task.most_bytes)
        parts = [given.text[a:b].tobytes() for a, b in zip(given.ends[:-1], given.ends[1:], strict=True)]
        texts.append(parts, _priorities(task, block, counts.documents - len(block.texts)))
        texts.extra = {"skipped": counts.skipped, "replaced": counts.replaced}
        if monotonic() - saved > CHECKPOINT_SECONDS:
            texts.checkpoint()
            saved = monotonic()
    if not counts.documents:
        raise InputError(f"{', '.join(task.inputs)}: there are no documents.")
    if counts.skipped == counts.documents:
        raise InputError(f"no record has a text in the field {task.text!r}: name the field of the texts with --text.")
    texts.checkpoint()
    return counts


def _priorities(task: Task, block: Any, first: int) -> Any:
    if task.keep == "first":
        return 0.0
    if task.keep == "longest":
        return [len(text or "") for text in block.texts]
    found = []
    for number, value in enumerate(block.values):
        try:
            priority = _number_or_time(value)
        except (TypeError, ValueError):
            if block.texts[number] is not None and not task.skip_errors:
                what = "missing or null" if value is None else repr(value)
                raise InputError(
                    f"document {first + number}: field {task.keep!r} is {what}, neither a number nor a date such as "
                    "2026-01-31. --keep takes first, longest or a field of numbers or dates. Mend the record, or pass "
                    "--on-error skip to keep such a document only if no other of its cluster has one."
                ) from None
            priority = -np.inf
        found.append(priority)
    return found


def _number_or_time(value: Any) -> float:
    """Return a number, or the seconds of a date or time in ISO 8601; raise ValueError or TypeError for others."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    number = float(value)
    if number != number:
        raise ValueError
    return number


def _room(running: RunOptions, left: int, documents: int, expected: int = 0) -> int:
    """Return the memory for the join, and refuse more documents than there is room for, also if they are expected."""
    room = left - PER_DOCUMENT * max(documents, int(SURE * expected))
    if room < LEAST_ROOM:
        n = max(documents, expected)
        enough = enough_memory(running, left, PER_DOCUMENT * n + LEAST_ROOM)
        about = "about " if expected > documents else ""
        raise InputError(
            f"--memory {running.memory} is too small for {about}{n:,} documents: pass --memory {enough} or more."
        )
    return room // 2


def _write(task: Task, formats: list[str], stays: Array, meter: ProgressMeter) -> list[Any] | None:
    """Write the documents that stay; return the ids of all documents, if they have some."""
    ids: list[Any] | None = None if task.id is None else []
    counts, done = Counts(), 0
    keep = (stays == np.arange(len(stays))).tolist()
    format = "jsonl" if formats[0] == "files" else formats[0]
    with DocumentWriter(task.output, format) as writer:
        for stream, block in _documents(task, meter, counts, records_only=ids is None):
            here = keep[done : done + len(block.texts)]
            if len(here) < len(block.texts):
                raise InputError(f"{stream.name} changed while it was read: run the command again.")
            writer.write(stream, block, here)
            done += len(here)
            if ids is not None:
                ids += block.ids
        if done != len(keep):
            raise InputError("the inputs changed while they were read: run the command again.")
    return ids


def _count_equal(records: Array) -> int:
    """Return how many documents have the same shingles as an earlier one."""
    keys = records["keys"][records["norm"] > 0]
    return len(keys) - len(np.unique(keys, axis=0))


def _write_lists(task: Task, found: TextClusters, ids: list[Any] | None) -> None:
    name = list(range(len(found.stays))) if ids is None else ids
    if task.clusters is not None:
        sizes = np.bincount(found.stays, minlength=len(found.stays))
        members = np.flatnonzero(sizes[found.stays] > 1)
        members = members[np.lexsort((members, found.stays[members]))]
        rows = ((name[i], name[found.stays[i]], found.similarity[i].item()) for i in members.tolist())
        _write_table(task.clusters, ("document", "cluster", "similarity"), rows)
    if task.pairs is not None:
        pairs = zip(found.pairs.tolist(), found.pair_similarity.tolist(), strict=True)
        rows = ((name[a], name[b], similarity) for (a, b), similarity in pairs)
        _write_table(task.pairs, ("document", "other", "similarity"), rows)


def _write_table(path: str, names: tuple[str, ...], rows: Iterator[tuple[Any, Any, float]]) -> None:
    """Write rows with tabs between the cells, or as JSON if the name ends with .jsonl."""
    as_json = ".jsonl" in Path(path).suffixes
    with open_text(path) as file:
        if not as_json:
            file.write(("\t".join(names) + "\n").encode())
        for a, b, similarity in rows:
            if as_json:
                line = json_text.dumps(dict(zip(names, (a, b, round(similarity, 6)), strict=True)), ensure_ascii=False)
            else:
                line = f"{_cell(a)}\t{_cell(b)}\t{similarity:.6g}"
            file.write(line.encode("utf-8", "replace") + b"\n")


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("\t", " ").replace("\n", " ").replace("\r", " ")


def _write_report(task: Task, texts: StoredTexts, found: TextClusters, ids: list[Any] | None, counts: Counts) -> None:
    n = len(found.stays)
    gone = np.flatnonzero(found.stays != np.arange(n))
    order = gone[np.argsort(found.similarity[gone], kind="stable")]
    chosen = order[np.unique(np.linspace(0, len(order) - 1, EXAMPLES).astype(int))] if len(order) else order
    shown = []
    for gone_item in chosen.tolist():
        both = (int(found.stays[gone_item]), gone_item)
        names = [str(item if ids is None else ids[item]) for item in both]
        contents = [texts.text(item).decode("utf-8", "replace") for item in both]
        shown.append(Example(names[0], names[1], float(found.similarity[gone_item]), contents[0], contents[1]))
    sizes = np.bincount(found.stays, minlength=n)
    page = dedup_page(task.inputs, _lines(task, counts, found), sizes[sizes > 1], found.similarity[gone], shown)
    assert task.report is not None
    with open_text(task.report) as file:
        file.write(page.encode())


def _lines(task: Task, counts: Counts, found: TextClusters) -> dict[str, str]:
    n, stay = len(found.stays), int((found.stays == np.arange(len(found.stays))).sum())
    sizes = np.bincount(found.stays, minlength=n)
    lines = {
        "documents": f"{n:,}, of which {_some(stay, 'stays', 'stay')} and {_some(n - stay, 'goes', 'go')}",
        "clusters": f"{int((sizes > 1).sum()):,} of two or more, the largest of {int(sizes.max()):,}",
    }
    if counts.skipped:
        what = _some(counts.skipped, "record without a text, which stays", "records without a text, which stay")
        lines["skipped"] = what
    if counts.empty:
        what = _some(counts.empty, "document without a word, which stays", "documents without a word, which stay")
        lines["empty"] = what
    if counts.replaced:
        replaced = _some(counts.replaced, "document")
        lines["not UTF-8"] = f"{replaced} with bytes that are not UTF-8, compared without these bytes"
    return lines


def _some(count: int, one: str, many: str | None = None) -> str:
    """Return a number with a noun or a verb in the singular or the plural."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _summarize(
    task: Task, counts: Counts, found: TextClusters, equal: int, ids: list[Any] | None, seconds: float
) -> None:
    n = len(found.stays)
    gone = n - int((found.stays == np.arange(n)).sum())
    named = [] if ids is None else [str(name) for name in ids if name is not None and name != ""]
    nameless, repeated = 0 if ids is None else n - len(named), len(named) - len(set(named))
    if task.json:
        facts = {
            "documents": n,
            "stay": n - gone,
            "go": gone,
            "equal": equal,
            "clusters": int((np.bincount(found.stays) > 1).sum()),
            "skipped": counts.skipped,
            "empty": counts.empty,
            "not_utf8": counts.replaced,
            "missing_ids": nameless,
            "repeated_ids": repeated,
            "seconds": seconds,
            "output": task.output,
        }
        print_json(facts) if task.output != "-" else print(json_text.dumps(facts), file=sys.stderr)
        return
    lines = _lines(task, counts, found)
    have = "document has", "documents have"
    lines["equal"] = f"{_some(equal, *have)} the same shingles as an earlier one"
    if nameless:
        lines["no id"] = f"{_some(nameless, *have)} an empty id or none, field {task.id!r}"
    if repeated:
        lines["ids"] = f"{_some(repeated, *have)} an id that an earlier one has"
    lines["time"] = f"{format_duration(seconds)}, {n / max(seconds, 1e-9):,.0f} documents per second"
    lines["output"] = task.output
    print_facts(lines, to_stderr=True)
