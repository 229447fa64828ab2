"""Native code equals the reference bit for bit, on every instruction set, whatever the threads."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from helpers.strategies import matrix_pairs
from kernelsketch import _backend
from kernelsketch.exceptions import BackendError
from kernelsketch.reference.gmm import INTERSECTION, MIN_MAX

PLAIN = ("normal", "nonnegative", "sparse", "integers", "constant")
ratios = st.sampled_from([MIN_MAX, INTERSECTION])


def csr_rows(X, index=np.int32):
    matrix = sparse.csr_array(X)
    return _backend.CsrRows(matrix.indptr.astype(np.int64), matrix.indices.astype(index), matrix.data, matrix.shape[1])


def run(name, method, *args, shape, dtype, **options):
    """On a target inside a larger array, to see that nothing else is written."""
    frame = np.full((shape[0] + 2, shape[1] + 2), -1, dtype)
    with _backend.using(name) as chosen:
        getattr(chosen, method)(*args, out=frame[1:-1, 1:-1], **options)
    border = frame.copy()
    border[1:-1, 1:-1] = -1
    assert (border == -1).all()
    return frame[1:-1, 1:-1].copy()


@pytest.mark.parametrize("name", [n for n in _backend.ISAS if n != "reference"])
class TestParity:
    @pytest.fixture(autouse=True)
    def _supported(self, name):
        if name not in _backend.supported():
            pytest.skip(f"this machine or build has no {name}")

    @given(
        pair=matrix_pairs(max_rows=150, max_features=300, kinds=PLAIN),
        ratio=ratios,
        threads=st.integers(1, 4),
    )
    def test_dense(self, name, pair, ratio, threads):
        a, b = pair
        options = {"shape": (len(a), len(b)), "dtype": a.dtype, "ratio": ratio, "symmetric": False}
        expected = run("reference", "gmm_dense", a, b, threads=1, **options)
        np.testing.assert_array_equal(run(name, "gmm_dense", a, b, threads=threads, **options), expected)

    @given(pair=matrix_pairs(max_rows=150, max_features=40, kinds=PLAIN), ratio=ratios, threads=st.integers(1, 4))
    def test_dense_symmetric(self, name, pair, ratio, threads):
        a = pair[0]
        options = {"shape": (len(a), len(a)), "dtype": a.dtype, "ratio": ratio}
        expected = run("reference", "gmm_dense", a, a, threads=1, symmetric=False, **options)
        got = run(name, "gmm_dense", a, a, threads=threads, symmetric=True, **options)
        np.testing.assert_array_equal(got, expected)

    @settings(max_examples=6)
    @given(
        features=st.integers(2040, 6200),
        rows=st.integers(1, 20),
        dtype=st.sampled_from([np.float32, np.float64]),
    )
    def test_dense_many_features(self, name, features, rows, dtype):
        """Features in several panels: the totals are carried from one to the next."""
        rng = np.random.default_rng(features)
        a, b = (rng.normal(size=(n, features)).astype(dtype) for n in (rows, 70))
        options = {"shape": (rows, 70), "dtype": dtype, "ratio": MIN_MAX, "symmetric": False}
        expected = run("reference", "gmm_dense", a, b, threads=1, **options)
        np.testing.assert_array_equal(run(name, "gmm_dense", a, b, threads=2, **options), expected)

    @given(
        pair=matrix_pairs(max_rows=60, max_features=300, kinds=PLAIN),
        ratio=ratios,
        index=st.sampled_from([np.int32, np.int64]),
        symmetric=st.booleans(),
        threads=st.integers(1, 4),
    )
    def test_sparse(self, name, pair, ratio, index, symmetric, threads):
        a, b = (pair[0], pair[0]) if symmetric else pair
        options = {"shape": (len(a), len(b)), "dtype": a.dtype, "ratio": ratio, "symmetric": symmetric}
        sides = csr_rows(a, index), csr_rows(b, index)
        expected = run("reference", "gmm_sparse", *sides, threads=1, **options)
        np.testing.assert_array_equal(run(name, "gmm_sparse", *sides, threads=threads, **options), expected)

    def test_sparse_in_several_blocks(self, name):
        """More rows than a block of the inverted index takes, and feature ids that need its hash table."""
        rng = np.random.default_rng(0)
        a, b = (
            sparse.random_array((n, 50), density=0.1, random_state=rng, dtype=np.float32, format="csr")
            for n in (3, 9000)
        )
        options = {"shape": (3, 9000), "dtype": np.float32, "ratio": MIN_MAX, "symmetric": False}
        expected = run("reference", "gmm_sparse", csr_rows(a), csr_rows(b), threads=1, **options)
        np.testing.assert_array_equal(run(name, "gmm_sparse", csr_rows(a), csr_rows(b), threads=2, **options), expected)
        ids = np.sort(rng.integers(0, 2**62, 50))
        far = [
            rows._replace(indices=ids[rows.indices], n_features=2**62)
            for rows in (csr_rows(a, np.int64), csr_rows(b, np.int64))
        ]
        np.testing.assert_array_equal(run(name, "gmm_sparse", *far, threads=2, **options), expected)

    @given(
        n=st.integers(1, 80),
        m=st.integers(1, 80),
        groups=st.integers(1, 20),
        dtype=st.sampled_from([np.float32, np.float64]),
        ratio=ratios,
        symmetric=st.booleans(),
    )
    def test_bytes(self, name, n, m, groups, dtype, ratio, symmetric):
        rng = np.random.default_rng(n + 1000 * m + groups)
        a, b = (rng.integers(0, 256, (rows, 8 * groups), dtype=np.uint8) for rows in (n, m))
        a[0] = 0
        b = a if symmetric else b
        norms = [x.sum(axis=1).astype(dtype) for x in (a, b)]
        options = {"shape": (n, len(b)), "dtype": dtype, "ratio": ratio, "symmetric": symmetric}
        expected = run("reference", "gmm_bytes", a, b, *norms, threads=1, **options)
        np.testing.assert_array_equal(run(name, "gmm_bytes", a, b, *norms, threads=3, **options), expected)


def test_the_best_is_chosen(monkeypatch):
    monkeypatch.delenv(_backend.ENVIRONMENT, raising=False)
    assert _backend.backend().name == _backend.supported()[0]
    assert _backend.supported()[-2:] == ["baseline", "reference"]


@pytest.mark.parametrize("name", ["baseline", "reference"])
def test_the_environment_forces_one(name, monkeypatch):
    monkeypatch.setenv(_backend.ENVIRONMENT, name)
    assert _backend.backend().name == name


def test_an_unknown_name_is_refused():
    code = "import kernelsketch as k; k.gmm_kernel([[1.0]])"
    env = {**os.environ, _backend.ENVIRONMENT: "sse9"}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "KERNELSKETCH_ISA='sse9' is not one of avx512, avx2, baseline, reference" in found.stderr


def test_an_instruction_set_that_is_not_here_is_refused(monkeypatch):
    monkeypatch.setattr(_backend, "supported", lambda: ["baseline", "reference"])
    with pytest.raises(BackendError, match="only baseline, reference"), _backend.using("avx512"):
        pass


def test_the_core_checks_layouts():
    """The last line of defence: the core refuses what would make it read or write past an array."""
    native = _backend.Native("baseline")
    a, out = np.ones((2, 3), np.float32), np.empty((2, 2), np.float32)
    with pytest.raises(ValueError, match="different numbers of features"):
        native.gmm_dense(a, np.ones((2, 4), np.float32), out, MIN_MAX, False, 1)
    with pytest.raises(ValueError, match="out: wrong shape"):
        native.gmm_dense(a, a, out[:1], MIN_MAX, False, 1)
    with pytest.raises(ValueError, match="out: wrong shape"):
        native.gmm_dense(a, a, np.empty((2, 4), np.float32)[:, ::2], MIN_MAX, False, 1)
    with pytest.raises(TypeError):
        native.gmm_dense(a, a.astype(np.float64), out, MIN_MAX, False, 1)
    broken = _backend.CsrRows(np.array([0, 5]), np.array([0], np.int32), np.ones(1, np.float32), 3)
    with pytest.raises(ValueError, match="indptr does not span"):
        native.gmm_sparse(broken, broken, out[:1, :1], MIN_MAX, False, 1)
    how = _backend.Projecting(1.0, 0, True)
    with pytest.raises(ValueError, match="out: wrong shape"):
        native.fourier(a, how, out[:1], 1 << 30, 1)
    with pytest.raises(TypeError):
        native.fourier(a, how, out.astype(np.float64), 1 << 30, 1)
    with pytest.raises(ValueError, match="indptr does not span"):
        native.fourier(broken, how, out[:1], 1 << 30, 1)
