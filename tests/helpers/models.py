"""Fitted models, as tests look at them."""

from kernelsketch._rows import estimator_rows
from kernelsketch.hashing import PackedCodes


def decision_values(model, X):
    """Decision values (rows, problems) of a fitted estimator, before calibration."""
    rows = X if isinstance(X, PackedCodes) else estimator_rows(model, X, reset=False)
    return model.fitted_.raw_values(rows)
