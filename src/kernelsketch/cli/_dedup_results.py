"""What ``kernelsketch dedup`` writes besides the documents: lists of clusters and pairs, the report, the summary."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._array import Array
from ..formats import encoded, open_text
from ._dedup_report import Cluster, Member, dedup_page
from ._progress import format_duration
from ._results import print_facts, print_json

if TYPE_CHECKING:
    from ..neighbors import TextClusters
    from ..text import StoredTexts
    from ._known import Known
    from .commands.dedup import Dedup

MOST_CLUSTERS, MOST_MEMBERS, MOST_COPIES = 20, 20, 100  # of the report
HAVE = "document has", "documents have"


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


class Departures(NamedTuple):
    """Which documents go, as masks: no document is in two of the last three."""

    gone: Array
    equal: Array  # copies of another document of the cluster: of the one that stays, or of one that goes as well
    similar: Array  # those that are similar enough to the one that stays
    chained: Array  # those that are not, and went by a chain of near-duplicates


def departures(found: TextClusters, threshold: float) -> Departures:
    """Say why each document goes. Of several equal documents that all go, the first is not counted as a copy."""
    stays, first, numbers = found.stays, found.first, np.arange(len(found.stays))
    gone = stays != numbers
    equal = gone & (numbers != np.where(first[stays] == first, stays, first))
    chained = gone & ~equal & (found.similarity < threshold)
    return Departures(gone, equal, gone & ~equal & ~chained, chained)


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
                line = json_text.dumps(cells, ensure_ascii=False, default=str)
            else:
                line = "\t".join((cell(a), cell(b), f"{similarity:.6g}", *map(cell, more)))
            file.write(encoded(line) + b"\n")


def cell(value: Any) -> str:
    """Return a value as a cell of a line with tabs."""
    return "" if value is None else str(value).replace("\t", " ").replace("\n", " ").replace("\r", " ")


def write_report(
    task: Dedup, texts: StoredTexts, found: TextClusters, went: Departures, ids: list[Any] | None, counts: Counts
) -> None:
    def name(item: int) -> str:
        return str(item if ids is None else ids[item])

    def text(item: int) -> str:
        return texts.text(item).decode("utf-8", "replace")

    sizes = np.bincount(found.stays, minlength=len(found.stays))
    clusters = []
    for kept in np.lexsort((np.arange(len(sizes)), -sizes))[:MOST_CLUSTERS].tolist():
        if sizes[kept] < 2:
            break
        members = np.flatnonzero((found.stays == kept) & went.gone)
        copies = [name(item) for item in members[went.equal[members]][:MOST_COPIES].tolist()]
        others = members[~went.equal[members]]
        others = others[np.argsort(-found.similarity[others], kind="stable")]
        shown = [Member(name(i), text(i), float(found.similarity[i])) for i in others[:MOST_MEMBERS].tolist()]
        n_copies = int(went.equal[members].sum())
        clusters.append(Cluster(name(kept), text(kept), int(sizes[kept]), shown, len(others), copies, n_copies))
    lines = _lines(task, counts, found, went)
    page = dedup_page(task.inputs, lines, sizes[sizes > 1], found.similarity, went, clusters)
    assert task.report is not None
    with open_text(task.report) as file:
        file.write(encoded(page))


def _lines(task: Dedup, counts: Counts, found: TextClusters, went: Departures) -> dict[str, str]:
    """Return the lines of the summary and of the report about documents and clusters."""
    n, sizes = len(found.stays), np.bincount(found.stays)
    known = counts.known or {"known": 0}
    stay = int((sizes > 0).sum()) - known["known"]  # each cluster has one
    lines = {
        "documents": f"{n:,}, of which {some(stay, 'stays', 'stay')} and {some(n - stay, 'goes', 'go')}",
        "clusters": f"{int((sizes > 1).sum()):,} of two or more, the largest of {int(sizes.max()):,}",
        "equal": f"{some(int(went.equal.sum()), *HAVE)} the same shingles as another one of the cluster",
    }
    if counts.known is not None:
        of_these = f"{known['known_equal']:,} of these with the same shingles"
        lines["known"] = (
            f"{some(known['known'], 'document repeats an old one', 'documents repeat old ones')}, {of_these}"
        )
    if counts.appended is not None:
        lines["appended"] = f"{some(counts.appended, 'document')} to the collection"
    if chained := int(went.chained.sum()):
        lines["chains"] = (
            f"{some(chained, 'document goes', 'documents go')} by chains, with a similarity below {task.threshold:g} "
            "to the one that stays; --how star keeps them"
        )
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
    task: Dedup, counts: Counts, found: TextClusters, went: Departures, ids: list[Any] | None, seconds: float
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
            "equal": int(went.equal.sum()),
            "chained": int(went.chained.sum()),
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
    lines = _lines(task, counts, found, went)
    if nameless:
        lines["no id"] = f"{some(nameless, *HAVE)} an empty id or none, field {task.id!r}"
    if repeated:
        lines["ids"] = f"{some(repeated, *HAVE)} an id that an earlier one has"
    lines["time"] = f"{format_duration(seconds)}, {n / max(seconds, 1e-9):,.0f} documents per second"
    lines["output"] = task.output
    print_facts(lines, to_stderr=True)
