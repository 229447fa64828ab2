"""The native core on an emulated arm64 processor: the bits of x86."""

import re
import shutil
import subprocess

import pytest

from helpers.native import build_core_test, check_core_test

COMPILER, OBJDUMP = shutil.which("aarch64-linux-gnu-g++"), shutil.which("aarch64-linux-gnu-objdump")
EMULATOR = shutil.which("qemu-aarch64")


@pytest.mark.slow
@pytest.mark.skipif(
    not (COMPILER and OBJDUMP and EMULATOR), reason="needs the packages g++-aarch64-linux-gnu and qemu-user"
)
def test_the_core_with_neon(tmp_path):
    objects = build_core_test([COMPILER, "-O2", "-static"], {"baseline": []}, tmp_path / "core_test", "arm64")
    check_core_test([EMULATOR, str(tmp_path / "core_test")])

    # The hash: fused multiply-adds of four lanes, sixteen hashes being four of them, and none of a single number.
    hashing = [path for path in objects if path.name.startswith(("gcws_baseline-", "gcws_bounds_baseline-"))]
    assert len(hashing) == 2
    for path in hashing:
        code = subprocess.run([OBJDUMP, "-d", str(path)], capture_output=True, text=True, check=True).stdout
        assert len(re.findall(r"\tfml[as]\tv\d+\.4s", code)) >= 100
        assert not re.search(r"\tfn?m(add|sub)\t", code)
