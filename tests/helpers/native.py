"""The program of tests/native, made of the native core by any compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path

from helpers.objects import compile_objects

TESTS = Path(__file__).parents[1] / "native"
NATIVE = TESTS.parents[1] / "native"
FLAGS = {  # of the instruction sets, as in CMakeLists.txt
    "baseline": [],
    "avx2": ["-mpopcnt", "-mavx2", "-mfma"],
    "avx512": ["-mpopcnt", "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma"],
}
ONE_LANE = ["-DKERNELSKETCH_ONE_LANE"]  # instead of the baseline: what processors without a set of ours run
CHECKSUM = "5656acf8cf8dd348"  # of hash version 1, on every instruction set
FOURIER_CHECKSUM = "e75e8d41d25daa23"  # of version 1 of the Fourier features, likewise


def build_core_test(command: list[str], isas: dict[str, list[str]], program: Path, folder: str) -> list[Path]:
    """Make ``program`` of the core for instruction sets with these flags; return the objects of one set.

    Objects stay in ``build/folder`` until what they are made of changes.
    """
    common = [*command, "-std=c++20", "-ffp-contract=off", "-I", str(NATIVE), "-I", str(NATIVE / "include")]
    define = ["-DKERNELSKETCH_X86_SETS"] if len(isas) > 1 else []
    jobs = [
        (
            f"{source.stem}_{isa}{'_one_lane' * (flags == ONE_LANE)}",
            [*common, f"-DKERNELSKETCH_ISA={isa}", *flags],
            source,
        )
        for isa, flags in isas.items()
        for source in sorted((NATIVE / "src/isa").glob("*.cpp"))
    ]
    of_sets = len(jobs)
    for source in sorted([*(NATIVE / "src").glob("*.cpp"), *TESTS.glob("*_test.cpp")]):
        jobs.append((source.stem, [*common, *define], source))
    headers = [path for folder in (NATIVE, TESTS) for path in folder.rglob("*.h")]
    objects = compile_objects(jobs, headers, NATIVE.parent / "build" / folder)
    subprocess.run([*common, *map(str, objects), "-pthread", "-o", str(program)], check=True)
    return objects[:of_sets]


def check_core_test(command: list[str]) -> None:
    """Run the program: no failure, and on every instruction set the checksums that all of them have."""
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert found.stdout.endswith(" 0 failures\n")
    checksums = {tuple(line.split()[1:]) for line in found.stdout.splitlines()[:-1]}
    assert checksums == {(CHECKSUM, FOURIER_CHECKSUM)}
