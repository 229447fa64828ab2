"""The native core under the address and undefined-behaviour sanitizers, on every instruction set."""

import platform
import shutil
import subprocess

import pytest

from helpers.native import FLAGS, ONE_LANE, build_core_test, check_core_test

COMPILER = shutil.which("c++")


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("baseline", [[], ONE_LANE], ids=["vectors", "one lane"])
def test_the_core_under_sanitizers(tmp_path, baseline, monkeypatch):
    # With fake stack frames, code of GCC 13 stores AVX-512 registers to frames that are aligned for AVX2 (GCC 110027).
    monkeypatch.setenv("ASAN_OPTIONS", "detect_stack_use_after_return=0")
    command = [COMPILER, "-O1", "-g1", "-fno-sanitize-recover=all", "-fsanitize=address,undefined"]
    probe = tmp_path / "probe.cpp"
    probe.write_text("int main() {}")
    if subprocess.run([*command, str(probe), "-o", str(tmp_path / "probe")], capture_output=True).returncode:
        pytest.skip("this compiler has no sanitizers")
    isas = {**(FLAGS if platform.machine() in ("x86_64", "AMD64") else {}), "baseline": baseline}
    build_core_test(command, isas, tmp_path / "core_test", "sanitizers")
    check_core_test([str(tmp_path / "core_test")])
