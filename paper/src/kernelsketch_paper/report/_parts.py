"""What a report is made of: sections with tables and plots, free of any file format.

The page, the Markdown text, the CSV file and the drawings are all made from these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measured:
    """Mean over splits, their standard deviation (None for a single one), and the setting chosen most often."""

    mean: float
    sd: float | None = None
    n: int = 1
    gamma: float | None = None
    p: float | None = None
    C: float | None = None


@dataclass(frozen=True)
class Difference:
    """Measured minus published, in points: "within" the tolerance, "above" or "below" it."""

    value: float
    status: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    ``kind`` is text, count, percent, measured, difference, number, seconds, bytes or ratio. ``group`` is the heading
    above it, and ``choice`` says that it belongs to settings chosen on the test rows ("test") or by
    cross-validation ("cv").
    """

    key: str
    label: str
    kind: str = "text"
    group: str = ""
    choice: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells by column key; the first ``keys`` columns say what a row is about."""

    key: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: list[dict[str, Any]]
    keys: int = 1
    best: list[frozenset[str]] = field(default_factory=list)  # per row, the columns to stress

    def stressed(self, row: int) -> frozenset[str]:
        return self.best[row] if row < len(self.best) else frozenset()


@dataclass(frozen=True)
class Series:
    """A curve: points (x, y, standard deviation or None). ``color`` is a name that each drawing knows."""

    name: str
    color: str
    points: tuple[tuple[float, float, float | None], ...]
    line: str = "solid"  # solid, dashed, dotted, none
    marker: str = "circle"  # circle, square, diamond, triangle, star, none


@dataclass(frozen=True)
class Panel:
    """One picture: a dataset and, where it has several, a view of it."""

    dataset: str
    view: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()  # of the y axis, where it has no numbers


@dataclass(frozen=True)
class Plot:
    """Panels with the same axes, of which a reader looks at one at a time."""

    key: str
    title: str
    caption: str
    x: str
    y: str
    panels: tuple[Panel, ...]
    x_log: bool = True
    y_log: bool = False
    band: float | None = None  # half the width of a stressed band around x = 0
    columns: int = 3  # of panels in the drawing


@dataclass(frozen=True)
class Ranking:
    """Average ranks of methods over datasets, and what tests say of them."""

    key: str
    title: str
    caption: str
    methods: tuple[str, ...]  # best first
    ranks: tuple[float, ...]
    n_datasets: int
    statistic: float
    p_value: float
    critical_difference: float
    groups: tuple[tuple[int, int], ...]  # first and last of methods that cannot be told apart


Item = Table | Plot | Ranking


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, and what they are about. ``missing`` says why there is nothing to show."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    missing: str = ""
    short: str = ""  # for a list of sections


@dataclass(frozen=True)
class Figure:
    """A number that sums up, with what it counts."""

    value: str
    label: str
    detail: str = ""


@dataclass(frozen=True)
class Report:
    """All of it."""

    title: str
    lead: str
    headline: tuple[Figure, ...]
    sections: tuple[Section, ...]

    def all(self, kind: type) -> list[Any]:
        return [item for section in self.sections for item in section.items if isinstance(item, kind)]
