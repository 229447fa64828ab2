"""The examples in the README and in the documentation run as written."""

import doctest
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from helpers.reference_names import names_of_the_reference

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.rst"))]
DASK = ROOT / "examples" / "dask_blocks.py"
BAG = ROOT / "examples" / "torch_embedding_bag.py"
BUILT = {"_build", "auto_examples", "generated"}
ON_A_CLUSTER = ROOT / "docs" / "how-to" / "spark.rst"  # tests/spark runs it


PAGES_HERE = [p for p in PAGES if not BUILT & set(p.parts) and p != ON_A_CLUSTER]


@pytest.mark.parametrize("path", PAGES_HERE, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(path):
    found = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_the_first_page_leads_to_all_others():
    first = (ROOT / "docs" / "index.rst").read_text()
    for part in ("tutorial", "how-to", "guide"):
        pages = {path.stem for path in (ROOT / "docs" / part).glob("*.rst")}
        assert pages == set(re.findall(rf"<{part}/([a-z-]+)>", first.split("All pages")[1]))


def test_the_reference_names_what_its_modules_have():
    """Sphinx looks names up in the module of the last directive ``currentmodule``."""
    missing = []
    for shown, module in names_of_the_reference():
        home, _, name = f"{module}.{shown}".rpartition(".")
        try:
            found = hasattr(importlib.import_module(home), name)
        except ImportError:
            continue  # an extra that is not installed
        if not found:
            missing.append(f"{home}.{name}")
    assert len(names_of_the_reference()) > 20
    assert missing == []


def test_the_reference_lists_each_name_once():
    """Names of Spark have a prefix, since ``kernelsketch`` has some of them too."""
    shown = [name for name, _ in names_of_the_reference()]
    assert sorted(shown) == sorted(set(shown))
    assert {"GCWS", "spark.GCWS", "dedup", "spark.dedup"} <= set(shown)


@pytest.mark.parametrize("page", ["docs/how-to/tables.rst", "docs/how-to/dedup.rst"])
def test_commands_of_how_tos_have_the_options_that_are_shown(page):
    """They are parsed, not run."""
    commands = pytest.importorskip("kernelsketch.cli._main").Commands().commands
    shown = re.findall(r"^   \$ kernelsketch ([^|>\n]+)", (ROOT / page).read_text(), flags=re.MULTILINE)
    for line in shown:
        name, *arguments = shlex.split(line)
        command = commands[name].load()
        if hasattr(command, "commands"):
            command = command.commands[arguments.pop(0)]
        command.make_context(name, arguments)
    assert any(line.startswith(("train", "dedup")) for line in shown)


def test_the_readme_has_an_example():
    assert ">>> " in (ROOT / "README.md").read_text()


@pytest.mark.skipif(not (ROOT / "benchmarks/results").is_dir(), reason="an sdist has no results of benchmarks")
def test_the_headline_table_of_the_readme_has_the_measured_numbers():
    command = [sys.executable, str(ROOT / "docs" / "_ext" / "measured.py"), "--check"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, ""), found.stdout + found.stderr


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    return importlib.import_module("measured")


STUDY = """\
task,dataset,split,model,n_train,n_features,accuracy,log_loss,calibration_error,relative_rmse,fit_seconds,row_us,threads
classification,A,0,ours,9,9,0.90,0.3,0.02,,4,10,1
classification,A,1,ours,9,9,0.80,0.3,0.02,,4,10,1
classification,A,0,LightGBM,9,9,0.86,0.4,0.01,,2,10,1
classification,B,0,ours,9,9,0.70,0.5,0.02,,8,20,1
classification,B,0,LightGBM,9,9,0.75,0.4,0.03,,4,20,1
classification,B,0,SVM,9,9,0.65,,,,,,1
regression,R,0,ours,9,9,,,,0.30,2,10,1
regression,R,0,LightGBM,9,9,,,,0.34,1,10,1
"""


def test_tables_of_the_study_of_tables(measured, monkeypatch, tmp_path):
    pytest.importorskip("kernelsketch_paper")
    (tmp_path / "tabular.csv").write_text(STUDY)
    monkeypatch.setattr(measured, "TABULAR", tmp_path)
    datasets = measured.TABLES["tabular-datasets"]
    assert list(datasets.rows()) == [
        ["A", "85.00", "86.00 (1)", "", "", "", "+4.00"],  # the difference is that of split 0
        ["B", "70.00", "75.00", "", "", "65.00", "-5.00"],
        ["R (RMSE)", "30.00", "34.00", "", "", "", "-4.00"],
    ]
    # The SVM has half of the datasets, so means and ranks are those of B. Ours: the mean of +4 and -5, and 9 / 2.
    summary = measured.TABLES["tabular"]
    assert list(summary.rows()) == [
        ["classification: accuracy, %", "70.00", "75.00", "", "", "65.00"],
        ["classification: mean rank", "2.00", "1.00", "", "", "3.00"],
        ["classification: log-loss", "0.400", "0.400", "", "", ""],
        ["classification: calibration error", "0.020", "0.020", "", "", ""],
        ["classification: points to LightGBM", "-0.50 ± 4.50", "", "", "", "-10.00"],
        ["classification: datasets ahead / behind", "1 / 1", "", "", "", "0 / 1"],
        ["classification: worst", "-5.00", "", "", "", "-10.00"],
        ["classification: time to train", "6.00 s", "3.00 s", "", "", ""],
        ["classification: time per row", "15.0 µs", "15.0 µs", "", "", ""],
        ["regression: RMSE, %", "30.00", "34.00", "", "", ""],
        ["regression: mean rank", "1.00", "2.00", "", "", ""],
        ["regression: points to LightGBM", "-4.00", "", "", "", ""],
        ["regression: datasets ahead / behind", "1 / 0", "", "", "", ""],
        ["regression: worst", "-4.00", "", "", "", ""],
        ["regression: time to train", "2.00 s", "1.00 s", "", "", ""],
        ["regression: time per row", "10.0 µs", "10.0 µs", "", "", ""],
    ]
    for table in summary, datasets:
        assert all(len(cells) == len(table.head) for cells in table.rows())


MIXED = """\
half,new,task,table,split,model,n_train,n_columns,accuracy,auc,log_loss,calibration_error,rmse,fit_cpu_seconds,row_cpu_us,model_bytes,version,machine
report,1,classification,won,0,ours,9,9,0.9,0.90,0.30,0.01,,2.0,10,4000,,"A, 2 cores"
report,1,classification,won,1,ours,9,9,0.9,0.92,0.30,0.01,,2.0,10,4000,,"A, 2 cores"
report,1,classification,lost,0,ours,9,9,0.8,0.70,0.50,0.03,,4.0,30,4000,,"A, 2 cores"
report,1,regression,tied,0,ours,9,9,,,,,9,1.0,20,2000,,"A, 2 cores"
report,1,regression,tied,1,ours,9,9,,,,,11,1.0,20,2000,,"A, 2 cores"
report,1,classification,won,0,LightGBM-20,9,9,0.9,0.89,0.35,0.01,,1.0,5,1000,4.7,"A, 2 cores"
report,1,classification,won,1,LightGBM-20,9,9,0.9,0.89,0.35,0.01,,1.0,5,1000,4.7,"A, 2 cores"
report,1,classification,lost,0,LightGBM-20,9,9,0.8,0.74,0.45,0.03,,1.0,5,1000,4.7,"A, 2 cores"
report,1,regression,tied,0,LightGBM-20,9,9,,,,,10,1.0,5,1000,4.7,"A, 2 cores"
report,1,regression,tied,1,LightGBM-20,9,9,,,,,10,1.0,5,1000,4.7,"A, 2 cores"
report,1,classification,won,0,RealMLP-TD,9,9,0.9,0.88,0.35,0.01,,1.0,5,1000,1.7,"B, 16 cores"
report,0,classification,old,0,LightGBM-20,9,9,0.9,,0.35,0.01,,1.0,5,1000,4.7,"A, 2 cores"
report,0,classification,old,0,RealMLP-TD,9,9,0.9,,0.25,0.01,,1.0,5,2000,1.7,"B, 16 cores"
report,0,classification,more,0,RealMLP-TD,9,9,0.1,,0.95,0.21,,9.0,5,2000,1.7,"B, 16 cores"
develop,1,classification,other,0,ours,9,9,0.9,0.10,9,0.01,,2.0,10,4000,,"A, 2 cores"
"""


def test_tables_of_the_mixed_tables(measured, monkeypatch, tmp_path):
    (tmp_path / "mixed_tables.csv").write_text(MIXED)
    monkeypatch.setattr(measured, "RESULTS", tmp_path)
    # RealMLP-TD lacks tables of LightGBM-20, so it has no means; the other half is never shown.
    assert list(measured.TABLES["mixed-new"].rows()) == [
        ["ours", "80.5", "0.400", "-0.5 %", "85.0", "0.020", "2.0 s", "20 µs", "4 kB"],
        ["LightGBM-20", "81.5", "0.400", "+0.0 %", "85.0", "0.020", "1.0 s", "5 µs", "1 kB"],
    ]
    # Of another machine: the times have a star. A table that LightGBM-20 lacks is not in the means.
    assert list(measured.TABLES["mixed-older"].rows())[1] == [
        *("RealMLP-TD", "", "0.250", "", "90.0", "0.010", "1.0 s\\*", "5 µs\\*", "2 kB"),
    ]
    assert list(measured.TABLES["mixed-against-new"].rows()) == [
        ["LightGBM-20", "-1.00 ± 3.00; 1 / 0 / 1; worse on lost", "+0.000 ± 0.050; 1 / 0 / 1; worse on lost",
         "-0.5; 0 / 1 / 0; tied on tied"],
        ["RealMLP-TD", "+2.00; 1 / 0 / 0", "-0.050; 1 / 0 / 0", ""],
    ]  # fmt: skip
    assert list(measured.TABLES["mixed-against-older"].rows()) == []
    rows = {cells[0]: cells[1:3] for cells in measured.TABLES["mixed-tables"].rows()}
    assert rows == {
        "lost (new): AUC, %": ["70.0", "74.0"],
        "tied (new): RMSE": ["10.000", "10.000"],
        "won (new): AUC, %": ["91.0", "89.0"],
        "more: log-loss": ["", ""],
        "old: log-loss": ["", "0.350"],
    }


@pytest.mark.skipif(not (ROOT / "benchmarks/results").is_dir(), reason="an sdist has no results")
def test_the_stored_mixed_tables_can_be_shown(measured):
    for name in "mixed-new", "mixed-older", "mixed-against-new", "mixed-against-older", "mixed-tables":
        table = measured.TABLES[name]
        assert all(len(cells) == len(table.head) for cells in table.rows())
        assert any(True for _ in table.rows())


@pytest.mark.skipif(not (ROOT / "paper/results").is_dir(), reason="an sdist has no results of the paper")
def test_the_stored_study_of_tables_can_be_shown(measured):
    pytest.importorskip("kernelsketch_paper")
    for name in "tabular", "tabular-datasets":
        lines = measured.as_list_table(measured.TABLES[name])
        assert sum(line.startswith("   * -") for line in lines) > 2


def test_codes_as_indices_of_an_embedding_bag():
    """The guide's block of PyTorch, after the examples before it."""
    pytest.importorskip("torch")
    text = (ROOT / "docs/guide/learning.rst").read_text()
    names = {}
    for example in doctest.DocTestParser().get_examples(text[: text.index("import torch")]):
        if example.exc_msg is None:
            exec(example.source, names)
    block = text[text.index("   import torch") :].split("\n``same`` is True")[0]
    exec(textwrap.dedent(block), names)
    assert names["same"]


def test_the_embedding_bag_example_names_what_is_missing():
    load = "import runpy, sys, sklearn.datasets, sklearn.model_selection; from kernelsketch import GCWS"
    code = f"{load}; sys.modules['torch'] = None; runpy.run_path({str(BAG)!r})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr.strip()) == (1, "PyTorch is not installed: run  pip install torch")


def test_blocks_of_dask_are_hashed_as_on_one_machine():
    pytest.importorskip("dask.array")
    found = subprocess.run([sys.executable, str(DASK)], capture_output=True, text=True, check=True)
    assert found.stdout == "10000 rows in 4 blocks, 2560000 bytes; as on one machine: True\n"


ROWS = "<tr><td><p>one</p></td><td><p>two</p></td></tr>" * 2
LONG = "spark.approx_nearest_neighbors_of_all_rows"


@pytest.fixture
def styled(tmp_path):
    """A function that shows HTML with the style of the pages, in a browser of a given width."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    style = (ROOT / "docs" / "_static" / "custom.css").read_text()
    page = tmp_path / "page.html"
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with driver.sync_playwright() as started:
        found = started.chromium.launch(executable_path=browser, args=["--no-sandbox"] if as_root else [])

        def show(content, width):
            page.write_text(f'<meta name="viewport" content="width=device-width"><style>{style}</style>{content}')
            tab = found.new_page(viewport={"width": width, "height": 800})
            tab.goto(page.as_uri())
            return tab

        yield show
        found.close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "columns"), [(390, 1), (1440, 2)])
def test_boxes_and_lists_of_names_have_one_column_on_a_phone(styled, width, columns):
    """The style of the pages, on the two kinds of tables that a phone shows in one column."""
    tab = styled("".join(f'<table class="{name}">{ROWS}</table>' for name in ("doors", "autosummary")), width)
    for name in ("doors", "autosummary"):
        lefts = f"[...document.querySelectorAll('.{name} td p')].map((e) => e.parentNode.offsetLeft)"
        assert len(set(tab.evaluate(lefts))) == columns, name


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_long_names_stay_on_the_page(styled, width):
    """In a heading, in "On this page", and in a signature, which breaks after its bracket."""
    code = f'<code><span class="pre">{LONG}</span></code>'
    signature = f'{LONG}<span class="sig-paren">(</span><em>n_neighbors=5</em>, <em>p</em>'
    tab = styled(
        f'<div class="bd-article"><h1>{LONG}</h1><dl class="py"><dt class="sig">{signature}</dt></dl></div>'
        f'<div class="bd-sidebar-secondary"><a class="nav-link">{code}</a></div>',
        width,
    )
    beyond = """[...document.querySelectorAll("h1, dt, .bd-sidebar-secondary")]
        .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.tagName)"""
    assert tab.evaluate(beyond) == []
    assert tab.evaluate("document.querySelector('em').getClientRects().length") == 1
