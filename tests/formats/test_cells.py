"""Native code reads CSV as Python does: numbers, labels, errors and blocks are the same."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelsketch.exceptions import InputError
from kernelsketch.formats import _csv, _native_text, open_rows

NATIVE, PYTHON = True, False
LIMITS = [
    "3.4028234e38",
    "3.4028235677973365e38",
    "1e-400",
    "16777217",
    "16777217.0000001",
    "0.12345678901234567890123456789",
]
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from([*LIMITS, "+.5", "5.", "-0", "1E5", "007", "0" * 999]),
)
WORDS = st.sampled_from(["no", "yes", "a b", "caf\u00e9", "\u65e5\u672c", " x", "1", "-2.5"])
NOT_NUMBERS = ["nan", "inf", "1_0", "\u0663", "x", "?", "1,2", "1;2", "\ufeff1", "\x00"]
TOO_LARGE = ["1e999", "3.5e38", "-3.4028235677973367e38"]
BLANKS = ["", " ", "1 2", "1\t", "\xa0", "\x1f"]
QUOTES = ['"1', '1"', '"1"x', '"1""2"', '"1\n2"', '"\n3"', '"a\r\nb"', '"a\rb"', ' "1"', '""', '"a;b,c\td e"']
LONG = ["y" * 1001, "\u00e9" * 600, "0" * 1001, "1" * 140_000]
ODD_CELLS = [*NOT_NUMBERS, *TOO_LARGE, *BLANKS, *QUOTES, *LONG]


def quoted(cell):
    return f'"{cell}"'


@st.composite
def tables(draw):
    """A text and how to read it: mostly ordinary, with a few places that are not."""
    width = draw(st.integers(1, 4))
    label = draw(st.none() | st.integers(0, width - 1)) if width > 1 else None
    others = [column for column in range(width) if column != label]
    drop = draw(st.none() | st.sets(st.sampled_from(others), max_size=len(others) - 1)) if len(others) > 1 else None
    text_labels = draw(st.sampled_from([None, True, False]))
    delimiter = draw(st.sampled_from([",", ",", ",", ";", "\t", " ", "|", "\u00a7", "e", "."]))
    labels = WORDS if draw(st.booleans()) and text_labels is not False else NUMBERS
    padded = NUMBERS | NUMBERS.map(" {} ".format) | NUMBERS.map(quoted) if draw(st.booleans()) else NUMBERS
    rows = [
        [
            draw(labels | labels.map(quoted) if j == label else WORDS | padded if j in (drop or ()) else padded)
            for j in range(width)
        ]
        for _ in range(draw(st.integers(1, 12)))
    ]
    for _ in range(draw(st.integers(0, 2))):
        row = draw(st.sampled_from(rows))
        change = draw(st.sampled_from(["cell", "cell", "cell", "more", "fewer"]))
        if change == "cell" and row:
            row[draw(st.integers(0, len(row) - 1))] = draw(st.sampled_from(ODD_CELLS))
        elif change == "more":
            row.append("1")
        elif row:
            row.pop()
    if draw(st.booleans()):
        rows.insert(0, ["n", '"o, p"', "q", '"r ""s"""'][:width])
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    ends = [draw(st.sampled_from([end] * 8 + ["\n\n", "\r\n\r\n", "\n \n", "\r", "\n\r"])) for _ in rows]
    text = "".join(delimiter.join(row) + end for row, end in zip(rows, ends, strict=True)).encode()
    if draw(st.booleans()):
        text = text.removesuffix(b"\n")
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from([b"\xff", b"\xc3", b"\xe6\x97"])) + text[at:]
    return (b"\xef\xbb\xbf" if draw(st.booleans()) else b"") + text, {
        "label": label,
        "drop": sorted(drop or ()),
        "delimiter": delimiter,
        "text_labels": text_labels,
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
        "header": draw(st.sampled_from([None, None, True, False])),
    }


def outcome(native, text, **options):
    """Blocks, as bytes and lists, and the error; without native code no line is ordinary, and Python reads them all."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        if not native:
            patch.setattr(_csv, "parse_csv", lambda *_: _native_text.CsvTaken(0, 0, 0))
        try:
            for X, y in open_rows(io.BytesIO(text), format="csv", **options):
                found.append((X.shape, X.tobytes(), None if y is None else (y.dtype, y.tolist())))
        except InputError as error:
            return found, str(error)
    return found, None


@settings(max_examples=600)
@given(tables(), st.sampled_from([1, 30, 1 << 20]), st.sampled_from([1, 5, 40, 1 << 16]))
def test_native_code_and_python(table, block_bytes, chunk):
    text, options = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_csv, "_LEAST_CHUNK", chunk)
        patch.setattr(_csv, "_CHUNK", chunk)
        ours = outcome(NATIVE, text, block_bytes=block_bytes, **options)
        assert ours == outcome(PYTHON, text, block_bytes=block_bytes, **options)
        if options["label"] is None or options["text_labels"] is not None:  # else the first rows of a block decide
            assert ours[1] == outcome(NATIVE, text, block_bytes=8, **options)[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"label": 1, "text_labels": False}, {"label": 1, "text_labels": True}])
def test_a_cell_that_is_odd(options, dtype):
    for cell in [*ODD_CELLS, *LIMITS]:
        text = f"1,2,3\n1,2,3\n1,{cell},3\n1,2,3\n1,2,3\n".encode()
        found = [outcome(reader, text, header=False, dtype=dtype, **options) for reader in (NATIVE, PYTHON)]
        assert found[0] == found[1], cell[:40]


@pytest.fixture
def taken(monkeypatch):
    """Counts of rows that native code takes."""
    counts = []

    def counting(*arguments):
        found = _native_text.parse_csv(*arguments)
        counts.append(found.rows)
        return found

    monkeypatch.setattr(_csv, "parse_csv", counting)
    return counts


@pytest.mark.parametrize(
    ("line", "options", "by_python"),
    [
        ("1.5,2,-3e-5\n", {}, 1),
        ("1.5,2,-3e-5\r\n", {}, 1),
        (" 1.5 ,\t2,-3e-5\n\n", {}, 1),
        ('"1.5","2"," 3"\n', {}, 1),
        ("1.5,2,yes\n", {"label": 2}, 1),
        ('1.5,"yes, it is",2\n', {"label": 1, "text_labels": True}, 1),
        ("1.5\t2\tyes\n", {"label": -1, "delimiter": "\t"}, 1),
        ("1.5 2 7\n", {"label": 0, "delimiter": " "}, 1),
        ("1.5\u00a72\n", {"delimiter": "\u00a7"}, 5000),
        ('1.5,2,"say ""yes"""\n', {"label": 2}, 5000),
        ("1.5,2\r", {}, 5000),
    ],
)
def test_ordinary_lines_are_native(taken, line, options, by_python):
    blocks = list(open_rows(io.BytesIO(line.encode() * 5000), format="csv", header=False, **options))
    assert sum(len(block.X) for block in blocks) == 5000
    assert sum(taken) == 5000 - by_python


