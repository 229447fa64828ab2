"""Training and test rows."""

import numpy as np
import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data import Entry
from kernelsketch_paper.data._splits import OFFICIAL, OFFICIAL_TEST, RANDOM, WITHIN_TRAINING, split_rows

IS_TEST = np.arange(100) % 4 == 0


def made(split, n_train=None, n_test=None, name="Toy"):
    return Entry(name, "", "other", False, split, n_train=n_train, n_test=n_test)


@pytest.mark.parametrize(
    ("rule", "n_train", "n_test"), [(RANDOM, 30, 50), (WITHIN_TRAINING, 40, 30), (OFFICIAL_TEST, 20, 25)]
)
def test_draws(rule, n_train, n_test):
    toy = made(rule, n_train, n_test)
    draws = [split_rows(toy, 100, IS_TEST, split) for split in range(5)]
    for train, test in draws:
        assert (len(train), len(test)) == (n_train, n_test)
        assert train.dtype == test.dtype == np.int64
        assert not set(train) & set(test)
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()
        if rule != RANDOM:
            assert not IS_TEST[train].any()
        if rule == OFFICIAL_TEST:
            np.testing.assert_array_equal(test, np.flatnonzero(IS_TEST))
    assert len({train.tobytes() for train, _ in draws}) == 5
    again = split_rows(toy, 100, IS_TEST, 3)
    np.testing.assert_array_equal(again[0], draws[3][0])


def test_draws_stay_the_same():
    """Of NumPy's versions too: stored once, for ever."""
    train, _ = split_rows(made(RANDOM, 5, 5), 100, None, 0)
    assert train.tolist() == [35, 40, 42, 65, 78]
    other, _ = split_rows(made(RANDOM, 5, 5, name="Toy2"), 100, None, 0)
    assert other.tolist() != train.tolist()


def test_draws_are_uniform():
    """Each of 100 rows is in training with probability 0.3: chi-squared of 99 degrees; false alarms below 1e-6."""
    count = np.zeros(100)
    for split in range(2000):
        count[split_rows(made(RANDOM, 30, 50), 100, None, split)[0]] += 1
    chi = ((count - 600) ** 2 / (600 * 0.7)).sum() * 99 / 100
    assert chi < 181


def test_halves_and_the_official_split():
    train, test = split_rows(made(RANDOM), 101, None, 0)
    assert (len(train), len(test)) == (51, 50)
    train, test = split_rows(made(OFFICIAL, 75, 25), 100, IS_TEST, 0)
    np.testing.assert_array_equal(test, np.flatnonzero(IS_TEST))
    np.testing.assert_array_equal(train, np.flatnonzero(~IS_TEST))


@pytest.mark.parametrize(
    ("toy", "is_test", "split", "sentence"),
    [
        (made(OFFICIAL), None, 0, "has no array 'is_test', which its split"),
        (made(OFFICIAL), IS_TEST, 1, "has only its official split: split must be 0, got 1"),
        (made(OFFICIAL, 74, 25), IS_TEST, 0, r"has 74 \+ 25 rows, but its file has 75 \+ 25"),
        (made(RANDOM, 80, 21), None, 0, "draws 101 rows, but its file has only 100"),
        (made(OFFICIAL_TEST, 80, 25), IS_TEST, 0, "draws 80 rows, but its file has only 75"),
    ],
)
def test_what_does_not_fit(toy, is_test, split, sentence):
    with pytest.raises(InputError, match=sentence):
        split_rows(toy, 100, is_test, split)
