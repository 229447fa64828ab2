"""Reports during long native calls."""

import numpy as np
import pytest

from kernelsketch import gmm_kernel
from kernelsketch.backends import heartbeat

X = np.random.default_rng(0).random((3000, 600))  # takes a few tenths of a second


def test_long_calls_beat_and_give_the_same_results():
    beats = []
    with heartbeat(lambda: beats.append(gmm_kernel(X[:2]).shape)):
        found = gmm_kernel(X)
        with heartbeat(lambda: beats.append("inner")):
            pass
        outer = len(beats)
        gmm_kernel(X)
    assert len(beats) > outer >= 1
    assert set(beats) == {(2, 2)}
    np.testing.assert_array_equal(found, gmm_kernel(X))
    assert len(beats) < 1000


def test_an_exception_ends_the_call():
    def fail():
        raise ZeroDivisionError("from the report")

    with heartbeat(fail), pytest.raises(ZeroDivisionError, match="from the report"):
        gmm_kernel(np.concatenate([X, X]))
