"""The exact kernel of pairs is the diagonal of the kernel's matrix."""

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import gmm_kernel
from kernelsketch.spark._pairs import gmm_pairs

rng = np.random.default_rng(1)
U, V = (rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.6) for _ in range(2))
U[3] = V[4] = U[5] = V[5] = 0
V[7] = U[7]


@pytest.mark.parametrize("p", [1.0, 0.5, 80.0])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("size", [1.0, 1e300, 1e-300])
def test_the_diagonal(p, form, size):
    exact = np.diagonal(gmm_kernel(U, V, p=p))
    found = gmm_pairs(form(U * size), form(V * size), p)
    np.testing.assert_allclose(found, exact, rtol=1e-12 * max(1, p), atol=1e-15)
    assert found[7] == 1
    assert found[[3, 4, 5]].tolist() == [0, 0, 0]


def test_center_and_widths():
    center = U.mean(axis=0)
    exact = np.diagonal(gmm_kernel(U, V, center=center))
    np.testing.assert_allclose(gmm_pairs(U, sparse.csr_matrix(V), 1.0, center), exact, rtol=1e-12)
    narrow = V.copy()
    narrow[:, 9:] = 0
    np.testing.assert_allclose(gmm_pairs(U, V[:, :9]), np.diagonal(gmm_kernel(U, narrow)), rtol=1e-12)
