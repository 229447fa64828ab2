"""The page of ``kernelsketch dedup --report``: sizes of clusters, similarities, and examples side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ._report import facts_table, page, section
from ._svg import bars

MOST_CHARACTERS = 1500  # of an example
MOST_NAMED = 3  # files in the title
_WORDS = re.compile(r"\w+|\W+")
_SIZES = ((2, 2), (3, 3), (4, 5), (6, 10), (11, 100), (101, 1000), (1001, 2**62))


class Example(NamedTuple):
    """Two documents: the one that stays, and one that goes."""

    kept: str
    gone: str
    similarity: float
    kept_text: str
    gone_text: str


def dedup_page(
    inputs: Sequence[str], lines: dict[str, str], sizes: Any, similarity: Any, examples: Sequence[Example]
) -> str:
    """Return the page as text. ``sizes`` are those of clusters; ``similarity`` is that of documents that go."""
    sections = [section("Summary", "", facts_table(lines))]
    if len(similarity):
        sections.append(section("Sizes of clusters", "Share of the clusters of two and more documents.", _sizes(sizes)))
        note = "Documents that go, by their similarity to the one that stays."
        sections.append(section("Similarities", note, _similarities(similarity)))
        told = "The first document of each pair stays. Words that only one of the two has are marked."
        sections.append(section("Examples", told, "".join(map(_example, examples))))
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


def _similarities(similarity: Any) -> str:
    names, shares = ["1 (the same shingles)"], [float((similarity >= 1).mean())]
    for low in np.arange(9, -1, -1) / 10:
        share = float(((similarity >= low) & (similarity < min(low + 0.1, 1))).mean())
        if share:
            names.append(f"{low:.1f} to {low + 0.1:.1f}")
            shares.append(share)
    return bars(names, shares)


def _example(example: Example) -> str:
    left, right = (_WORDS.findall(text[:MOST_CHARACTERS]) for text in (example.kept_text, example.gone_text))
    marked: list[list[str]] = [[], []]
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for side, words in enumerate((left[a:b], right[c:d])):
            text = escape("".join(words))
            marked[side].append(text if kind == "equal" or not text else f"<mark>{text}</mark>")
    head = f"{escape(example.kept)} stays, {escape(example.gone)} goes: similarity {example.similarity:.3f}"
    sides = "".join(f"<div>{''.join(parts)}</div>" for parts in marked)
    return f'<p>{head}</p><div class="pair">{sides}</div>'
