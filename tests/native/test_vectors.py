"""Operations on vectors are exact or correctly rounded, with every instruction set that runs here."""

import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.native import FLAGS, NATIVE, ONE_LANE
from kernelsketch._native import supported_isas

COMPILER = shutil.which("c++")
ARM64, EMULATOR = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")
BUILDS = {name: (COMPILER, flags, []) for name, flags in {**FLAGS, "one lane": ONE_LANE}.items()}
BUILDS["arm64"] = (ARM64, ["-static"], [EMULATOR])


@pytest.mark.parametrize("name", BUILDS)
def test_vectors_equal_the_standard_library(name, tmp_path):
    compiler, flags, emulator = BUILDS[name]
    if compiler is None or None in emulator:
        pytest.skip("needs the packages g++-aarch64-linux-gnu and qemu-user" if emulator else "no C++ compiler")
    if name in FLAGS and name not in supported_isas():
        pytest.skip("this processor has other instruction sets")
    command = [compiler, *flags, "-std=c++20", "-O1", "-ffp-contract=off", "-DKERNELSKETCH_ISA=tested"]
    source, program = Path(__file__).with_name("vectors.cpp"), tmp_path / "vectors"
    include = ["-I", str(NATIVE), "-I", str(NATIVE / "include")]
    subprocess.run([*command, *include, str(source), "-o", str(program)], check=True)
    found = subprocess.run([*emulator, str(program)], capture_output=True, text=True, check=False)
    assert found.stdout == "0 differ\n"
