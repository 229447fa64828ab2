"""LinearModel: a fitted linear model on codes, as one immutable value.

Everything that predictions depend on is here, and nothing that only learning needs. Estimators, cross-validation,
Spark, models of tables, predictors, exports and files hold or make this value. It needs neither SciPy nor scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array
from .._losses import PROBABILITY_LOSSES
from .._validation import STEP_BYTES, row_batches
from ..backends import Arrays, CsrRows, DenseRows, Rows, backend_for, on_host, place_of
from ..exceptions import InputError, InputTypeError
from ..hashing import Hasher, PackedCodes
from ..storage import save_file
from ._numbers import encode
from ._probabilities import Calibration, decided_classes, shares_of, softmax_shares
from ._scaling import Scaling
from ._value import Value


@dataclass(frozen=True, eq=False, slots=True)
class LinearModel(Value):
    """A fitted linear model on codes, an immutable value, whose NumPy arrays are read-only.

    A row is scaled and hashed to codes. Its decision value is the mean of the weights of its codes plus the intercept,
    for each problem: one per class, or a single one for two classes and for numbers.

    Attributes
    ----------
    hasher : Hasher
        The hash of rows.
    n_features : int
        Number of columns of a row.
    used_codes : array of shape (n_used_codes,)
        The codes that have weights, in ascending order.
    weights : array of shape (problems, n_components, stride)
        float32 or float64; ``weights[p, j, i]`` belongs to the code ``used_codes[i]`` of hash j; the rest is 0.
    intercepts : float64 array of shape (problems,)
    loss : str
        The loss that was minimized.
    classes : array of shape (n_classes,) or None
        Class labels in ascending order; None if the model predicts numbers.
    mean, spread : float
        A number is predicted as ``mean + spread * value``.
    scaling : Scaling or None
        What is done to columns before rows are hashed.
    calibration : Calibration or None
        What turns decision values into logits.
    label_column : str, int or None
        Name or number of the column of labels in the file of the training rows, if there was one.
    loss_parameter : float or None
        The parameter of the loss, if it has one: ``epsilon`` or ``quantile``.
    """

    hasher: Hasher
    n_features: int
    used_codes: Array
    weights: Array
    intercepts: Array
    loss: str
    classes: Array | None = None
    mean: float = 0.0
    spread: float = 1.0
    scaling: Scaling | None = None
    calibration: Calibration | None = None
    label_column: str | int | None = None
    loss_parameter: float | None = None

    @property
    def estimator(self) -> str:
        """The name of the estimator that learns such models."""
        return "GCWSRegressor" if self.classes is None else "GCWSClassifier"

    @property
    def has_probabilities(self) -> bool:
        return self.classes is not None and (self.calibration is not None or self.loss in PROBABILITY_LOSSES)

    @property
    def whole_labels(self) -> Array:
        """The classes, as integers if they are whole numbers, as the command line prints them."""
        assert self.classes is not None
        is_float = self.classes.dtype.kind == "f"
        if is_float and (self.classes == np.round(self.classes)).all() and np.abs(self.classes).max() < 2**53:
            return self.classes.astype(np.int64)
        return self.classes

    @property
    def needs_dense(self) -> bool:
        """Whether sparse rows cannot be predicted, because their zeros would not stay zeros."""
        return self.hasher.center is not None or (self.scaling is not None and self.scaling.needs_dense)

    def decide(self, X: Rows | PackedCodes, *, threads: int = 1) -> Array:
        """Return the values by which the model decides, (rows, problems) in float64, where the rows live."""
        values = self.raw_values(X, threads=threads)
        return values if self.calibration is None else self.calibration.logits(values)

    def predict(self, X: Rows | PackedCodes, *, threads: int = 1) -> Any:
        """Return class labels, or numbers."""
        return self.answers(self.decide(X, threads=threads))

    def raw_values(self, X: Rows | PackedCodes, *, threads: int = 1) -> Array:
        """Return decision values before calibration, computed for a few rows at a time."""
        if isinstance(X, PackedCodes):
            self.check_codes(X)
        elif not isinstance(X, (DenseRows, CsrRows)):
            raise InputTypeError(
                f"X must be checked rows or PackedCodes, got {type(X).__name__}: kernelsketch.serving.Predictor(model) "
                "takes arrays and matrices."
            )
        values: Array = np.empty((0, len(self.weights)))
        for part in row_batches(len(X), 2 * self.hasher.n_components, STEP_BYTES * threads):
            owned = not isinstance(X, PackedCodes)
            codes = X[part] if isinstance(X, PackedCodes) else self.codes(X.part(part), threads=threads)
            numbers, unknown = encode(codes, self.used_codes, owned=owned, threads=threads)
            backend = backend_for(numbers, threads=threads)
            weights = self.weights_for(backend, unknown=unknown)
            found = backend.linear_decide(numbers, codes.empty.astype(np.uint8), 1.0, weights, self.intercepts)
            if part.start == 0:
                values = backend.empty((len(X), found.shape[1]), np.float64)
            values[part] = found
        return values

    def codes(self, rows: Rows, *, threads: int = 1) -> PackedCodes:
        """Scale and hash rows."""
        return self.hasher.codes(rows if self.scaling is None else self.scaling.apply(rows), threads=threads)

    def weights_for(self, backend: Arrays, *, unknown: bool) -> Array:
        """Return the weights where a back end computes; with ``unknown``, codes outside of training have weight 0."""
        weights = self.weights
        if unknown and len(self.used_codes) == weights.shape[2]:
            weights = np.pad(weights, ((0, 0), (0, 0), (0, 1)))
        return weights if place_of(weights) is backend.place else backend.from_numpy(on_host(weights))

    def answers(self, values: Array) -> Any:
        """Return the labels or numbers of the values by which the model decides.

        They are where the values are if that library can hold them, else in a NumPy array.
        """
        if self.classes is None:
            return self.mean + self.spread * values[:, 0]
        chosen = decided_classes(values)
        if place_of(chosen) is None or self.classes.dtype.kind not in "biuf":
            return self.classes[on_host(chosen)]
        return backend_for(chosen).from_numpy(self.classes)[chosen]

    def probabilities(self, values: Array) -> Array:
        """Return the probabilities of the classes for the values by which the model decides."""
        return shares_of(values) if self.calibration is None else softmax_shares(values)

    def asked_for(self, probability: str | None) -> LinearModel:
        """Return the model with or without its calibration, as an estimator's parameter ``probability`` says."""
        if probability is not None and self.calibration is None:
            raise InputError(
                f"the model has probability={probability!r}, but was fitted without it: fit it again, or set "
                "probability=None.",
                parameter="probability",
            )
        return self if probability is not None or self.calibration is None else replace(self, calibration=None)

    def save(self, path: Any) -> None:
        """Write the model atomically to a file that estimators, predictors and the command line read."""
        from ._model_file import MODEL_SCHEMA, model_content

        save_file(Path(path), MODEL_SCHEMA, *model_content(self))

    @classmethod
    def load(cls, path: Any) -> LinearModel:
        """Read the model of a file that :meth:`save`, an estimator or ``kernelsketch train`` wrote."""
        from ._model_file import load_model_file

        return load_model_file(Path(path))

    def check_codes(self, codes: PackedCodes) -> None:
        """Refuse codes of another hash than the model's, and codes of rows that the model has not scaled."""
        if self.scaling is not None:
            raise InputError(
                "X is PackedCodes, but the model scales rows before they are hashed: pass the rows themselves, or fit "
                "a model with scale=None on codes of rows that are scaled already."
            )
        if len(codes) == 0:
            raise InputError(f"X is empty, it is PackedCodes of shape {codes.shape}: pass at least one row.")
        difference = self.hasher.difference(codes.hasher)
        if difference is not None:
            raise InputError(
                f"X has codes of another hash than the model ({difference}): hash rows with model.hasher_."
            )
