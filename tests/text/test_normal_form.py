"""Normal forms are those of Python, in linear time."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelsketch.text import Shingles
from kernelsketch.text._normal_form import STEP, normalized

# Marks of several classes, characters that become marks in some forms only, and letters with marks.
LETTERS = (
    "\u0300\u0301\u0327\u0345\u0344\u3099\uff9e\uff9f\u0f71\u0f73\u0f75\u0f81\u05b0\u0591\U0001d165"
    "a\u00e9\u1ebf\ufdfa\uac00\u1161"
)
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@given(st.data())
def test_as_python_does(data):
    some = data.draw(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=6))
    text = "".join(data.draw(st.lists(st.sampled_from(some), max_size=40))) * data.draw(st.integers(1, 20))
    for form in FORMS:
        assert normalized(text, form) == unicodedata.normalize(form, text)


@given(st.text())
def test_any_text(text):
    for form in FORMS:
        assert normalized(text, form) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
def test_marks_that_python_sorts_in_quadratic_time(form):
    """A million marks: one by one they would take minutes."""
    count = 500_000
    found = normalized("x" + "\u0301\u0327" * count, form)
    assert found == "x" + "\u0327" * count + "\u0301" * count


def test_runs_that_begin_anywhere():
    for begin in range(STEP):
        text = "a" * begin + "\u0301\u0327" * STEP + "b"
        assert normalized(text, "NFD") == unicodedata.normalize("NFD", text)


def test_shingles_of_marks():
    texts = ["x" + "\u0301\u0327" * 200_000, "x" + "\u0327\u0301" * 200_000]
    one, other = Shingles(3, analyzer="char", normalize="NFC").transform(texts)
    assert (one != other).nnz == 0
