"""What a report is made of: sections with tables, plots and rankings, free of any file format.

The page, the Markdown text, the CSV file and the pictures are all made from these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..drawing import Plot, Ranking


@dataclass(frozen=True)
class Score:
    """Mean over splits, their standard deviation (None for a single split), and the setting chosen most often."""

    mean: float
    sd: float | None = None
    n: int = 1
    gamma: float | None = None
    p: float | None = None
    C: float | None = None


@dataclass(frozen=True)
class Difference:
    """Measured minus published accuracy, in points. ``status`` is within (the tolerance), above or below."""

    value: float
    status: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``kind`` is text, count, percent, score, difference, points, number, decimal, seconds, bytes, ratio, samples or
    note. ``group`` is the heading above the label. ``choice`` says that the column belongs to settings chosen on the
    test rows ("test") or by cross-validation ("cv").
    """

    key: str
    label: str
    kind: str = "text"
    group: str = ""
    choice: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells by the key of their column. The first ``keys`` columns say what a row is about."""

    key: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: list[dict[str, Any]]
    keys: int = 1
    best: list[frozenset[str]] = field(default_factory=list)  # for each row, the columns to highlight

    def highlighted(self, row: int) -> frozenset[str]:
        """Return the keys of the columns to highlight in a row."""
        return self.best[row] if row < len(self.best) else frozenset()


Item = Table | Plot | Ranking


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, and the items that they are about. ``missing`` says why there is nothing to show."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    missing: str = ""
    short: str = ""  # title in the list of sections


@dataclass(frozen=True)
class Headline:
    """A number that sums up a part of the report, with what it counts."""

    value: str
    label: str
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """A complete report."""

    title: str
    lead: str
    headlines: tuple[Headline, ...]
    sections: tuple[Section, ...]
    banner: tuple[str, ...] = ()  # sentences on what the results lack

    def all(self, kind: type) -> list[Any]:
        """Return all items of a kind, in order."""
        return [item for section in self.sections for item in section.items if isinstance(item, kind)]
