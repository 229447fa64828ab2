"""Numbers and lines of text: what they are, and native code equal to the reference."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers import libsvm as reference
from kernelsketch._rounding import nearest_float
from kernelsketch.formats._native_text import Texts, numbers_as_text, rows_as_text


def written(values):
    """Texts of numbers, on which native code and the reference agree."""
    found = numbers_as_text(values)
    assert len(found.ends) == len(values) + 1
    assert found.to_list() == reference.numbers(values)
    return found.to_list()


def lines(heads, qid, indptr, ids, values, base):
    indptr, ids = np.array(indptr, np.int64), np.array(ids, np.int64)
    groups = None if qid is None else np.array(qid, np.int64)
    found = rows_as_text(Texts.of(heads), groups, indptr, ids, values, base).tobytes()
    assert found == reference.lines(heads, groups, indptr, ids, values, base)
    return found.decode()


def read_back(texts, values):
    """Each text reads as its value, and no shorter text would: one digit less gives another number."""
    for text, value in zip(texts, values, strict=True):
        back = nearest_float(text, value.dtype)
        assert back == value
        assert np.signbit(back) == np.signbit(value)
        digits = len(text.lower().split("e")[0].lstrip("-0.").replace(".", "").rstrip("0"))
        if digits > 1:
            assert nearest_float(f"{float(value):.{digits - 2}e}", value.dtype) != value or _is_power_of_two(value)


def _is_power_of_two(value):
    return abs(np.frexp(value)[0]) == 0.5  # floats below it are closer: the nearest text may not read as it


@pytest.mark.parametrize(
    ("dtype", "cases"),
    [
        (
            np.float64,
            "0 -0 1 -2 0.5 0.1 0.0001 1e-05 9.999e-05 0.00012345678901234567 1234567.5 1000000 123456789.25 "
            "9007199254740992 9999999999999998 1e+16 1.2345678901234568e+17 1e+22 1e+100 5e-324 "
            "2.2250738585072014e-308 1.7976931348623157e+308 5.684341886080802e-14 nan inf -inf",
        ),
        (
            np.float32,
            "0 -0 1 -2 0.5 0.1 0.0002 1e-04 1e-05 999999 999999.94 1e+06 1.6777216e+07 1e+16 1e-45 1.1754944e-38 "
            "3.4028235e+38 0.00012345679 nan inf -inf",
        ),
    ],
)
def test_numbers(dtype, cases):
    cases = cases.split()
    assert written(np.array([float(case) for case in cases]).astype(dtype)) == cases


def test_whole_numbers():
    assert written(np.array([0, -1, 2**63 - 1, -(2**63)])) == ["0", "-1", str(2**63 - 1), str(-(2**63))]
    assert written(np.array([0, 2**64 - 1], np.uint64)) == ["0", str(2**64 - 1)]
    assert written(np.array([], np.float64)) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_and_their_neighbours(dtype):
    limits = np.finfo(dtype)
    twos = np.ldexp(dtype(1), np.arange(limits.minexp - limits.nmant, limits.maxexp))
    assert twos.dtype == dtype
    assert twos[0] == limits.smallest_subnormal
    tens = np.array([f"1e{e}" for e in range(-46 if dtype == np.float32 else -324, 39)], dtype)
    values = np.concatenate([twos, tens, [limits.max, limits.tiny]])
    values = np.concatenate([values, np.nextafter(values, dtype(0)), -np.nextafter(values, limits.max)])
    read_back(written(values), values)


@settings(max_examples=300)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
def test_any_bits(patterns):
    words = np.array(patterns, np.uint64)
    for values in (words.view(np.float64), words.view(np.float32), words, words.view(np.int64)):
        written(values)
        finite = values[np.isfinite(values)]
        if values.dtype.kind == "f":
            read_back(written(finite), finite)


@given(st.integers(1, 10**17), st.integers(0, 20), st.sampled_from([0, 1, -1]))
@example(10**15 - 1, 8, 0)
@example(10**15, 8, 1)
@example(99999999, 8, 0)
@example(10**4, 8, 0)
@example(10**4, 8, -1)
def test_decimals(digits, decimals, step):
    """Few decimals are written another way: those numbers, and their neighbours."""
    value = float(f"{digits}e-{decimals}")
    values = np.array([np.nextafter(value, step * np.inf) if step else value])
    assert written(values) == [repr(float(values[0])).removesuffix(".0")]
    written(values.astype(np.float32))


def test_many_at_random():
    """Of all magnitudes, and those that mostly occur; what is kept of the last number does not come again."""
    rng = np.random.default_rng(0)
    wide = np.abs(rng.normal(size=3000)) * 10.0 ** rng.uniform(-8, 18, 3000)
    for values in (wide, np.round(wide, 3), rng.integers(0, 3, 3000) / 2, rng.integers(2**53, 10**16, 3000) * 1.0):
        signed = values * rng.choice([-1, 1], len(values))
        for dtype in (np.float32, np.float64):
            written(signed.astype(dtype))
    written(np.array([0.0, -0.0, 0.0, np.nan, np.nan, -0.0]))


def test_lines():
    values = np.array([0.5, 2.0, -1.0])
    text = lines(["1", "-2.5", "kröte"], [3, -1, 2**62 - 1], [0, 2, 2, 3], [0, 2**62 - 1, 7], values, 1)
    assert text == f"1 qid:3 1:0.5 {2**62}:2\n-2.5\nkröte qid:{2**62 - 1} 8:-1\n"
    assert lines(["1", ""], None, [0, 0, 1], [0], values[:1], 0) == "1\n 0:0.5\n"
    assert lines([], None, [0], [], values[:0], 1) == ""


IDS = st.sets(st.integers(0, 2**62 - 1), max_size=5)
ROWS = st.lists(st.tuples(st.text(max_size=5), st.integers(-1, 2**62 - 1), IDS))


@given(ROWS, st.sampled_from(["f4", "f8", "i8", "u8"]), st.booleans(), st.sampled_from([0, 1]), st.data())
def test_native_equals_reference(rows, dtype, groups, base, data):
    heads, qid, ids = [row[0] for row in rows], [row[1] for row in rows], [sorted(row[2]) for row in rows]
    count = sum(map(len, ids))
    bits = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=count, max_size=count))
    values = np.array(bits, np.uint64)
    values = values.astype(np.uint32).view(dtype) if dtype == "f4" else values.view(dtype)
    indptr = np.cumsum([0, *map(len, ids)])
    text = lines(heads, qid if groups else None, indptr, [i for row in ids for i in row], values, base)
    assert text.count(":") >= count


def test_numbers_of_the_reference_are_as_before():
    """NumPy's own text of float32 where it is the same in all versions."""
    values = (np.random.default_rng(0).normal(size=2000) * 1000).astype(np.float32)
    assert reference.numbers(values) == [word.removesuffix(".0") for word in values.astype(np.str_).tolist()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": [0, 3]}, "not rows"),
        ({"indptr": [1, 2]}, "not rows"),
        ({"ids": [1]}, "not rows"),
        ({"head_ends": [0, 9]}, "heads"),
        ({"qid": [1, 2]}, "qid"),
        ({"base": 2}, "base"),
    ],
)
def test_native_code_refuses_what_does_not_fit(change, message):
    from kernelsketch import _native

    given = {"head_ends": [0, 1], "qid": [1], "indptr": [0, 2], "ids": [1, 2], "base": 1} | change
    arrays = {name: np.array(given[name], np.int64) for name in ("head_ends", "qid", "indptr", "ids")}
    heads = np.frombuffer(b"1", np.uint8)
    with pytest.raises(ValueError, match=message):
        _native.text_lines(heads=heads, values=np.ones(2), base=given["base"], **arrays)
