"""What ``load`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelsketch._validation import Array

from ._entry import Entry


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, labels and a split.

    Attributes
    ----------
    name : str
        As in the registry.
    X : array or csr_array of shape (n, n_features)
        All rows, float32 or float64.
    y : int64 array of shape (n,)
        Classes 0, 1, ... in the order of ``classes``.
    classes : tuple of str
        The labels as the source has them.
    train, test : int64 arrays
        Rows of either part; they share none.
    split : str
        ``"official"``, ``"random"`` or ``"regenerated"``.
    entry : Entry
        Source, licence and what is uncertain.
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
        return self.X[self.train]

    @property
    def y_train(self) -> Array:
        return self.y[self.train]

    @property
    def X_test(self) -> Any:  # noqa: N802
        return self.X[self.test]

    @property
    def y_test(self) -> Array:
        return self.y[self.test]

    def __repr__(self) -> str:
        sizes = f"{len(self.train)} + {len(self.test)} rows, {self.X.shape[1]} features, {len(self.classes)} classes"
        return f"Dataset({self.name!r}: {sizes}, {self.split} split)"
