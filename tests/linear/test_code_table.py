"""Compacted codes: numbers without gaps, codes that are not known, tables that widen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelsketch import _validation, backends
from kernelsketch.exceptions import InputError
from kernelsketch.hashing import Hasher, PackedCodes
from kernelsketch.linear._code_table import find_used_codes, table_of
from kernelsketch.linear._training import widen
from kernelsketch.reference.pack import code_dtype
from kernelsketch.serving import encode, stride_of


def packed_of(codes, width, empty=None):
    n, k = codes.shape
    packed = backends.backend_for().pack(np.ascontiguousarray(codes.astype(code_dtype(width))), width)
    empty = np.zeros(n, bool) if empty is None else empty
    return PackedCodes(packed, empty, Hasher(k, 0, min(width, 16), max(width - 16, 0)))


@given(
    width=st.integers(1, 20),
    n=st.integers(1, 30),
    k=st.integers(1, 9),
    size=st.integers(1, 300),
    seed=st.integers(0, 99),
)
def test_numbers_stand_for_codes(width, n, k, size, seed):
    rng = np.random.default_rng(seed)
    some = rng.choice(1 << width, min(size, 1 << width), replace=False)
    codes = rng.choice(some, (n, k))
    given_codes = packed_of(codes, width)
    before = given_codes.packed.copy()
    np.testing.assert_array_equal(find_used_codes(given_codes), np.unique(codes))
    table = table_of(given_codes)
    np.testing.assert_array_equal(given_codes.packed, before)
    assert table.codes.dtype == (np.uint8 if len(table.used_codes) <= 255 or width <= 8 else np.uint16)
    assert table.codes.flags.c_contiguous
    assert table.codes.max() < len(table.used_codes) <= stride_of(len(table.used_codes))
    np.testing.assert_array_equal(table.used_codes[table.codes], codes)
    in_place = table_of(replace(given_codes, packed=before.copy()), owned=True)
    np.testing.assert_array_equal(in_place.codes, table.codes)

    others = rng.integers(0, 1 << width, (n, k))
    found, unknown = encode(packed_of(others, width), table.used_codes)
    known = np.isin(others, table.used_codes)
    assert unknown == (not known.all())
    np.testing.assert_array_equal(table.used_codes[found[known]], others[known])
    assert (found[~known] == len(table.used_codes)).all()


@pytest.mark.parametrize("size", [255, 256, 257, 65535, 65536])
@pytest.mark.parametrize("width", [8, 9, 16, 17])
def test_used_codes_that_fill_their_type(size, width):
    if size > 1 << width:
        pytest.skip("there are no so many codes")
    codes = packed_of(np.arange(size).reshape(-1, 1), width)
    if size == 65536 and width > 16:
        with pytest.raises(InputError, match="takes at most 65535"):
            table_of(codes)
        return
    table = table_of(codes)
    np.testing.assert_array_equal(table.codes[:, 0], np.arange(size))
    last = packed_of(np.array([[(1 << width) - 1]]), width)
    found, unknown = encode(last, table.used_codes)
    assert unknown == (size < 1 << width)
    assert found[0, 0] == (size if unknown else size - 1)


def test_too_many_codes():
    codes = packed_of(np.arange(70_000).reshape(-1, 10), 17)
    with pytest.raises(InputError, match=r"70000 different codes occur with bits=16 and t_bits=1.*use fewer bits"):
        table_of(codes)


def test_nothing_is_copied_where_codes_have_no_gaps():
    codes = packed_of(np.arange(200).reshape(50, 4), 8)
    assert np.shares_memory(table_of(codes).codes, codes.packed)
    codes = packed_of(np.arange(400).reshape(100, 4), 16)
    assert np.shares_memory(table_of(codes).codes, codes.packed)
    gaps = packed_of(2 * np.arange(100).reshape(25, 4), 8)
    assert not np.shares_memory(table_of(gaps).codes, gaps.packed)
    assert np.shares_memory(table_of(gaps, owned=True).codes, gaps.packed)


def test_codes_in_steps(monkeypatch):
    codes = packed_of(np.random.default_rng(0).integers(0, 5000, (100, 7)), 13)
    whole = table_of(codes)
    monkeypatch.setattr(_validation, "STEP_BYTES", 200)
    np.testing.assert_array_equal(table_of(codes).codes, whole.codes)


def test_strides_fill_registers():
    assert [stride_of(size) for size in (1, 16, 17, 32, 33, 64, 65, 256)] == [16, 16, 32, 32, 64, 64, 65, 256]


def test_tables_widen():
    rng = np.random.default_rng(0)
    old = np.array([3, 7, 9])
    new = np.array([1, 3, 7, 8, 9, *range(20, 40)])
    w = np.zeros((2, 4, 16), np.float32)
    w[:, :, :3] = rng.normal(size=(2, 4, 3))
    wide = widen(w, old, new)
    assert wide.shape == (2, 4, 32)
    np.testing.assert_array_equal(wide[:, :, [1, 2, 4]], w[:, :, :3])
    assert np.count_nonzero(wide) == np.count_nonzero(w)
