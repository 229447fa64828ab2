"""Checks of the values of large arrays on several threads."""

import numpy as np
import pytest

from kernelsketch import GCWS, GCWSClassifier, gmm_kernel
from kernelsketch.exceptions import InputError


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 570, 2999])
def test_the_error_is_that_of_one_thread(bad, row):
    X = np.random.default_rng(0).random((3000, 8))
    X[row, 3] = bad
    messages = []
    for n_jobs in (1, 2, 5):
        for call in (
            GCWS(8, n_jobs=n_jobs).fit,
            lambda X, n=n_jobs: GCWSClassifier(8, n_jobs=n).fit(X, np.arange(3000) % 2),
        ):
            with pytest.raises(ValueError, match=r"NaN|infinity") as caught:
                call(X)
            messages.append(str(caught.value).splitlines()[0])
    assert len(set(messages)) == 1


def test_finite_values_whose_sum_is_not():
    X = np.full((3000, 4), np.finfo(np.float32).max, np.float32)
    np.testing.assert_array_equal(GCWS(8, n_jobs=2).fit(X).codes(X).packed, GCWS(8).fit(X).codes(X).packed)


def test_the_first_bad_value_is_named():
    X = np.zeros((5000, 50))
    X[4000, 7], X[3000, 9] = np.nan, np.inf
    for n_jobs in (1, 3):
        with pytest.raises(ValueError, match=r"row 3000.*9|3000"):
            gmm_kernel(X, n_jobs=n_jobs)


@pytest.mark.parametrize("kind", [GCWSClassifier, GCWS])
def test_text_among_the_rows(kind):
    X = np.array([[1.0, "red"], [2.0, "blue"]], object)
    message = rf"X contains the text 'red', but {kind.__name__} takes numbers: .* or use GCWSTabularClassifier"
    with pytest.raises(InputError, match=message):
        kind(8).fit(X, [0, 1])
    with pytest.raises(InputError, match=message):
        getattr(kind(8).fit([[1.0, 2.0], [2.0, 0.0]], [0, 1]), "predict" if kind is GCWSClassifier else "transform")(X)
