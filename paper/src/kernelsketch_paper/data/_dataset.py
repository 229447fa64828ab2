"""The object that ``load`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._checks import Array
from ._entry import Entry


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, labels and one split of a dataset.

    Attributes
    ----------
    name : str
        Name in the registry.
    X : array or csr_array of shape (n, n_features)
        All rows, float32 or float64.
    y : int64 array of shape (n,)
        Class of each row: a position in ``classes``.
    classes : tuple of str
        Labels as the source writes them.
    train, test : int64 arrays
        Positions of the training rows and of the test rows. No row is in both.
    split : str
        ``"official"``, ``"random"`` or ``"regenerated"``.
    entry : Entry
        Entry of the registry: source, licence and what is uncertain.
    """

    name: str
    X: Any
    y: Array
    classes: tuple[str, ...]
    train: Array
    test: Array
    split: str
    entry: Entry

    @property
    def X_train(self) -> Any:  # noqa: N802
        """Training rows."""
        return self.X[self.train]

    @property
    def y_train(self) -> Array:
        """Classes of the training rows."""
        return self.y[self.train]

    @property
    def X_test(self) -> Any:  # noqa: N802
        """Test rows."""
        return self.X[self.test]

    @property
    def y_test(self) -> Array:
        """Classes of the test rows."""
        return self.y[self.test]

    def __repr__(self) -> str:
        sizes = f"{len(self.train)} + {len(self.test)} rows, {self.X.shape[1]} features, {len(self.classes)} classes"
        return f"Dataset({self.name!r}: {sizes}, {self.split} split)"
