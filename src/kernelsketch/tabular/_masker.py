"""Background rows of a data frame with text, in the form in which shap takes them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._array import Array
from ..exceptions import InputError, InputTypeError, ParameterError, Setting


class TableMasker:
    """Background rows of a data frame with text, categories or dates, for ``shap.Explainer``.

    ``shap.Explainer(model.predict_proba, X)`` subtracts the cells of X, so it needs numbers (shap 0.51). With a masker
    it does not: ``shap.Explainer(model.predict_proba, TableMasker(X))``.

    Parameters
    ----------
    X : pandas.DataFrame
        Background rows.
    max_samples : int, default=100
        Largest number of them. Of more rows, so many are drawn, always the same ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernelsketch.tabular import TableMasker
    >>> masker = TableMasker(pd.DataFrame({"plan": ["free", "pro"], "visits": [3, 5]}))
    >>> masker([True, False], ["basic", 8])[0]
        plan  visits
    0  basic       3
    1  basic       5
    """

    immutable_outputs = True  # shap need not copy the frames

    def __init__(self, X: Any, max_samples: int = 100) -> None:
        pandas = sys.modules.get("pandas")  # who has a frame has imported it
        if pandas is None or not isinstance(X, pandas.DataFrame):
            raise InputTypeError(Setting("X"), f" must be a data frame of pandas, got {type(X).__name__}.")
        if max_samples < 1:
            raise ParameterError(Setting("max_samples", max_samples), " must be at least 1.")
        if len(X) == 0:
            raise InputError(
                "X has no rows, so there is nothing to compare with: pass some rows of the training table."
            )
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:max_samples])
        self._rows = X.iloc[rows].reset_index(drop=True)
        self._cells, self._is_missing = self._rows.to_numpy(object, copy=True), pandas.isna
        self._cells[self._is_missing(self._cells)] = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(self._rows), len(self._rows.columns)

    def __call__(self, mask: Any, x: Any) -> tuple[Any]:
        """Return the background rows, with the values of a row in the columns that the mask has."""
        columns = np.flatnonzero(np.asarray(mask, bool))
        found = {self._rows.columns[i]: [x[i]] * len(self._rows) for i in columns}
        return (self._rows.assign(**found) if found else self._rows,)

    def invariants(self, x: Any) -> Array:
        """Return where the background rows have the value of a row, so that nothing changes there."""
        row = np.empty(len(x), object)
        row[:] = list(x)
        row[self._is_missing(row)] = None
        return np.asarray(self._cells == row, bool)
