"""Write the report to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .._library import NamedPath, check_outputs, write_atomically
from ..experiments import PROVENANCE, RESULTS
from ._contents import assemble, load
from ._format import as_markdown, as_tidy
from ._page import as_page
from ._parts import Report
from ._tabular import FILE as TABULAR

FILES = ("report.html", "report.md", "report.csv")


def write_report(results_folder: Any, out: Any) -> Report:
    """Write ``report.html``, ``report.md`` and ``report.csv``. Each file is written completely or not at all.

    Parameters
    ----------
    results_folder : path
        Folder that holds ``results.csv`` and, optionally, ``provenance.json`` and ``tabular.csv``.
    out : path
        Folder for the files. It is created if it does not exist. Files of the same names are replaced.

    Returns
    -------
    report : Report
        The content of the files: headlines, and sections with tables and plots.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from kernelsketch_paper.experiments import Row, write_results
    >>> from kernelsketch_paper.report import write_report
    >>> with TemporaryDirectory() as folder:
    ...     write_results(Path(folder), [Row("kernels", "Car", "gmm", "libsvm", C=10.0, accuracy=99.42)])
    ...     report = write_report(folder, folder)
    >>> report.headlines[0].value, report.headlines[0].label
    ('1 of 1', 'datasets: GMM agrees with the paper')
    """
    from kernelsketch import __version__

    read = [NamedPath("the file", Path(results_folder) / name) for name in (RESULTS, PROVENANCE, TABULAR)]
    check_outputs([NamedPath("the file", Path(out) / name) for name in FILES], read)
    rows, provenance, tabular = load(Path(results_folder))
    report = assemble(rows, provenance, tabular)
    contents = (as_page(report, provenance, __version__), as_markdown(report), as_tidy(report))
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(FILES, contents, strict=True):
        write_atomically(folder / name, content)
    return report
