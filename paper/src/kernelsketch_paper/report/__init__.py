"""The report of the paper's experiments: tables, figures, and a page that shows them.

``_choice`` picks settings, ``_tables``, ``_hashing``, ``_costs`` and ``_comparison`` make tables of rows of results,
``_plots`` makes curves; ``_contents`` puts them together. Files are made from that: ``_page`` and ``_format`` (HTML,
Markdown, CSV), ``_figures`` (PNG and SVG).
"""

from ._figures import figures
from ._parts import Report
from ._write import FILES, write_report

__all__ = ["FILES", "Report", "figures", "write_report"]
