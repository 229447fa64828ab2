"""The native core under the address and undefined-behaviour sanitizers, on every instruction set."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.objects import compile_objects

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
FLAGS = {
    "baseline": [],
    "avx2": ["-mpopcnt", "-mavx2", "-mfma"],
    "avx512": ["-mpopcnt", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma"],
}
CHECKSUM = "5656acf8cf8dd348"  # of hash version 1, on every instruction set
FOURIER_CHECKSUM = "e75e8d41d25daa23"  # of version 1 of the Fourier features, likewise
COMPILER = shutil.which("c++")


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_the_core_under_sanitizers(tmp_path):
    sanitize = ["-std=c++20", "-O1", "-g1", "-fno-sanitize-recover=all", "-fsanitize=address,undefined"]
    common = [COMPILER, *sanitize, "-ffp-contract=off", "-I", str(NATIVE / "include")]
    probe = tmp_path / "probe.cpp"
    probe.write_text("int main() {}")
    if subprocess.run([*common, str(probe), "-o", str(tmp_path / "probe")], capture_output=True).returncode:
        pytest.skip("this compiler has no sanitizers")

    on_x86 = platform.machine() in ("x86_64", "AMD64")
    define = ["-DKERNELSKETCH_X86_SETS"] if on_x86 else []
    jobs = []
    for isa in FLAGS if on_x86 else ["baseline"]:
        for source in sorted((NATIVE / "src/isa").glob("*.cpp")):
            jobs.append((f"{source.stem}_{isa}", [*common, f"-DKERNELSKETCH_ISA={isa}", *FLAGS[isa]], source))
    for source in sorted([*(NATIVE / "src").glob("*.cpp"), *HERE.glob("*_test.cpp")]):
        jobs.append((source.stem, [*common, *define], source))
    headers = [path for folder in (NATIVE, HERE) for path in folder.rglob("*.h")]
    objects = compile_objects(jobs, headers, NATIVE.parent / "build" / "sanitizers")
    program = tmp_path / "core_test"
    subprocess.run([*common, *map(str, objects), "-pthread", "-o", str(program)], check=True)

    found = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.endswith(" 0 failures\n")
    checksums = {tuple(line.split()[1:]) for line in found.stdout.splitlines()[:-1]}
    assert checksums == {(CHECKSUM, FOURIER_CHECKSUM)}
