"""Descriptions of plots, free of any way to draw them."""

from __future__ import annotations

from dataclasses import dataclass

Points = tuple[tuple[float, float, float | None], ...]  # x, y, and the standard deviation of y or None


@dataclass(frozen=True)
class Series:
    """A curve. A series without a name is drawn but not listed in the legend."""

    name: str
    color: str  # a name that every renderer has, or for files a hexadecimal colour
    points: Points
    line: str = "solid"  # solid, thick (to be seen under another line), dashed, dotted, none
    marker: str = "circle"  # circle, square, diamond, triangle, star, none


@dataclass(frozen=True)
class Panel:
    """One picture: a dataset and, where it has several, a view of it."""

    dataset: str
    view: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()  # labels of the y axis, where it has no numbers
    y: str = ""  # label of the y axis, where it differs from the plot's
    y_log: bool | None = None  # scale of the y axis, where it differs from the plot's


@dataclass(frozen=True)
class Plot:
    """Panels with the same axes. A page shows one panel at a time, a file shows all of them."""

    key: str
    title: str
    caption: str
    x: str
    y: str
    panels: tuple[Panel, ...]
    x_log: bool = True
    y_log: bool = False
    band: float | None = None  # half the width of a highlighted band around x = 0
    limit: float | None = None  # the x axis ends at plus and minus this; points beyond are arrows with their value
    columns: int = 3  # columns of panels in a file
    shared: bool = False  # whether all panels have the same range of both axes
    y_limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Ranking:
    """Average ranks of methods over datasets, and the results of rank tests."""

    key: str
    title: str
    caption: str
    methods: tuple[str, ...]  # best first
    ranks: tuple[float, ...]
    n_datasets: int
    statistic: float
    p_value: float
    critical_difference: float
    groups: tuple[tuple[int, int], ...]  # first and last of methods that the test cannot distinguish
