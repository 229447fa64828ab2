"""Files of the program ``compress``."""

import shutil
import subprocess

import numpy as np
import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data._lzw import unlzw

from .packing import compress

TEXT = "".join(f"{k},{k * k % 97},{k % 7}.\n" for k in range(4_000)).encode()
CONTENTS = [b"", b"a", b"aaaaaaaaaaaaaaaaa", b"abababababab", TEXT, np.random.default_rng(0).bytes(3_000)]


@pytest.mark.parametrize("clear_after", [None, 300, 1000])
@pytest.mark.parametrize("widest", [9, 12, 16])
def test_what_was_packed_is_unpacked(widest, clear_after):
    for content in CONTENTS:
        assert unlzw(compress(content, widest, clear_after), 10**6, "x.Z") == content


@pytest.mark.skipif(shutil.which("gzip") is None, reason="gzip unpacks .Z files, too")
def test_gzip_agrees(tmp_path):
    path = tmp_path / "x.Z"
    for content in CONTENTS[1:]:
        path.write_bytes(compress(content))
        assert subprocess.run(["gzip", "-dc", path], capture_output=True, check=True).stdout == content


def test_what_is_no_such_file_is_refused():
    for content in (b"", b"\x1f\x9d", b"\x1f\x8b\x08" + b"0" * 50, b"\x1f\x9d\x85" + b"0" * 50, b"<html></html>"):
        with pytest.raises(InputError, match=r"x\.Z is not a file of the program compress"):
            unlzw(content, 10**6, "x.Z")


def test_a_word_that_does_not_exist():
    with pytest.raises(InputError, match=r"x\.Z is damaged: code 511"):
        unlzw(b"\x1f\x9d\x90" + b"\xff" * 20, 10**6, "x.Z")


def test_a_bomb_is_refused():
    packed = compress(bytes(2_000_000))
    assert len(packed) < 5000
    with pytest.raises(InputError, match=r"x\.Z unpacks to more than 1000000 bytes"):
        unlzw(packed, 1_000_000, "x.Z")
