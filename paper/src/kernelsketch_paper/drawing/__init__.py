"""Plots as data, and the one module that draws them to files.

``_plot`` describes plots without drawing them. ``_files`` draws them with matplotlib to PNG and SVG, for the report and
for the theory figures alike. The page of the report draws the same descriptions with the script in ``report/page``.
"""

from ._files import check_formats, draw_plot, draw_ranking, write_figure
from ._plot import Panel, Plot, Points, Ranking, Series

__all__ = [
    "Panel",
    "Plot",
    "Points",
    "Ranking",
    "Series",
    "check_formats",
    "draw_plot",
    "draw_ranking",
    "write_figure",
]
