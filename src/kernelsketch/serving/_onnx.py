"""A predictor as an ONNX graph: scaling, hash and linear model for dense rows, for any runtime of ONNX."""

from __future__ import annotations

import numpy as np

from ..backends import ReadyModel
from ..exceptions import InputError, Setting
from ..hashing import absent_codes
from ._model import LinearModel
from ._onnx_graph import OnnxGraph
from ._onnx_hash import OnnxView, onnx_calibrated, onnx_codes, onnx_decision


def onnx_model(model: LinearModel, ready: ReadyModel) -> bytes:
    """Return a model as the bytes of an ONNX file."""
    if ready.views[0].counts is not None:
        raise InputError(
            f"a model with gamma={model.hasher.gamma} cannot be exported to ONNX, which has no 64-bit mixes: export it "
            "to C, or fit it with gamma=None."
        )
    if model.scaling is not None and model.scaling.quantiles is not None:
        raise InputError(
            Setting("scale", "quantile"),
            " cannot be exported to ONNX: export the model to C, or fit it with scale='standard' or 'robust'.",
        )
    g = OnnxGraph(["X"])
    x = _scaled(g, model, "X")
    if ready.center is not None:
        x = g("Sub", x, g.constant(ready.center))
    finite = _finite(g, "X") if x == "X" else g("And", _finite(g, "X"), _finite(g, x))
    views = [OnnxView(np.arange(view.width)) for view in ready.views]
    codes, empty = onnx_codes(g, ready, views, absent_codes(model.hasher), g("Where", finite, x, g.constant(0.0)))
    values = onnx_decision(g, ready, codes, empty)
    if model.calibration is not None:
        values = onnx_calibrated(g, values, model.calibration.coefficients, model.calibration.intercepts)
    invalid = g("Not", finite)
    values, problems = g.without(values, invalid), len(ready.w)
    if model.classes is None:
        prediction = g("Add", g("Mul", values, g.constant(model.spread)), g.constant(model.mean))
        g.output("prediction", "double", [], g("Squeeze", prediction, g.constant([1], np.int64)))
    else:
        if problems == 1:
            number = g("Squeeze", g.cast(g("Greater", values, g.constant(0.0)), np.int64), g.constant([1], np.int64))
        else:
            number = g("ArgMax", values, axis=1, keepdims=0)
        g.label(model.whole_labels, number, invalid)
        g.output("decision", "double", [problems], values)
    g.output("codes", "int64", [model.hasher.n_components], codes)
    return g.model([("X", "double", [model.n_features])])


def _finite(g: OnnxGraph, x: str) -> str:
    """Return whether all values of rows are finite, (rows, 1)."""
    return g.every(g("Less", g("Abs", x), g.constant(np.inf)))  # false for NaN too


def _scaled(g: OnnxGraph, model: LinearModel, x: str) -> str:
    """Scale columns as serving/_scaling.py does."""
    scaling = model.scaling
    if scaling is None:
        return x
    assert scaling.spread is not None
    two = g.constant(2.0)
    if scaling.center is not None:
        x = g("Sub", g("Div", x, two), g.constant(scaling.center / 2))
    constant = scaling.spread <= 0
    x = g("Div", x, g.constant(np.where(constant, 1.0, scaling.spread)))
    x = g("Where", g.constant(constant, bool), g.constant(0.0), x)
    x = g("Min", g("Max", x, g.constant(-1e30)), g.constant(1e30))
    return x if scaling.center is None else g("Mul", x, two)
