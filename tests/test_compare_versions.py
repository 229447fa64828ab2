"""benchmarks/compare_versions.py: the work that two versions do, and its table of instructions."""

import csv
import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"

pytestmark = pytest.mark.skipif(not (FOLDER / "compare_versions.py").is_file(), reason="an installation has none")


@pytest.fixture
def tool():
    return runpy.run_path(str(FOLDER / "compare_versions.py"))


def test_the_work_of_tiny_sizes():
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, str(FOLDER / "version_work.py"), "try", "tiny"], capture_output=True, text=True, check=True
    )
    names = json.loads(done.stdout)
    for part in ("two rows", "CSR", "NRFF", "logistic", "regression", "out-of-core", "predictor", "1 query", "texts"):
        assert any(part in name for name in names), part


def test_a_dump_has_its_count(tool, tmp_path):
    dump = tmp_path / "counts.1"
    dump.write_text("version: 1\nevents: Ir\n\nfn=(1) main\n16 400\n\ntotals: 1234\n")
    assert tool["read_count"](dump) == 1234


def test_ratios_above_the_limit_fail(tool, tmp_path, capsys):
    path = tmp_path / "found.csv"
    before = {"hashing": 1000, "training": 1000}
    assert tool["write_counts"](before, {"hashing": 900, "training": 1030}, path, 1.03)
    assert not tool["write_counts"](before, {"hashing": 900, "training": 1031}, path, 1.03)
    with path.open(newline="") as file:
        assert list(csv.reader(file))[1:] == [
            ["hashing", "1000", "900", "0.9000"],
            ["training", "1000", "1031", "1.0310"],
        ]
    assert "training" in capsys.readouterr().out


def test_the_functions_of_callgrind_do_nothing_without_it(tool, tmp_path):
    if shutil.which("cc") is None or not Path("/usr/include/valgrind/callgrind.h").is_file():
        pytest.skip("needs a C compiler and the headers of valgrind")
    import ctypes

    library = ctypes.CDLL(str(tool["_library"](tmp_path)))
    library.begin()
    library.end()
