"""Models of tables within ``use_backend("cuda")``: hashes and linear models on the GPU, the rest on the processor."""

import numpy as np
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.backends import use_backend
from kernelsketch.backends.cuda import _newton

pytestmark = pytest.mark.xdist_group("cuda")  # one process compiles the kernels
EFFORT = {
    "effort": "quick",
    "n_trees": 0,
    "n_rows": None,
    "n_kernel_rows": None,
    "n_steps": 1,
    "n_components": 30,
    "Cs": [1.0],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [GCWSTabularClassifier, GCWSTabularRegressor])
def test_a_fit_is_that_of_the_processor(kind, cuda, monkeypatch):
    """Weights of columns are equal to the last bit, and predictions within the tolerance of the solvers."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 2)), rng.choice(["a", "b"], 80)]).astype(object)
    X[::9, 0] = None
    y = X[:, 1].astype(float) + (X[:, 2] == "a")
    y = y > 0.5 if kind is GCWSTabularClassifier else y
    model = kind(EFFORT)
    solved, solve = [], _newton.newton_solve
    monkeypatch.setattr(_newton, "newton_solve", lambda *given: solved.append(1) or solve(*given))
    of_gpu = model.fit(X, y)
    views, found = of_gpu._views, of_gpu._values_of(X)
    assert solved  # on the GPU
    with use_backend("baseline"):
        of_processor = model.fit(X, y)
        expected = of_processor._values_of(X)
    for mine, theirs in zip(views.weights, of_processor._views.weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())
