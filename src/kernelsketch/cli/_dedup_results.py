"""What ``kernelsketch dedup`` writes besides the documents: lists of clusters and pairs, the report, the summary."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..formats import encoded, open_text
from ._dedup_report import Example, dedup_page
from ._progress import format_duration
from ._results import print_facts, print_json

if TYPE_CHECKING:
    from ..neighbors import TextClusters
    from ..text import StoredTexts
    from ._known import Known
    from .commands.dedup import Dedup

EXAMPLES = 12  # of the report


@dataclass
class Counts:
    """What was read."""

    documents: int = 0
    expected: int = 0  # documents in all, as far as it can be estimated; 0 if it cannot
    skipped: int = 0
    empty: int = 0
    replaced: int = 0
    bytes: int = 0
    known: dict[str, int] | None = None  # documents that repeat an old one; None: there are no old ones
    appended: int | None = None


def write_lists(task: Dedup, found: TextClusters, known: Known | None, ids: list[Any] | None) -> None:
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

    if task.matches is not None and known is not None:
        there = np.flatnonzero(known.flags).tolist()
        matches = ((name[i], known.ids[i], known.similarity[i].item(), known.sources[i]) for i in there)
        _write_table(task.matches, ("document", "known", "similarity", "source"), matches)


def _write_table(path: str, names: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
    """Write rows with tabs between the cells, or as JSON if the name ends with .jsonl."""
    as_json = ".jsonl" in Path(path).suffixes
    with open_text(path) as file:
        if not as_json:
            file.write(("\t".join(names) + "\n").encode())
        for a, b, similarity, *more in rows:
            if as_json:
                cells = dict(zip(names, (a, b, round(similarity, 6), *more), strict=True))
                line = json_text.dumps(cells, ensure_ascii=False)
            else:
                line = "\t".join((_cell(a), _cell(b), f"{similarity:.6g}", *map(_cell, more)))
            file.write(encoded(line) + b"\n")


def _cell(value: Any) -> str:
    return "" if value is None else str(value).replace("\t", " ").replace("\n", " ").replace("\r", " ")


def write_report(task: Dedup, texts: StoredTexts, found: TextClusters, ids: list[Any] | None, counts: Counts) -> None:
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
    page = dedup_page(task.inputs, _lines(counts, found), sizes[sizes > 1], found.similarity[gone], shown)
    assert task.report is not None
    with open_text(task.report) as file:
        file.write(encoded(page))


def _lines(counts: Counts, found: TextClusters) -> dict[str, str]:
    n, sizes = len(found.stays), np.bincount(found.stays)
    known = counts.known or {"known": 0}
    stay = int((sizes > 0).sum()) - known["known"]  # each cluster has one
    lines = {
        "documents": f"{n:,}, of which {some(stay, 'stays', 'stay')} and {some(n - stay, 'goes', 'go')}",
        "clusters": f"{int((sizes > 1).sum()):,} of two or more, the largest of {int(sizes.max()):,}",
    }
    if counts.known is not None:
        of_these = f"{known['known_equal']:,} of these with the same shingles"
        lines["known"] = (
            f"{some(known['known'], 'document repeats an old one', 'documents repeat old ones')}, {of_these}"
        )
    if counts.appended is not None:
        lines["appended"] = f"{some(counts.appended, 'document')} to the collection"
    if counts.skipped:
        what = some(counts.skipped, "record without a text, which stays", "records without a text, which stay")
        lines["skipped"] = what
    if counts.empty:
        what = some(counts.empty, "document without a word, which stays", "documents without a word, which stay")
        lines["empty"] = what
    if counts.replaced:
        replaced = some(counts.replaced, "document")
        lines["not UTF-8"] = f"{replaced} with bytes that are not UTF-8, compared without these bytes"
    return lines


def some(count: int, one: str, many: str | None = None) -> str:
    """Return a number with a noun or a verb in the singular or the plural."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def summarize(
    task: Dedup, counts: Counts, found: TextClusters, equal: int, ids: list[Any] | None, seconds: float
) -> None:
    n = len(found.stays)
    sizes = np.bincount(found.stays)
    stay = int((sizes > 0).sum()) - (counts.known or {"known": 0})["known"]
    named = [] if ids is None else [str(name) for name in ids if name is not None and name != ""]
    nameless, repeated = 0 if ids is None else n - len(named), len(named) - len(set(named))
    if task.json:
        facts = {
            "documents": n,
            "stay": stay,
            "go": n - stay,
            "equal": equal,
            **(counts.known or {}),
            **({} if counts.appended is None else {"appended": counts.appended}),
            "clusters": int((sizes > 1).sum()),
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
    lines = _lines(counts, found)
    have = "document has", "documents have"
    lines["equal"] = f"{some(equal, *have)} the same shingles as an earlier one"
    if nameless:
        lines["no id"] = f"{some(nameless, *have)} an empty id or none, field {task.id!r}"
    if repeated:
        lines["ids"] = f"{some(repeated, *have)} an id that an earlier one has"
    lines["time"] = f"{format_duration(seconds)}, {n / max(seconds, 1e-9):,.0f} documents per second"
    lines["output"] = task.output
    print_facts(lines, to_stderr=True)
