"""The grammar of LIBSVM text: examples, and native code equal to the reference."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelsketch._libsvm import ERRORS
from kernelsketch.formats import _native_text
from kernelsketch.reference import libsvm


def native(text, base=1, dtype=np.float64, threads=1):
    return _native_text.parse_libsvm(np.frombuffer(text, np.uint8), base, dtype, threads)


def same(text, base=1, dtype=np.float64, threads=1):
    """The rows, on which native code and the reference agree to the last bit."""
    expected, found = libsvm.parse(text, base, dtype), native(text, base, dtype, threads)
    assert found.fault == expected.fault
    if expected.fault is None:
        for name, a, b in zip(expected._fields, expected, found, strict=True):
            if isinstance(a, np.ndarray):
                assert a.dtype == b.dtype, name
                assert a.tobytes() == b.tobytes(), name
            else:
                assert a == b, name
    return expected


def rows(text, **options):
    found = same(text, **options)
    assert found.fault is None
    ends = found.indptr
    return [
        (found.labels[i], dict(zip(found.ids[a:b].tolist(), found.values[a:b].tolist(), strict=True)))
        for i, (a, b) in enumerate(itertools.pairwise(ends))
    ]


def fault(text, **options):
    found = same(text, **options).fault
    assert found is not None
    return found.kind, text[found.at : found.at + found.length], found.at


def test_rows():
    assert rows(b"1 1:2 3:4.5\n-1 2:1e-3\n") == [(1, {0: 2, 2: 4.5}), (-1, {1: 0.001})]
    assert rows(b"0 0:2 1:3\n", base=0) == [(0, {0: 2, 1: 3})]
    assert rows(b"7\n8 \t\n") == [(7, {}), (8, {})]
    assert rows(b"") == []


def test_comments_blank_lines_and_line_ends():
    assert rows(b"# all\r\n\r\n \t\n+1\t1:+2. # 9:9\r\n2 1:.5#x\n#\n") == [(1, {0: 2}), (2, {0: 0.5})]


def test_qid():
    found = same(b"1 qid:3 1:1\n1 1:1\n1 qid:0\n")
    assert found.qid.tolist() == [3, -1, 0]
    assert same(b"1 1:1\n").qid is None


def test_text_labels():
    found = same("1 1:1\nkr\u00f6te 1:2\n1,2 1:3\nnan\n1e999\n".encode())
    assert found.first_text == 1
    assert np.isnan(found.labels).tolist() == [False, True, True, True, True]


def test_rows_out_of_order_are_sorted():
    assert rows(b"1 9:1 2:2 5:3\n") == [(1, {1: 2, 4: 3, 8: 1})]
    assert same(b"1 9:1 2:2 5:3\n").ids.tolist() == [1, 4, 8]


def test_large_ids():
    text = b"1 1:1 %d:2\n" % (2**62 - 1)
    assert same(text).largest_id == 2**62 - 2
    assert same(text, base=0).largest_id == 2**62 - 1
    assert rows(b"1 000000000000000000000000007:1\n") == [(1, {6: 1})]


@pytest.mark.parametrize(
    ("line", "kind", "text"),
    [
        (b"1:2 3:4", "label_missing", b"1:2"),
        (b"a\0b 1:1", "label_character", b"\0"),
        (b"1\r 1:1", "label_character", b"\r"),
        (b"1 2", "pair", b"2"),
        (b"1 1:1 x", "pair", b"x"),
        (b"1 :5", "id", b":5"),
        (b"1 -3:5", "id", b"-3"),
        (b"1 1.0:5", "id", b"1.0"),
        (b"1 0:5", "id_small", b"0"),
        (b"1 4611686018427387904:5", "id_large", b"4611686018427387904"),
        (b"1 18446744073709551617:5", "id_large", b"18446744073709551617"),
        (b"1 %s:5" % (b"9" * 5000), "id_large", b"9" * 5000),
        (b"1 4:1 2:2 4:3 2:9", "id_repeated", b"4:3"),
        (b"1 2:1 2:2 x", "id_repeated", b"2:2"),
        (b"1 qid:1 3:1 3:1 2:x", "id_repeated", b"3:1"),
        (b"1 2:1 qid:3", "qid_place", b"qid:3"),
        (b"1 qid:3 qid:3", "qid_place", b"qid:3"),
        (b"1 qid:-3", "qid", b"qid:-3"),
        (b"1 qid:", "qid", b"qid:"),
        (b"1 1: 5", "value_missing", b"1:"),
        (b"1 1:#5", "value_missing", b"1:"),
        (b"1 1:five", "value", b"five"),
        (b"1 1:1:1", "value", b"1:1"),
        (b"1 1:0x1p3", "value", b"0x1p3"),
        (b"1 1:1_000", "value", b"1_000"),
        (b"1 1:1e", "value", b"1e"),
        (b"1 1:.", "value", b"."),
        (b"1 1:-NaN", "value_nan", b"-NaN"),
        (b"1 1:inf", "value_infinite", b"inf"),
        (b"1 1:+Infinity", "value_infinite", b"+Infinity"),
        (b"1 1:1e309", "value_large", b"1e309"),
        (b"1 1:-1e99999999999999999999999", "value_large", b"-1e99999999999999999999999"),
    ],
)
def test_faults(line, kind, text):
    for before in (b"", b"1 1:1\r\n# comment\n"):
        found, what, at = fault(before + line + b"\n3 x\n")
        assert (found, what) == (kind, text)
        assert at >= len(before)


def test_numbers_are_correctly_rounded():
    cases = {
        "0.1": 0.1,
        "1e-400": 0.0,
        "0e999999999999": 0.0,
        "4.9e-324": 5e-324,
        "2.4703282292062327e-324": 0.0,
        "9007199254740993": 9007199254740992.0,
        "9007199254740993.00000000000000000000000000000000001": 9007199254740994.0,
        "123456789012345678901234567890e-30": 0.12345678901234568,
        "0.000000000000000000000000000000000000001e39": 1.0,
        "1" + "0" * 400 + "e-400": 1.0,
    }
    for text, value in cases.items():
        assert rows(f"1 1:{text}\n".encode()) == [(1, {0: value})], text
        same(f"1 1:-{text}\n".encode(), dtype=np.float32)
    assert fault(b"1 1:3.4028236e38\n", dtype=np.float32)[0] == "value_large"
    edge = b"340282356779733661637539395458142568448"  # where numbers round to 2^128
    assert fault(b"1 1:%s\n" % edge, dtype=np.float32)[0] == "value_large"
    below = rows(b"1 1:-%s7.9999\n" % edge[:-1], dtype=np.float32)
    assert below == [(1, {0: -float(np.finfo(np.float32).max)})]


@given(st.integers(0, 2**24), st.integers(-160, 100), st.integers(-3, 3))
@example(2**23 + 1, -20, 1)
def test_float32_is_rounded_once(mantissa, exponent, nudge):
    """Halfway between two floats, and next to it by less than float64 can tell."""
    halfway = (Fraction(2 * mantissa + 1, 2)) * Fraction(2) ** exponent
    digits = halfway.numerator * 10**200 // halfway.denominator + nudge
    text = f"{digits}e-200".encode()
    same(b"1 1:%s 2:-%s\n" % (text, text), dtype=np.float32)
    same(b"1 1:%s\n" % text)


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.9g}"),
    st.from_regex(r"\A[+-]?(\d{1,25}(\.\d{0,25})?|\.\d{1,25})([eE][+-]?\d{1,3})?\Z").filter(str.isascii),
    st.sampled_from(["nan", "inf", "", "1e", "0x1", "1e999", "-0", "1:1", "."]),
)
IDS = st.one_of(
    st.integers(0, 12).map(str), st.integers(0, 2**63).map(str), st.sampled_from(["qid", "", "a", "007", "-1"])
)
TOKENS = st.one_of(st.tuples(IDS, NUMBERS).map(":".join), st.sampled_from(["qid:1", "x", "#", "\r", "\0", "é"]))
LABELS = st.one_of(st.sampled_from(["1", "-1", "+1", "a", "1:1", "#", "nan", ""]), NUMBERS)
LINES = st.tuples(LABELS, st.lists(TOKENS, max_size=6), st.sampled_from(["\n", "\r\n", " \n", "#:\n"])).map(
    lambda parts: " ".join([parts[0], *parts[1]]) + parts[2]
)


@settings(max_examples=300)
@given(st.lists(LINES, max_size=5), st.sampled_from([0, 1]), st.sampled_from([np.float32, np.float64]))
def test_native_equals_reference(lines, base, dtype):
    same("".join(lines).encode(), base, dtype)


@given(st.binary(max_size=60))
def test_native_equals_reference_on_any_bytes(text):
    same(text + b"\n", 0)


def test_threads_change_nothing():
    """Parts are of 256 KiB at least; comments leave gaps between them, which are closed."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(40_000):
        pairs = " ".join(f"{k}:{v:.4g}" for k, v in zip((1, 5, 9, 30), rng.normal(size=4), strict=True))
        lines.append(f"{i % 3} {'qid:5 ' if i % 7 == 0 else ''}{pairs}{' # a:b:c' if i % 5 == 0 else ''}\n")
        if i % 11 == 0:
            lines.append("# comment: none\n\n")
    text = "".join(lines).encode()
    one = native(text)
    for threads in (2, 3, 8):
        more = native(text, threads=threads)
        assert all(np.array_equal(a, b) for a, b in zip(one, more, strict=True))
    for at in (10, 30_000, 39_990):
        broken = "".join([*lines[:at], "1 1:x\n", *lines[at:-3], "1 y\n", *lines[-3:]]).encode()
        assert native(broken, threads=4).fault == native(broken).fault
    text = text.replace(b"2 1:", b"two 1:")
    assert native(text, threads=4).first_text == native(text).first_text == 2


def test_errors_are_named():
    assert len(ERRORS) == len(set(ERRORS)) == 15
