"""``kernelsketch dedup``: read documents, join their texts, write those that stay."""

from __future__ import annotations

import json as json_text
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from ..._array import Array
from ..._rounding import float_of
from ..._validation import check_n_jobs
from ...backends import SHINGLE_VERSION
from ...exceptions import InputError
from ...formats import (
    TEXT_FIELD,
    DocumentStream,
    DocumentWriter,
    Fields,
    InputFiles,
    check_same_columns,
    document_files,
    is_pattern,
    too_long,
    written_format,
)
from ...neighbors import is_collection, join_texts, rank_of
from ...storage import NamedPath, check_outputs
from ...text import PlainShingles, StoredTexts, texts_of
from .._dedup_results import Counts, departures, some, summarize, write_lists, write_report
from .._errors import UsageError
from .._known import OldDocuments, run_name
from .._memory import enough_memory, memory_left
from .._options import check_threads
from .._progress import ProgressMeter
from .._results import print_json
from ..commands.dedup import Dedup

CHECKPOINT_SECONDS = 10.0
PER_DOCUMENT = 150  # bytes of memory besides the prefixes
LEAST_ROOM = 1 << 25  # bytes for rows and prefixes
SURE = 0.9  # share of the documents that are expected which there will be


def dedup_files(task: Dedup) -> None:
    """Write the documents that stay, and the other results."""
    if task.output != "-":
        others = {"--clusters": task.clusters, "--pairs": task.pairs, "--report": task.report}
        others["--matches"] = task.matches
        named = [NamedPath(name, path) for name, path in others.items() if path is not None]
        check_outputs(named, [NamedPath("the work folder", f"{os.path.realpath(task.output)}.work")])
    check_threads(task)
    threads = check_n_jobs(task.threads)
    _check_files(task)
    task.inputs = document_files(task.inputs, _outputs(task))
    if task.matches is not None and not task.against:
        raise UsageError("--matches needs old documents: name them with --against.")
    files = InputFiles(task.inputs, _outputs(task))
    format = _check_formats(task, files)
    left = memory_left(task, least=LEAST_ROOM)
    shingles = PlainShingles(task.ngram, task.ngram, task.analyzer, weight=task.weight, threads=threads)
    old = OldDocuments(task, shingles, run_name(task, _signature(task, files)))
    with ExitStack() as stack:
        folder, is_temporary = _work_folder(task.output, stack)
        texts = StoredTexts(folder, _signature(task, files), shingles)
        stack.push(lambda error, *_: texts.close(remove=error is None or is_temporary or not texts.can_continue))
        if old.has_appended and _is_there(task):
            return
        with ProgressMeter("reading", task.quiet) as meter:
            counts = _read(task, files, texts, meter, left)
            records = texts.records()
            counts.empty = int((records["norm"] == 0).sum()) - counts.skipped
            room = _room(task, left, len(records))
            known = None
            if old.are_there:
                meter.begin("comparing with old documents")
                known = old.find(texts, meter, room // 2, threads)
            meter.begin("comparing")
            rank = rank_of(None if task.keep == "first" else records["priority"], len(records))
            found = join_texts(
                texts,
                task.threshold,
                task.how,
                rank,
                room=room,
                threads=threads,
                keep_pairs=task.pairs is not None,
                progress=lambda fraction: meter.show(fraction, some(counts.documents, "document")),
                apart=None if known is None else known.flags,
            )
            meter.begin("writing")
            stays = found.stays == np.arange(len(records))
            if known is not None:
                stays &= ~known.flags
                counts.known = known.counts()
            ids = _write(task, files, format, stays, meter)
            went = departures(found, task.threshold)
            write_lists(task, found, known, ids)
            added = np.flatnonzero(stays & (records["norm"] > 0))
            counts.appended = len(added) if task.append else None
            if task.report is not None:
                write_report(task, texts, found, went, ids, counts)
            if task.append:  # last: a run that has appended is not repeated
                meter.begin("appending")
                old.append(texts, added, ids)
    summarize(task, counts, found, went, ids, meter.seconds)


def _outputs(task: Dedup) -> list[str]:
    paths = (task.output, task.clusters, task.pairs, task.report, task.matches)
    return [path for path in paths if path is not None]


def _signature(task: Dedup, files: InputFiles) -> str:
    """Return what the stored texts depend on: the files and how they are read."""
    names = ("text", "format", "keep", "delimiter", "on_error", "ngram", "analyzer", "weight", "normalize")
    return json_text.dumps([SHINGLE_VERSION, files.signature(), [getattr(task, name) for name in names]])


def _work_folder(output: str, stack: ExitStack) -> tuple[Path, bool]:
    """Return the folder of the stored texts, and whether it is temporary, as for an output that is a device."""
    if output != "-" and (os.path.isfile(output) or not os.path.exists(output)):
        return Path(f"{os.path.realpath(output)}.work"), False
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kernelsketch-"))) / "work", True


def _check_files(task: Dedup) -> None:
    """Refuse inputs that cannot be read several times, before any work is done."""
    for path in task.inputs:
        if path == "-":
            raise UsageError("INPUT cannot be standard input, which can be read only once: store it in a file first.")
        if is_pattern(path):
            continue
        if not os.path.exists(path):
            raise InputError(f"{path} cannot be read: no such file or folder.")
        if is_collection(path):
            raise InputError(f"{path} is a collection of documents: name it with --against.")
        if not os.path.isfile(path) and not os.path.isdir(path):
            raise InputError(f"{path} is a pipe or a device, which can be read only once: store it in a file first.")


def _check_formats(task: Dedup, files: InputFiles) -> str:
    """Refuse inputs of several formats or with other columns; return the format of the output."""
    streams = []
    for path in task.inputs:
        with _stream(task, files, path) as stream:
            streams.append(stream)
    formats = sorted({stream.format for stream in streams})
    if len(formats) > 1:
        raise InputError(f"the inputs have several formats ({', '.join(formats)}): pass files of one format.")
    for stream in streams[1:]:
        check_same_columns(streams[0], stream)
    return written_format(task.output, formats[0])


def _stream(task: Dedup, files: InputFiles, path: str, *, records_only: bool = False) -> DocumentStream:
    return DocumentStream(
        path,
        Fields(task.text, task.id, None if task.keep in ("first", "longest") else task.keep),
        format=task.format if files.files_of(path) is None else None,
        records_only=records_only,
        delimiter=task.delimiter,
        most_bytes=task.document_bytes,
        batch_bytes=task.batch_bytes,
        files=files.files_of(path),
    )


def _documents(
    task: Dedup, files: InputFiles, meter: ProgressMeter, counts: Counts, *, records_only: bool = False
) -> Iterator[tuple[DocumentStream, Any]]:
    """Yield all blocks of all inputs, counted and shown."""
    sizes = [os.path.getsize(path) if os.path.isfile(path) else 1 for path in task.inputs]
    before, total = 0, max(1, sum(sizes))
    for path, size in zip(task.inputs, sizes, strict=True):
        with _stream(task, files, path, records_only=records_only) as stream:
            for block in stream:
                counts.documents += len(block.texts)
                part = stream.fraction
                counts.expected = 0 if part is None else int(counts.documents * total / max(1, before + part * size))
                yield stream, block
                rate = counts.documents / max(meter.seconds, 1e-9)
                text = f"{some(counts.documents, 'document')}, {rate:,.0f} per second"
                meter.show(None if part is None else (before + part * size) / total, text)
        before += size


def _read(task: Dedup, files: InputFiles, texts: StoredTexts, meter: ProgressMeter, left: int) -> Counts:
    """Store the texts of all documents, from where an interrupted run stopped."""
    counts, saved = Counts(), monotonic()
    known, seen = texts.resumed, 0
    if known:
        counts.skipped, counts.replaced = texts.extra["skipped"], texts.extra["replaced"]
        print(f"kernelsketch: continuing after {known:,} documents of an interrupted run.", file=sys.stderr)
    for stream, block in _documents(task, files, meter, counts):
        _room(task, left, counts.documents, counts.expected)  # says at once that there are too many
        if seen < known:  # blocks are always the same
            seen += len(block.texts)
            continue
        if block.faults and task.on_error == "stop":
            first = block.faults[min(block.faults)]
            raise InputError(first, " Fix the record, or pass --on-error skip to leave such records as they are.")
        counts.skipped += len(block.faults)
        counts.replaced += block.replaced
        given = texts_of([text or b"" for text in block.texts], "NFKC" if task.normalize else None)
        if task.normalize and int(np.diff(given.ends).max()) > task.document_bytes:  # a character may become eighteen
            raise too_long(f"{stream.name}, a text in normal form", task.document_bytes)
        texts.append(given, _priorities(task, block, counts.documents - len(block.texts)))
        texts.extra = {"skipped": counts.skipped, "replaced": counts.replaced}
        if monotonic() - saved > CHECKPOINT_SECONDS:
            texts.checkpoint()
            saved = monotonic()
    if not counts.documents:
        raise InputError(f"{', '.join(task.inputs)}: there are no documents.")
    if counts.skipped == counts.documents:
        raise InputError(
            f"no record has a text in the field {task.text or TEXT_FIELD!r}: name the field of the texts with --text."
        )
    texts.checkpoint()
    return counts


def _priorities(task: Dedup, block: Any, first: int) -> Any:
    if task.keep == "first":
        return 0.0
    if task.keep == "longest":
        return [len(text or "") for text in block.texts]
    found = []
    for number, value in enumerate(block.values):
        try:
            priority = _number_or_time(value)
        except (TypeError, ValueError):
            if block.texts[number] is not None and task.on_error == "stop":
                what = "missing or null" if value is None else repr(value)
                raise InputError(
                    f"document {first + number}: field {task.keep!r} is {what}, neither a number nor a date such as "
                    "2026-01-31. --keep takes first, longest or a field of numbers or dates. Fix the record, or pass "
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
        number = float_of(value)
        value = datetime.fromisoformat(value) if number is None else number
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    number = float(value)
    if number != number:
        raise ValueError
    return number


def _room(task: Dedup, left: int, documents: int, expected: int = 0) -> int:
    """Return the memory for the join, and refuse more documents than there is room for, also if they are expected."""
    room = left - PER_DOCUMENT * max(documents, int(SURE * expected))
    if room < LEAST_ROOM:
        n = max(documents, expected)
        enough = enough_memory(task, left, PER_DOCUMENT * n + LEAST_ROOM)
        about = "about " if expected > documents else ""
        raise InputError(
            f"--memory {task.memory} is too small for {about}{n:,} documents: pass --memory {enough} or more."
        )
    return room // 2


def _is_there(task: Dedup) -> bool:
    """Say that an earlier run of this command has done all, or that its output is missing."""
    what = f"{', '.join(task.inputs)}: an earlier run of this command has added these documents to the collection"
    if task.output != "-" and not os.path.exists(task.output):
        raise InputError(f"{what}, but {task.output} is not there: choose another name for the output.")
    if not os.path.isfile(task.output):
        raise InputError(f"{what}, and its output cannot be written again: name a file for the output.")
    print(f"kernelsketch: {what}, and nothing is left to do.", file=sys.stderr)
    if task.json:
        print_json({"output": task.output, "appended": 0, "repeated": True})
    return True


def _write(task: Dedup, files: InputFiles, format: str, stays: Array, meter: ProgressMeter) -> list[Any] | None:
    """Write the documents that stay; return the ids of all documents, if they have some."""
    files.check()
    ids: list[Any] | None = None if task.id is None else []
    counts, done = Counts(), 0
    keep = stays.tolist()
    with DocumentWriter(task.output, format) as writer:
        for stream, block in _documents(task, files, meter, counts, records_only=ids is None):
            here = keep[done : done + len(block.texts)]
            if len(here) < len(block.texts):
                raise InputError(f"{stream.name} changed while it was read: run the command again.")
            writer.write(stream, block, here)
            done += len(here)
            if ids is not None:
                ids += block.ids
        if done != len(keep):
            raise InputError("the inputs changed while they were read: run the command again.")
        files.check()  # before the output takes its place
    return ids
