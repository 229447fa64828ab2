"""Safetensors files with a checksum: read by their library too, and refused when a byte is not as written."""

import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import load

from kernelsketch.exceptions import InputError
from kernelsketch.storage import _atomic, _container
from kernelsketch.storage._container import DTYPES, KEY, MAX_HEADER, read_container, stored_dtype, write_container


def written(tmp_path, tensors, header=None):
    path = tmp_path / "file.safetensors"
    write_container(path, header or {"format": "test"}, tensors)
    return path.read_bytes()


def read(content):
    return read_container(io.BytesIO(content), "file")


def with_header(entries, data=b""):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + data


@given(
    st.dictionaries(
        st.text(min_size=1).filter(lambda name: name != "__metadata__"),
        st.sampled_from(list(DTYPES.values())).flatmap(
            lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
        ),
        max_size=4,
    )
)
def test_round_trip_and_the_library(tmp_path_factory, tensors):
    content = written(tmp_path_factory.mktemp("tensors"), tensors, {"a": [1, "ü\ud800"]})
    header, found = read(content)
    assert header["a"] == [1, "ü\ud800"]
    for other in (found, load(content)):
        assert set(other) == set(tensors)
        for name, tensor in tensors.items():
            assert other[name].dtype == tensor.dtype
            assert other[name].shape == tensor.shape
            assert other[name].tobytes() == tensor.tobytes()


def test_the_same_content_is_the_same_file(tmp_path):
    one = written(tmp_path, {"a": np.arange(3), "b": np.ones(2, np.float32)})
    two = written(tmp_path, {"b": np.ones(2, np.float32), "a": np.arange(3).astype(">i8")})
    assert one == two


def test_types_that_are_not_stored():
    assert stored_dtype(np.float32) == np.float32
    assert all(stored_dtype(dtype) is None for dtype in (np.longdouble, "U3", object, "M8[s]", complex, bool))


def test_every_bit_and_every_length(tmp_path):
    content = written(tmp_path, {"a": np.arange(5), "b": np.ones((2, 2), np.float32)}, {"format": "test", "x": 1.5})
    read(content)
    for at in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            with pytest.raises((InputError, ValueError, KeyError, TypeError, AttributeError)):  # models wrap these
                read(bytes(damaged))
        with pytest.raises((InputError, ValueError)):
            read(content[:at])
    with pytest.raises(InputError, match="do not fill"):
        read(content + b"0")


def test_sizes_are_checked_before_anything_is_allocated():
    huge = 1 << 50
    metadata = {KEY: json.dumps({"sha256": "0" * 64})}
    for entry in (
        {"dtype": "F32", "shape": [huge], "data_offsets": [0, 4 * huge]},
        {"dtype": "F32", "shape": [huge, 0], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-2], "data_offsets": [8, 0]},
        {"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]},
        {"dtype": "U8", "shape": [1] * 1000, "data_offsets": [0, 1]},
        {"dtype": "U8", "shape": [4], "data_offsets": [4, 8]},
    ):
        with pytest.raises(InputError):
            read(with_header({"__metadata__": metadata, "a": entry}, bytes(8)))
    with pytest.raises(InputError, match="cut off"):
        read((1 << 60).to_bytes(8, "little") + b"{}")
    with pytest.raises(InputError, match="a header of"):
        read(with_header(b" " * (MAX_HEADER + 1)))


@pytest.mark.parametrize("metadata", [{}, {KEY: "[]"}, {KEY: "null"}, {"other": "{}"}])
def test_files_of_others(metadata):
    with pytest.raises(InputError, match="was not written by kernelsketch"):
        read(with_header({"__metadata__": metadata}))


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="NaN is not a number"):
        read(with_header({"__metadata__": {KEY: '{"a": NaN}'}}))


def test_a_file_without_a_checksum():
    with pytest.raises(InputError, match="checksum sha256 is missing"):
        read(with_header({"__metadata__": {KEY: "{}"}}))


def test_a_file_of_a_development_version():
    header = {"sha256": 64 * "0", "format": "kernelsketch.PackedCodes", "format_version": 1, "n_components": 30}
    with pytest.raises(InputError, match="checksum header_sha256 is missing"):
        read(with_header({"__metadata__": {KEY: json.dumps(header)}}))


def test_headers_have_a_limit(tmp_path):
    with pytest.raises(InputError, match="are allowed"):
        written(tmp_path, {}, {"long": "x" * MAX_HEADER})
    assert list(tmp_path.iterdir()) == []


def test_large_tensors_are_written_and_read_in_pieces(tmp_path, monkeypatch):
    """So that Ctrl-C does not wait for gigabytes; the file is the same."""
    tensors = {"a": np.arange(1000), "b": np.ones((7, 3), np.float32), "c": np.zeros((0, 3))}
    whole = written(tmp_path, tensors)
    pieces = []
    monkeypatch.setattr(_atomic, "PIECE_BYTES", 100)
    monkeypatch.setattr(_atomic, "LARGE_BYTES", 100)
    monkeypatch.setattr(_container, "pieces", lambda data: pieces.append(1) or _atomic.pieces(data))
    assert written(tmp_path, tensors) == whole
    assert len(pieces) == 3
    _, found = read(whole)
    assert len(pieces) == 6
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(found[name], tensor)
    with pytest.raises(InputError, match="cut off"):
        read(whole[:-1])
