"""Newton's method on all classes at once against LIBLINEAR's objective."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from kernelsketch_paper.experiments._linear_svm import linear_path


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_objective_is_the_minimum(classes, intercept):
    rng = np.random.default_rng(classes)
    Z, y = rng.normal(size=(300, 20)).astype(np.float32), rng.integers(classes, size=300)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    Cs = [100.0, 0.1, 1.0]
    found = linear_path(Z, y, Cs, intercept=intercept, tol=1e-4)
    assert [model.C for model in found] == sorted(Cs)
    for model in found:
        theirs = LinearSVC(C=model.C, dual=False, tol=1e-9, max_iter=100_000, fit_intercept=intercept).fit(Z, y)
        b = np.broadcast_to(theirs.intercept_, len(theirs.coef_))
        Y = np.where(y[:, None] == (np.arange(classes) if classes > 2 else [1]), 1, -1)
        f = Z @ theirs.coef_.T + b
        slack = np.maximum(0, 1 - Y * f)
        least = 0.5 * ((theirs.coef_**2).sum(axis=1) + b**2) + model.C * (slack**2).sum(axis=0)
        np.testing.assert_allclose(model.objective, least, rtol=2e-4)
        assert np.mean(model.predict(Z) == theirs.predict(Z)) >= 0.99
