"""``TablePredictor``: low-latency prediction of rows of a table, without scikit-learn, SciPy and pandas."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array
from .._validation import check_n_jobs, is_row
from ..backends import ReadyTable, processor_for
from ..exceptions import InputError
from ..serving import Predictor, ready_model
from ._model import TableModel
from ._read import read_table
from ._row import RowPlan
from ._views import Views

PLAIN = "fiubOU"  # kinds of arrays whose values become plain Python values


class TablePredictor(Predictor):
    """Predict as a fitted model of tables does, to the last bit, with everything ready.

    :meth:`GCWSTabularClassifier.predictor` and :meth:`GCWSTabularRegressor.predictor` make a predictor of a fitted
    model, and :meth:`kernelsketch.serving.Predictor.load` reads one from a model file without importing scikit-learn,
    SciPy or pandas. Threads may share a predictor.

    One row is a dict, or an array or a list of one dimension with the columns in the order of training. Several rows
    are a list of dicts, an array or a data frame. A single row is read as in a call of the model for this row alone. A
    key that is missing is an error; give it the value None if the value is not known. Keys and columns that the model
    does not use are not looked at. Columns of arrays are read by position.

    Parameters
    ----------
    model : TableModel
        The fitted model.
    n_jobs : int or None, default=None
        Number of threads of a prediction of many rows. None means 1, and -1 means all processors.

    Attributes
    ----------
    classes_ : array of shape (n_classes,) or None
        The classes in ascending order, or None if the model is a regressor.
    n_features_in_ : int
        Number of columns of a row.

    Examples
    --------
    >>> from kernelsketch import GCWSTabularClassifier
    >>> flats = [{"area": 40 + i % 50, "district": "north" if i % 3 else "west"} for i in range(300)]
    >>> let = [flat["area"] > 60 and flat["district"] == "north" for flat in flats]
    >>> predictor = GCWSTabularClassifier(effort="quick").fit(flats, let).predictor()
    >>> bool(predictor.predict({"district": "north", "area": 75}))
    True
    """

    _model: TableModel

    def __init__(self, model: TableModel, *, n_jobs: int | None = None) -> None:
        self._model, self._n_jobs, self._threads = model, n_jobs, check_n_jobs(n_jobs)
        self.classes_, self.n_features_in_ = model.classes, len(model.plan.columns)
        self._ready = None
        if model.link is None:  # counts come from the slower way
            self._ready = processor_for(threads=self._threads).table_predictor(ready_table(model))
        self._row: Any = None
        if self._ready is not None and not model.plan.has_choices:
            plan = RowPlan(model.plan)
            self._row = self._ready.reader(plan.columns, plan.read)

    @classmethod
    def load(cls, path: Any, *, n_jobs: int | None = None) -> TablePredictor:
        """Read a predictor from a file that the ``save`` of a model of tables or ``kernelsketch train`` wrote.

        Parameters
        ----------
        path : str or path
        n_jobs : int or None, default=None
            Number of threads of a prediction of many rows.

        Returns
        -------
        predictor : TablePredictor
        """
        from ._file import read_table_model

        return cls(read_table_model(Path(path)), n_jobs=n_jobs)

    def __reduce__(self) -> Any:
        return partial(TablePredictor, n_jobs=self._n_jobs), (self._model,)

    def __repr__(self) -> str:
        what = "a regressor" if self.classes_ is None else f"{len(self.classes_)} classes"
        return f"TablePredictor({what}, {self.n_features_in_} columns, {self._model.linear.hasher.n_components} hashes)"

    def to_c(self, name: str = "model") -> str:
        """Return the predictor as a C99 header without dependencies, for programs without Python.

        The columns of a row are members of a struct: numbers, dates as seconds since 1970, and categories as texts.
        Codes and trees are equal to the last bit, and decision values up to rounding. Free text cannot be exported.

        Parameters
        ----------
        name : str, default="model"
            How the functions of the header begin.

        Returns
        -------
        text : str
        """
        from ._c_header import table_header

        return table_header(self._model, ready_table(self._model), name)

    def to_onnx(self) -> bytes:
        """Return the predictor as an ONNX model with one input per column. It needs the extra ``onnx``.

        An input has the name of its column and the shape (rows, 1). Numbers are float64, NaN where one is missing;
        dates are seconds since 1970 in float64; categories are texts, empty where one is missing. Columns that the
        model does not use are no inputs. A classifier has the outputs ``label`` and ``probabilities``, a regressor
        ``prediction``. Predicted numbers are equal to the last bit. Probabilities and counts differ by rounding,
        because exponentials and logarithms are those of the runtime. Free text cannot be exported.

        Returns
        -------
        content : bytes
        """
        from ._onnx import table_graph

        return table_graph(self._model, ready_table(self._model))

    def _is_row(self, X: Any) -> bool:
        if isinstance(X, (list, tuple)):
            return len(X) > 0 and not any(isinstance(value, (dict, list, tuple, np.ndarray)) for value in X)
        return isinstance(X, dict) or is_row(X)

    def _answer(self, values: Array) -> Any:
        return self._model.answer(values)

    def _values(self, X: Any) -> Array:
        row = self._single(X)
        if row is not None and self._row is not None:
            found: Any = self._row(row)
            if isinstance(found, np.ndarray):
                return found
            if found is None:
                raise InputError("the model gives values that are not finite for this row.")
        model = self._model
        if isinstance(X, dict):
            X = [X]
        elif self._is_row(X):
            X = np.asarray(X, None if isinstance(X, np.ndarray) else object)[None]
        features = model.plan.encode(read_table(X, model.plan.drops), "the predictor")
        if self._ready is None:
            return model.values_of(features, threads=self._threads)
        values: Array | None = self._ready.values(features.numbers, features.positions)
        if values is None:
            raise InputError("the model gives values that are not finite for these rows.")
        return values

    def _single(self, X: Any) -> dict[Any, Any] | list[Any] | None:
        """Return the only row as a dict or a list of plain values, or None if there are more, or none that is plain."""
        if isinstance(X, dict):
            return X if type(X) is dict else dict(X)
        if isinstance(X, (list, tuple)) and len(X) == 1 and isinstance(X[0], dict):
            return dict(X[0])
        if isinstance(X, (list, tuple)) and len(X) == self.n_features_in_ and self._is_row(X):
            return list(X)
        if not (isinstance(X, np.ndarray) and X.ndim in (1, 2) and (X.ndim == 1 or len(X) == 1)):
            return None
        is_long = X.dtype.kind == "f" and X.dtype.itemsize > 8
        if X.dtype.kind not in PLAIN or is_long or X.shape[-1] != self.n_features_in_:
            return None
        values: list[Any] = X.ravel().tolist()
        return values


def ready_table(model: TableModel) -> ReadyTable:
    """Return a model of tables as a back end holds it ready for predictions."""
    plan, views, linear = model.plan, model.views, model.linear
    scales, calibration = views.scales, linear.calibration
    is_number, starts = plan.layout
    problems = len(linear.weights)
    sources, weights = _columns_of_views(views, len(is_number))
    return ReadyTable(
        ready_model(linear),
        None if model.trees is None else model.trees.arrays,
        np.column_stack([_numbered(is_number), _numbered(scales.is_number)]),
        starts,
        np.column_stack([scales.unit, scales.low, scales.high, scales.mean, scales.spread]),
        scales.quantiles.T,
        views.mean,
        views.directions,
        sources,
        weights,
        np.zeros((0, problems)) if calibration is None else calibration.coefficients,
        np.zeros(0) if calibration is None else calibration.intercepts,
        linear.mean,
        linear.spread,
        model.share,
        model.temperature,
    )


def _numbered(flags: Array) -> Array:
    """Return the number of each flag that is set, counted from 0, and -1 for others."""
    return np.where(flags, np.cumsum(flags) - 1, -1).astype(np.int64)


def _columns_of_views(views: Views, n_features: int) -> tuple[Array, Array]:
    """Return the sources and the weights of the columns that have a weight: see ReadyTable."""
    first = {"standard": 0, "components": 0, "quantile": n_features + views.directions.shape[1]}
    sources, weights = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    for name, own in zip(views.names, views.weights, strict=True):
        kept = np.flatnonzero(own)
        sources.append(first[name] + kept)
        weights.append(own[kept])
    return np.concatenate(sources).astype(np.int32), np.concatenate(weights)