def test_native_code_goes_on_after_an_odd_line(taken):
    lines = ["1,2,no\n"] * 50_000
    for k in range(999, 50_000, 1000):
        lines[k] = '1,2,"say ""no"""\n'
    text = "".join(lines).encode()
    options = {"label": 2, "text_labels": True, "header": False}
    assert outcome(NATIVE, text, **options) == outcome(PYTHON, text, **options)
    assert sum(taken) > 49_000
    assert sum(taken) <= 50_000 - 50


@pytest.mark.parametrize("odd", [None, '5,6,"a\nb"\n', "5,6\n", "5,nan,c\n", "5,6, \n", b"5,6,\xff\n"])
@pytest.mark.parametrize("label", [{"label": 2, "text_labels": True}, {"label": 0}])
def test_threads(odd, label):
    """Parts of a text, with blank lines among them, and a line that is not ordinary in the middle."""
    numbers = np.random.default_rng(0).normal(size=120_000)
    name = "" if label["label"] == 0 else "name"
    lines = [f"{k},{number:.6g},{name}{k % 7}\n".encode() for k, number in enumerate(numbers)]
    lines[::3] = [line + b"\n" for line in lines[::3]]
    if odd is not None:
        lines.insert(70_001, odd if isinstance(odd, bytes) else odd.encode())
    text = b"".join(lines)
    expected = outcome(NATIVE, text, n_jobs=1, header=False, **label)
    for n_jobs, block_bytes in [(2, 1 << 26), (3, 1 << 20), (8, 1_000_003)]:
        found = outcome(NATIVE, text, n_jobs=n_jobs, header=False, block_bytes=block_bytes, **label)
        assert found[1] == expected[1]
        if odd is None:
            assert b"".join(block[1] for block in found[0]) == expected[0][0][1]
            assert [label for block in found[0] for label in block[2][1]] == expected[0][0][2][1]


def test_the_first_error_in_the_order_of_rows():
    """Of a row: how many cells it has, then the features, then the label."""
    faults = {"1,x,3": "column 2: 'x'", "1,2": "has 2 cells", "1,2,y": "label 'y'", "1,2, ": "label is missing"}
    for first, what in faults.items():
        for second in faults:
            text = f"1,2,3\n{first}\n{second}\n".encode()
            for reader in (NATIVE, PYTHON):
                error = outcome(reader, text, label=2, header=False, text_labels=False)[1]
                assert "line 2" in error
                assert what in error
    assert "column 2: 'x'" in outcome(NATIVE, b"1,2,3\n1,x, \n", label=2, header=False)[1]


def test_float32_is_rounded_once():
    """Decimals next to the middle of two floats, closer than a float64 can tell."""
    below, above = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    middle = "1.000000059604644775390625"  # 1 + 2^-24
    text = f"{middle}\n{middle}0\n{middle}{'0' * 20}1\n".encode()
    for reader in (NATIVE, PYTHON):
        ((_, found, _),) = outcome(reader, text, header=False, dtype=np.float32)[0]
        assert np.frombuffer(found, np.float32).tolist() == [below, below, above]


def test_the_place_of_bytes_that_are_not_text():
    """By line, wherever the file is cut to be read."""
    text = b"1,2,a\n" * 30_000 + b"1,2,\xff\n" + b"1,2,a\n" * 30_000
    for reader in (NATIVE, PYTHON):
        error = outcome(reader, text, label=2)[1]
        assert "line 30001, byte 5: 0xff is not UTF-8 (invalid start byte)" in error
        assert "encoding='latin-1'" in error


@given(st.lists(st.sampled_from([b"", b"a", b"b", b"ab", b"\xff", b"a\x00"]), max_size=20))
def test_distinct_texts(texts):
    text = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.cumsum([0, *map(len, texts)])
    at = np.stack([ends[:-1], ends[1:]], axis=1).astype(np.int64)
    places, numbers = _native_text.distinct_texts(text, at)
    known = [text[begin:end].tobytes() for begin, end in places.tolist()]
    assert known == list(dict.fromkeys(texts))
    assert [known[k] for k in numbers] == texts
