"""The examples in the README and in the documentation run as written."""

import doctest
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

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


def test_the_readme_has_an_example():
    assert ">>> " in (ROOT / "README.md").read_text()


@pytest.mark.skipif(not (ROOT / "benchmarks/results").is_dir(), reason="an sdist has no results of benchmarks")
def test_the_headline_table_of_the_readme_has_the_measured_numbers():
    command = [sys.executable, str(ROOT / "docs" / "_ext" / "measured.py"), "--check"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, ""), found.stdout + found.stderr


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
