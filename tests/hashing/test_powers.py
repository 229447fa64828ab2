"""Powers beyond the range of the hash are refused in every way to hash, and powers within it are accurate."""

import numpy as np
import pytest
from scipy import sparse

from helpers.arrays import Wrapped, registered
from kernelsketch import GCWS, GCWSClassifier, GCWSIndex, GCWSRegressor, gmm_kernel
from kernelsketch.backends import DenseRows
from kernelsketch.exceptions import InputError
from kernelsketch.hashing import Hasher
from kernelsketch.hashing._powers import MOST_LOG

REFUSED = (
    r"is 1e\+30 in size. With p=1000, \|p log2\(value\)\| is 99657.8, and the hash is accurate up to 16384. Scale X"
)
ROWS = np.array([[1.0, 2.0], [1e30, 1.0], [0.0, 0.0], [2.0, 1.0]])
FINE = np.where(ROWS == 1e30, 3.0, ROWS)


@pytest.mark.parametrize("params", [{}, {"bits": 4, "t_bits": 2}, {"gamma": 1.0}, {"center": [0.0, 0.0]}, {"views": 2}])
@pytest.mark.parametrize("method", ["transform", "codes", "signatures"])
def test_features(params, method):
    model = GCWS(8, p=1000.0, **params).fit(FINE)
    getattr(model, method)(FINE)
    for rows in (ROWS, ROWS / 1e30, *(() if "center" in params else (sparse.csr_array(ROWS),))):
        with pytest.raises(InputError, match="Scale X"):
            getattr(model, method)(rows)


def test_message():
    with pytest.raises(InputError, match=REFUSED):
        GCWS(8, p=1000.0).fit_transform(ROWS)
    with pytest.raises(InputError, match=r"largest value minus center is 1e\+30 in size"):
        GCWS(8, p=1000.0, center=[0.0, 1.0]).fit_transform(ROWS)


@pytest.mark.parametrize("make", [GCWSClassifier, GCWSRegressor])
@pytest.mark.parametrize("backend", ["native", "reference"])
def test_models(make, backend, monkeypatch):
    if backend == "reference":
        monkeypatch.setenv("KERNELSKETCH_BACKEND", "reference")
    model = make(16, p=1000.0).fit(FINE, [0, 1, 1, 0])
    predictor = model.predictor()
    np.testing.assert_array_equal(predictor.predict(FINE), model.predict(FINE))
    for ask in (
        model.predict,
        predictor.predict,
        lambda X: predictor.predict(X[1]),
        lambda X: model.fit(X, [0, 1] * 2),
    ):
        with pytest.raises(InputError, match=REFUSED):
            ask(ROWS)


def test_index():
    index = GCWSIndex(p=1000.0, store_vectors=False).fit(FINE)
    index.kneighbors(FINE, n_neighbors=1)
    for ask in (index.fit, index.add, lambda X: index.kneighbors(X, n_neighbors=1)):
        with pytest.raises(InputError, match=REFUSED):
            ask(ROWS)


def test_arrays_of_another_library():
    with registered(), pytest.raises(InputError, match=REFUSED):
        GCWS(8, p=1000.0).fit_transform(Wrapped(ROWS))
    with registered(), pytest.raises(InputError, match="minus center"):
        GCWS(8, p=1000.0, center=[0.0, 1.0]).fit_transform(Wrapped(ROWS))


def test_small_values_beside_a_large_one_are_hashed():
    """They win no hash, whatever their logarithms are."""
    codes = GCWS(64, p=1e4).fit(FINE).codes(np.array([[1.0, 1e-300], [1.0, 0.0]])).unpack()
    np.testing.assert_array_equal(codes[0], codes[1])


def test_an_ordinary_power_needs_no_look_at_the_values(monkeypatch):
    monkeypatch.setattr("kernelsketch.hashing._powers._sizes", None)
    rows = np.array([[5e-324, 0.0], [1.7e308, 1.0]])
    GCWS(8, p=15.0).fit_transform(rows)
    with pytest.raises(TypeError):
        GCWS(8, p=15.5).fit_transform(rows)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("p", [16.0, 1000.0])
def test_collisions_at_the_limit(p, sign):
    """At the limit, collisions of 400,000 hashes agree with the kernel within 1e-3 and four standard errors."""
    rng = np.random.default_rng(0)
    logs = sign * (MOST_LOG - 3) / p + np.array([[0.0, -1.0, -0.5], [-0.6, -0.2, -1.3]]) / p
    rows = 2.0**logs
    assert (np.abs(p * np.log2(rows.max(axis=1))) > 0.999 * MOST_LOG).all()
    slots, t = Hasher(400_000, int(rng.integers(2**32)), p=p).samples(DenseRows(rows))
    collide = float(((slots[0] == slots[1]) & (t[0] == t[1])).mean())
    s = float(gmm_kernel(rows[0], rows[1], p=p))
    assert abs(collide - s) < 1e-3 + 4 * np.sqrt(s * (1 - s) / 400_000)
