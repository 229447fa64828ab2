"""The page of ``kernelsketch dedup --report``: sizes of clusters, similarities, and the largest clusters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ._page import facts_table, page, section
from ._svg import bars

MOST_CHARACTERS = 1000  # of a text
MOST_OPEN = 5  # clusters that are unfolded at first
MOST_NAMED = 3  # files in the title
_WORDS = re.compile(r"\w+|\W+")
_SIZES = ((2, 2), (3, 3), (4, 5), (6, 10), (11, 100), (101, 1000), (1001, 2**62))


class Member(NamedTuple):
    """A document of a cluster that goes."""

    name: str
    text: str
    similarity: float  # to the one that stays


class Cluster(NamedTuple):
    """A cluster: the document that stays, and those that go, of which some may be left out."""

    kept: str
    text: str
    size: int
    members: Sequence[Member]  # by similarity, without copies
    n_members: int
    copies: Sequence[str]  # names of documents with the same shingles as another one
    n_copies: int


def dedup_page(
    inputs: Sequence[str], lines: dict[str, str], sizes: Any, similarity: Any, went: Any, clusters: Sequence[Cluster]
) -> str:
    """Return the page as text.

    ``sizes`` are those of clusters, largest first in ``clusters``; ``similarity`` is that of every document to the one
    that stays, and ``went`` has masks of documents that go: ``gone``, ``equal``, ``chained``.
    """
    sections = [section("Summary", "", facts_table(lines))]
    if len(clusters):
        sections.append(section("Sizes of clusters", "Share of the clusters of two and more documents.", _sizes(sizes)))
        note = "Documents that go, by their similarity to the one that stays."
        if went.chained.any():
            note += f" {int(went.chained.sum()):,} of them are below the threshold and went by chains of similar ones."
        sections.append(section("Similarities", note, _similarities(similarity, went)))
        some = "All clusters" if len(sizes) == len(clusters) else f"{len(clusters)} of {len(sizes):,} clusters"
        told = (
            f"{some}, the largest first. Words that only the document that goes has are <mark>marked</mark>; words "
            "that only the one that stays has are <del>struck out</del>."
        )
        sections.append(section("Clusters", told, "".join(map(_cluster, range(len(clusters)), clusters))))
    named = [*inputs[:MOST_NAMED], *([f"{len(inputs) - MOST_NAMED:,} more"] if len(inputs) > MOST_NAMED else [])]
    title = escape(f"Near-duplicates in {', '.join(named)}")
    return page(title, "Found by kernelsketch dedup", sections)


def _sizes(sizes: Any) -> str:
    names, shares = [], []
    for low, high in _SIZES:
        count = int(((sizes >= low) & (sizes <= high)).sum())
        if count:
            span = f"{low}" if low == high else f"{low} to {high}" if high < 2**62 else f"more than {low - 1}"
            names.append(f"{span} documents ({count:,})")
            shares.append(count / len(sizes))
    return bars(names, shares)


def _similarities(similarity: Any, went: Any) -> str:
    others, count = similarity[went.gone & ~went.equal], int(went.gone.sum())
    names, shares = ["the same shingles as another"], [float(went.equal.sum()) / count]
    for low in np.arange(9, -1, -1) / 10:
        share = float(((others >= low) & ((others < low + 0.1) | (low == 0.9))).sum()) / count
        if share:
            names.append(f"{low:.1f} to {low + 0.1:.1f}")
            shares.append(share)
    return bars(names, shares)


def _cluster(number: int, cluster: Cluster) -> str:
    goes = cluster.size - 1
    head = f"{escape(cluster.kept)} stays, {goes:,} {'goes' if goes == 1 else 'go'}"
    parts = [f'<p class="text">{escape(_cut(cluster.text))}</p>']
    for member in cluster.members:
        told = f"{escape(member.name)} goes: similarity {member.similarity:.3f}"
        parts.append(f'<p>{told}</p><p class="text">{_compared(cluster.text, member.text)}</p>')
    if cluster.n_members > len(cluster.members):
        parts.append(f"<p>And {cluster.n_members - len(cluster.members):,} more, which are less similar.</p>")
    if cluster.n_copies:
        more = cluster.n_copies - len(cluster.copies)
        names = escape(", ".join(cluster.copies)) + (f", and {more:,} more" if more else "")
        parts.append(f"<p>With the same shingles as another one: {names}</p>")
    return f"<details{' open' * (number < MOST_OPEN)}><summary>{head}</summary>{''.join(parts)}</details>"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} ..."


def _compared(kept: str, gone: str) -> str:
    """Return the text of a document that goes, with the words by which it differs from the one that stays."""
    left, right = (_WORDS.findall(text[:MOST_CHARACTERS]) for text in (kept, gone))
    parts = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(escape("".join(right[c:d])))
            continue
        parts += [f"<del>{escape(''.join(left[a:b]))}</del>"] if b > a else []
        parts += [f"<mark>{escape(''.join(right[c:d]))}</mark>"] if d > c else []
    return "".join(parts) + (" ..." if len(gone) > MOST_CHARACTERS else "")
