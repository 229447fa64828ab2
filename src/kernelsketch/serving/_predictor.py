"""Predictor: low-latency prediction for a few rows at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array
from .._frames import frame_of, matrix_of
from .._losses import WITH_PROBABILITIES
from .._validation import FLOATS, check_n_jobs, is_row, is_sparse, refuse_huge
from ..backends import CsrRows, DenseRows, HashView, ReadyModel, Rows, backend_for, on_host, processor_for
from ..exceptions import InputError, InputTypeError
from ..hashing import check_powers, views_of
from ._c_header import c_header
from ._loaders import loader_of
from ._model import LinearModel
from ._numbers import numbers_of


class Predictor:
    """Predict as a fitted model does, to the last bit, without its checks and with everything ready.

    :meth:`GCWSClassifier.predictor` and :meth:`GCWSRegressor.predictor` make a predictor of a fitted model, and
    :meth:`Predictor.load` reads one from a model file without importing scikit-learn. The parameters of the hash are
    computed once, so a single row takes a small fraction of the time of ``model.predict``. Threads may share a
    predictor.

    A row is an array of ``n_features`` numbers. Names of columns are not compared. Values that are not finite are
    refused. Models of tables have a :class:`TablePredictor`, which takes dicts as well.

    Parameters
    ----------
    model : LinearModel
        The fitted model, ``fitted_`` of an estimator.
    n_jobs : int or None, default=None
        Number of threads of a prediction of many rows. None means 1, and -1 means all processors.

    Attributes
    ----------
    classes_ : array of shape (n_classes,) or None
        The classes in ascending order, or None if the model is a regressor.
    n_features_in_ : int
        Number of features of a row.

    Notes
    -----
    The tables of parameters take ``24 * n_features * n_components`` bytes, with ``gamma`` about ``gamma`` times as
    much. If they would take more than 64 MiB, the parameters are generated for each row, as the model does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelsketch import GCWSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> predictor = GCWSClassifier(n_components=256).fit(X, y).predictor()
    >>> int(predictor.predict(X[0]))
    0
    >>> predictor.predict(X[[0, 60, 120]]).tolist()
    [0, 1, 2]
    """

    _model: Any  # the LinearModel, or what a subclass predicts with
    _ready: Any

    def __init__(self, model: LinearModel, *, n_jobs: int | None = None) -> None:
        self._model, self._n_jobs = replace(model, weights=on_host(model.weights)), n_jobs
        self._threads = check_n_jobs(n_jobs)
        self.classes_, self.n_features_in_ = model.classes, model.n_features
        self._ready = ready_model(self._model)
        self._decide = processor_for(threads=self._threads).predictor(self._ready) or self._decide_stepwise

    @classmethod
    def load(cls, path: Any, *, n_jobs: int | None = None) -> Predictor:
        """Read a predictor from a file that the ``save`` of a model or ``kernelsketch train`` wrote.

        The file of a model of tables gives a :class:`TablePredictor`.

        Parameters
        ----------
        path : str or path
        n_jobs : int or None, default=None
            Number of threads of a prediction of many rows.

        Returns
        -------
        predictor : Predictor
        """
        found = loader_of(Path(path))
        if found is not None:
            predictor: Predictor = found(path, n_jobs=n_jobs)
            return predictor
        return cls(LinearModel.load(path), n_jobs=n_jobs)

    def __reduce__(self) -> Any:
        return partial(Predictor, n_jobs=self._n_jobs), (self._model,)

    def __repr__(self) -> str:
        what = "a regressor" if self.classes_ is None else f"{len(self.classes_)} classes"
        return f"Predictor({what}, {self.n_features_in_} features, {self._model.hasher.n_components} hashes)"

    def decision_function(self, X: Any) -> Array:
        """Compute the decision values of rows, as :meth:`GCWSClassifier.decision_function` does.

        Parameters
        ----------
        X : array of shape (n_features,) or (n_samples, n_features), or CSR matrix
            One row, or rows.

        Returns
        -------
        values : float64 array of shape (n_samples,) or (n_samples, n_classes)
            The first axis is missing if X is one row.
        """
        self._require_classes("decision_function")
        values = self._values(X)
        found: Array = values[:, 0] if values.shape[1] == 1 else values
        return found[0] if self._is_row(X) else found

    def predict(self, X: Any) -> Any:
        """Predict the labels of rows, or the numbers if the model is a regressor.

        Parameters
        ----------
        X : array of shape (n_features,) or (n_samples, n_features), or CSR matrix
            One row, or rows.

        Returns
        -------
        predictions : array of shape (n_samples,)
            A single label or number if X is one row.
        """
        values = self._values(X)
        return self._answer(values) if self._is_row(X) else self._model.answers(values)

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array of shape (n_features,) or (n_samples, n_features), or CSR matrix
            One row, or rows.

        Returns
        -------
        probabilities : float64 array of shape (n_samples, n_classes)
            The first axis is missing if X is one row.
        """
        self._require_classes("predict_proba")
        if not self._model.has_probabilities:
            raise InputError(
                f"predict_proba needs a model with {WITH_PROBABILITIES} or probability='calibrated', but this one has "
                f"loss={self._model.loss!r}: fit it again with one of them."
            )
        found: Array = self._model.probabilities(self._values(X))
        return found[0] if self._is_row(X) else found

    def to_c(self, name: str = "model") -> str:
        """Return the predictor as a C99 header without dependencies, for programs without Python.

        Codes are equal to the last bit, and decision values up to rounding. The header says how to use it.

        Parameters
        ----------
        name : str, default="model"
            How the functions of the header begin.

        Returns
        -------
        text : str
        """
        return c_header(self._model, self._ready, name)

    def to_onnx(self) -> bytes:
        """Return the predictor as an ONNX model of dense float64 rows. It needs the extra ``onnx``.

        The input ``X`` has the shape (rows, features). A classifier has the outputs ``label`` and ``decision``, a
        regressor the output ``prediction``; ``codes`` are the codes of the rows. Codes are equal, and decision values
        up to rounding. They are NaN for rows with NaN or infinity. Models with ``gamma`` or ``scale="quantile"`` cannot
        be expressed.

        Returns
        -------
        content : bytes
        """
        from ._onnx import onnx_model

        return onnx_model(self._model, self._ready)

    def _is_row(self, X: Any) -> bool:
        return is_row(X)

    def _answer(self, values: Array) -> Any:
        """Return the label or the number of a single row."""
        return self._model.answers(values)[0]

    def _require_classes(self, method: str) -> None:
        if self.classes_ is None:
            raise InputError(f"{method} needs a classifier, but the model is a {self._model.estimator}: use predict.")

    def _values(self, X: Any) -> Array:
        """Return the values by which the model decides, (rows, problems)."""
        model, rows = self._model, self._rows(X)
        try:
            if model.scaling is not None:
                rows = model.scaling.apply(rows)
            values: Array | None = self._decide(rows)
        except InputError:
            raise
        except ValueError as error:  # of native code, about the indices of sparse rows
            advice = "pass a CSR matrix that X.check_format() accepts, with sorted indices."
            raise InputError(f"{error}: {advice}") from None
        if values is None:
            raise InputError("X contains NaN or infinity, or values that overflow: replace or remove them first.")
        check_powers(model.hasher, rows)  # now that native code has found the rows sound
        found: Array = values if model.calibration is None else model.calibration.logits(values)
        return found

    def _rows(self, X: Any) -> Rows:
        if is_sparse(X):
            rows: Rows = CsrRows.of(X.tocsr())
            if self._model.hasher.views or self._model.hasher.center is not None:
                raise InputError("X is sparse, but the model has views or a center: pass a dense array.")
        else:
            frame = frame_of(X)
            array = np.asarray(X) if frame is None else matrix_of(frame, "X")
            if array.dtype.kind == "O":
                refuse_huge(array, "X")
            if array.dtype.kind not in "fiub":
                raise InputTypeError(f"X must hold real numbers, got dtype {array.dtype}.")
            array = array if array.dtype in FLOATS else array.astype(np.float64)
            rows = DenseRows(array[None, :] if array.ndim == 1 else array)
        shape = rows.shape if rows.sparse else rows.arrays[0].shape
        if len(shape) != 2 or shape[1] != self.n_features_in_ or shape[0] == 0:
            raise InputError(
                f"X has shape {shape}, but the model takes rows of {self.n_features_in_} features: pass one row "
                f"of shape ({self.n_features_in_},), or an array of shape (n, {self.n_features_in_})."
            )
        return rows

    def _decide_stepwise(self, rows: Rows) -> Array | None:
        """Hash, number and decide one after the other. This is what the function of a back end must equal."""
        if not all(np.isfinite(part).all() for part in rows.arrays):
            return None
        self._model.hasher.check(rows)
        backend = backend_for(*rows.arrays, threads=self._threads)
        codes, empty = self._model.hasher.block_codes(rows, backend)
        numbers, _ = backend.renumber(codes, self._ready.number_of)
        return backend.linear_decide(numbers, empty, 1.0, self._ready.w, self._ready.offset).astype(np.float64)


def ready_model(model: LinearModel) -> ReadyModel:
    """Return a model as a back end holds it ready for predictions."""
    hasher = model.hasher
    views = [
        HashView(view.hasher.seed, view.columns.stop - view.columns.start, view.hasher.n_components, view.hasher.counts)
        for view in views_of(hasher, model.n_features)
    ]
    numbers = numbers_of(model.used_codes, hasher.width)
    weights = model.weights_for(backend_for(), unknown=len(model.used_codes) < 1 << hasher.width)
    kept = np.ascontiguousarray(weights)
    return ReadyModel(views, hasher.center, hasher.p, hasher.bits, hasher.t_bits, numbers, kept, model.intercepts)
