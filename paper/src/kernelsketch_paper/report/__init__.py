"""The report of the paper's experiments: tables and plots, and a page that shows them.

==============  =====================================================================================
_choice         which setting of a method counts
_tables         tables 1 to 5 of the paper beside the measured numbers
_hashing        GCWS and NRFF: accuracy by number of samples
_costs          training time and model size
_comparison     the comparison with other methods, and rank tests
_tabular, _tabular_section  the study of tables of data: its file and numbers, and their section
_plots          the curves of all plots
_notes          explanations of differences, from ``notes.toml``
_provenance     machine, versions and time of the results
_parts          sections, tables and headlines: what a report is made of
_contents       the report, put together from all of the above
_format, _page  the report as Markdown, CSV and HTML (``page/`` holds the page's script and style)
_write, _figures  the files: the report itself, and one picture per figure
==============  =====================================================================================
"""

from ._figures import figures
from ._parts import Report
from ._write import FILES, write_report

__all__ = ["FILES", "Report", "figures", "write_report"]
