"""Where bytes come from, and what can happen to them."""

import bz2
import gzip
import io
import itertools
import lzma
import subprocess
import sys
import tracemalloc
import zlib

import numpy as np
import pytest

from kernelsketch.exceptions import InputError, InputTypeError, MissingExtraError
from kernelsketch.formats import _compressed, open_rows

from .conftest import change_while_reading

TEXT = "".join(f"{i % 2} 1:{i}.5 {i + 2}:0.25\n" for i in range(30_000)).encode()


def zstd(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def rows_of(source, **options):
    return sum(X.shape[0] for X, _ in open_rows(source, block_bytes=1 << 20, **options))


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files(tmp_path, ending):
    path = tmp_path / f"rows.libsvm{ending}"
    path.write_bytes(COMPRESS[ending](TEXT))
    assert rows_of(path) == rows_of(str(path)) == 30_000
    assert rows_of(io.BytesIO(path.read_bytes())) == 30_000  # by its first bytes
    path.write_bytes(2 * COMPRESS[ending](TEXT))  # files one after the other are one
    assert rows_of(path) == 60_000


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_truncated_compressed_files(tmp_path, ending, share):
    path = tmp_path / f"rows.libsvm{ending}"
    data = COMPRESS[ending](TEXT)
    path.write_bytes(data[: max(30, int(len(data) * share))])
    with pytest.raises(InputError, match=r"rows\.libsvm.*is truncated\. Get it again"):
        rows_of(path)


@pytest.mark.parametrize("ending", COMPRESS)
def test_damaged_compressed_files(tmp_path, ending):
    path = tmp_path / f"rows.libsvm{ending}"
    data = bytearray(COMPRESS[ending](TEXT))
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    path.write_bytes(data)
    with pytest.raises(InputError):
        rows_of(path)
    path.write_bytes(TEXT)
    with pytest.raises(InputError, match="its bytes are not compressed that way"):
        rows_of(path)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_text_that_expands_a_thousandfold(tmp_path, ending):
    """A block of rows and some megabytes are in memory, however little text they were."""
    path = tmp_path / f"rows.libsvm{ending}"
    path.write_bytes(COMPRESS[ending](b"1 1:1\n" * 10_000_000))
    tracemalloc.start()
    try:
        with open_rows(path, block_bytes=1 << 20) as stream:
            assert sum(X.shape[0] for X, _ in itertools.islice(stream, 5)) > 10_000
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_several_xz_streams_with_padding(tmp_path):
    path = tmp_path / "rows.libsvm.xz"
    path.write_bytes(lzma.compress(TEXT) + bytes(8) + lzma.compress(TEXT) + bytes(4))
    assert rows_of(path) == 60_000
    path.write_bytes(lzma.compress(TEXT) + b"more that is no stream")
    with pytest.raises(InputError, match=r"cannot be decompressed as \.xz"):
        rows_of(path)


def test_an_xz_file_that_asks_for_gigabytes(tmp_path):
    """Its header says how much memory the decompressor is to allocate."""
    data = bytearray(lzma.compress(TEXT))
    size = 4 * (data[12] + 1)  # of the header of the first block
    assert data[14:16] == b"\x21\x01"  # LZMA2, with a property of one byte
    data[16] = 38  # 2 GiB
    data[12 + size - 4 : 12 + size] = zlib.crc32(data[12 : 12 + size - 4]).to_bytes(4, "little")
    path = tmp_path / "rows.libsvm.xz"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"cannot be decompressed as \.xz: Memory usage limit exceeded"):
        rows_of(path)


@pytest.mark.parametrize("empty", [lambda: zstd(b""), lambda: b"\x50\x2a\x4d\x18" + bytes(4)])
def test_thousands_of_frames(tmp_path, monkeypatch, empty):
    """The library is looked for once; once a frame would take a hundred times as long."""
    path, asked = tmp_path / "rows.libsvm.zst", []
    path.write_bytes(zstd(TEXT) + empty() * 5000 + zstd(TEXT))
    find = _compressed._zstd
    monkeypatch.setattr(_compressed, "_zstd", lambda: asked.append(1) or find())
    assert rows_of(path) == 60_000
    assert len(asked) == 1


def test_zstd_without_its_library(tmp_path, monkeypatch):
    path = tmp_path / "rows.libsvm.zst"
    path.write_bytes(zstd(TEXT))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelsketch\[zstd\]'"):
        rows_of(path)


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("change", [-20, 20])
def test_a_file_that_changes_its_length(tmp_path, ending, change):
    path = tmp_path / f"rows.libsvm{ending}"
    path.write_bytes(gzip.compress(TEXT, 0) if ending else TEXT)  # longer than what Python reads ahead
    size = path.stat().st_size
    with pytest.raises(InputError, match=rf"changed while it was read: it had {size} bytes, now"):
        change_while_reading(path, change, block_bytes=4000)


def test_standard_input():
    code = "from kernelsketch.formats import open_rows; print(sum(X.shape[0] for X, _ in open_rows('-')))"
    done = subprocess.run([sys.executable, "-c", code], input=TEXT, capture_output=True, check=True)
    assert done.stdout == b"30000\n"


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_a_file_as_standard_input(tmp_path, name):
    (np.save if name == "x.npy" else np.savez)(tmp_path / name, np.ones((5, 2)))
    code = "from kernelsketch.formats import open_rows; print(sum(X.shape[0] for X, _ in open_rows('-')))"
    with (tmp_path / name).open("rb") as file:
        done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, check=True)
    assert done.stdout == b"5\n"


def test_words_that_look_compressed():
    (block,) = open_rows(io.BytesIO(b"BZh,b\n1,2\n"))
    assert block.X.tolist() == [[1, 2]]
    with open_rows(io.BytesIO(bz2.compress(b"")), format="libsvm") as stream:
        assert list(stream) == []


def test_sources_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv cannot be read: No such file"):
        open_rows(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read"):
        open_rows(tmp_path)
    with pytest.raises(InputTypeError, match="binary mode"):
        open_rows(io.StringIO("1 1:1\n"))
    with pytest.raises(InputTypeError, match="must be a path, '-' for standard input or a binary stream, got int"):
        open_rows(3)


def test_streams_of_others_stay_open(tmp_path):
    path = tmp_path / "rows.gz"
    path.write_bytes(gzip.compress(TEXT))
    with gzip.open(path) as file:
        assert rows_of(file) == 30_000
        assert not file.closed
    with path.open("rb") as file:
        assert rows_of(file) == 30_000
        assert not file.closed


def test_our_own_file_is_closed(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_bytes(TEXT)
    with open_rows(path) as stream:
        assert next(stream).X.shape[0] > 0
    assert list(stream) == []
    assert stream._source._raw.closed
