"""The stub of the native module is the one that nanobind generates: `pytest --overwrite-golden` renews it."""

import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).parents[1] / "src/kernelsketch/_native.pyi"


def test_stub_is_current(tmp_path, request):
    pytest.importorskip("nanobind", reason="nanobind, which generates the stub, is not installed")
    made = tmp_path / "_native.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "kernelsketch._native", "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    if request.config.getoption("--overwrite-golden"):
        STUB.write_text(made.read_text())
    assert STUB.read_text() == made.read_text()
