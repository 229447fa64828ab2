"""A predictor as an ONNX graph: hash and linear model for dense rows, for any runtime of ONNX.

ONNX has neither integer views of floats nor fused multiply-adds. The parameters of the hash are therefore constants of
the graph, logarithms take the exponent from powers of two, and fused operations are computed in float64 and rounded
once. A sum that float64 does not hold exactly is rounded twice, which changes a code only if it also lies at an
integer: codes are equal in practice, and tests compare them.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from .._array import Array
from ..backends import HashView, ReadyModel
from ..exceptions import InputError, MissingExtraError, Setting
from ..hashing import absent_codes
from ._model import LinearModel
from ._model_file import stored_versions

OPSET = 17
MOST_PARAMETERS = 1 << 25  # of 32 bytes in the graph
WHOLE_LABELS = np.iinfo(np.int64)  # the least one stands for rows with NaN or infinity
LN2 = 0.69314718055994530942
SQRT_HALF = 0.70710678118654752440


class _Graph:
    """Nodes and constants, with names that are made up."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingExtraError("onnx", "onnx") from None
        self._onnx, self._names = onnx, count()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output, and return the name of the output."""
        name = f"v{next(self._names)}"
        self.nodes.append(self._onnx.helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        name = f"c{next(self._names)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def cast(self, x: str, dtype: Any) -> str:
        return self("Cast", x, to=self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def rounded(self, x: str) -> str:
        """Round float64 to the nearest float32, as float64."""
        return self.cast(self.cast(x, np.float32), np.float64)

    def output(self, name: str, x: str) -> None:
        self.nodes.append(self._onnx.helper.make_node("Identity", [x], [name]))

    def model(self, inputs: Any, outputs: Any) -> bytes:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        names = {"double": kinds.DOUBLE, "int64": kinds.INT64, "string": kinds.STRING}

        def infos(values: Any) -> list[Any]:
            return [helper.make_tensor_value_info(name, names[kind], shape) for name, kind, shape in values]

        graph = helper.make_graph(self.nodes, "kernelsketch", infos(inputs), infos(outputs), self.constants)
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="kernelsketch", ir_version=8
        )
        made.producer_version = stored_versions()["kernelsketch"]
        self._onnx.checker.check_model(made, full_check=True)
        return bytes(made.SerializeToString())


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
    if sum(2 * view.width * view.hashes for view in ready.views) > MOST_PARAMETERS:
        raise InputError(
            f"the model has {model.n_features} features and {model.hasher.n_components} hashes, whose parameters are "
            "too many for an ONNX file: use fewer hashes, or kernelsketch.serving.Predictor."
        )
    g = _Graph()
    x = _scaled(g, model, "X")
    if ready.center is not None:
        x = g("Sub", x, g.constant(ready.center))
    finite = _finite(g, "X") if x == "X" else g("And", _finite(g, "X"), _finite(g, x))
    codes, empty = _codes(g, ready, absent_codes(model.hasher), x)
    values = g("Where", finite, _decision(g, model, ready, codes, empty), g.constant(np.nan))
    outputs: list[Any] = []
    n, k, problems = "rows", model.hasher.n_components, len(ready.w)
    g.output("codes", codes)
    if model.classes is None:
        prediction = g("Add", g("Mul", values, g.constant(model.spread)), g.constant(model.mean))
        prediction = g("Squeeze", prediction, g.constant([1], np.int64))
        g.output("prediction", prediction)
        outputs = [("prediction", "double", [n])]
    else:
        if problems == 1:
            above = g("Greater", values, g.constant(0.0))
            number = g("Squeeze", g.cast(above, np.int64), g.constant([1], np.int64))
        else:
            number = g("ArgMax", values, axis=1, keepdims=0)
        classes = model.whole_labels
        is_whole = classes.dtype.kind in "iu" and int(classes.max()) <= WHOLE_LABELS.max
        labels = classes.tolist() if is_whole else [str(label) for label in classes.tolist()]
        for label in [] if is_whole else labels:
            if (ascii_text := label.encode("utf-8", "backslashreplace").decode()) != label:
                raise InputError(
                    f"the class '{ascii_text}' has a lone surrogate, which ONNX cannot store: fit the model with "
                    "another label."
                )
        labels.append(WHOLE_LABELS.min if is_whole else "")
        number = g("Where", g("Squeeze", finite, g.constant([1], np.int64)), number, g.constant(len(classes), np.int64))
        label = g("Gather", g.constant(labels, np.int64 if is_whole else object), number)
        g.output("label", label)
        g.output("decision", values)
        outputs = [("label", "int64" if is_whole else "string", [n]), ("decision", "double", [n, problems])]
    outputs.append(("codes", "int64", [n, k]))
    return g.model([("X", "double", [n, model.n_features])], outputs)


def _finite(g: _Graph, x: str) -> str:
    """Return whether all values of rows are finite, (rows, 1)."""
    each = g("Less", g("Abs", x), g.constant(np.inf))  # false for NaN too
    return g.cast(g("ReduceMin", g.cast(each, np.float64), axes=[1], keepdims=1), bool)


def _scaled(g: _Graph, model: LinearModel, x: str) -> str:
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


def _codes(g: _Graph, ready: ReadyModel, absent: Array, x: str) -> tuple[str, str]:
    """Return the codes (rows, hashes) as int64, and whether rows are empty (rows, 1)."""
    zero = g.constant(0.0)
    found, zeros, column, first = [], [], 0, 0
    for view in ready.views:
        own = x
        if len(ready.views) > 1:
            ends = (g.constant([at], np.int64) for at in (column, column + view.width))
            own = g("Slice", x, *ends, g.constant([1], np.int64))
        is_zero = g("Equal", own, zero)
        zeros.append(g.cast(g("ReduceMin", g.cast(is_zero, np.float64), axes=[1], keepdims=1), bool))
        codes = _view_codes(g, ready, view, own, is_zero)
        if len(ready.views) > 1:
            codes = g("Where", zeros[-1], g.constant(absent[first : first + view.hashes][None], np.int64), codes)
        found.append(codes)
        column, first = column + view.width, first + view.hashes
    empty = zeros[0]
    for more in zeros[1:]:
        empty = g("And", empty, more)
    codes = found[0] if len(found) == 1 else g("Concat", *found, axis=1)
    return codes, empty


def _view_codes(g: _Graph, ready: ReadyModel, view: HashView, x: str, is_zero: str) -> str:
    negative = g("Less", x, g.constant(0.0))
    logs = _logs(g, g("Where", is_zero, g.constant(1.0), g("Abs", x)), ready.p)
    middle = g.constant([2], np.int64)
    logs, sign, hidden = (g("Unsqueeze", part, middle) for part in (logs, negative, is_zero))  # (rows, features, 1)
    r, reciprocal, above, A = _parameters(view)  # each (2, features, hashes)

    def chosen(table: Array) -> str:
        return g("Where", sign, g.constant(table[1][None]), g.constant(table[0][None]))

    steps = g("Floor", g.rounded(g("Add", g("Mul", logs, chosen(reciprocal)), chosen(above))))  # t + 1
    a = g.rounded(g("Sub", chosen(A), g("Mul", chosen(r), steps)))
    a = g("Where", hidden, g.constant(np.inf), a)
    winner = g("ArgMin", a, axis=1, keepdims=1)  # (rows, 1, hashes), the lowest feature among equals
    features, mask = np.arange(view.width), (1 << ready.bits) - 1
    labels = [(features ^ (side << (ready.bits - 1))) & mask for side in (0, 1)]
    label = g("Where", negative, g.constant(labels[1][None], np.int64), g.constant(labels[0][None], np.int64))
    one = g.constant([1], np.int64)
    codes = g("GatherElements", label, g("Squeeze", winner, one), axis=1)
    if ready.t_bits:
        t = g("Squeeze", g("GatherElements", steps, winner, axis=1), one)
        t = g("Sub", g.cast(t, np.int64), g.constant(1, np.int64))
        t = g("Mod", t, g.constant(1 << ready.t_bits, np.int64))
        codes = g("Add", codes, g("Mul", t, g.constant(1 << ready.bits, np.int64)))
    return codes


def _logs(g: _Graph, x: str, p: float) -> str:
    """Return p log2(x) as float32 values in float64, as ``reference/arithmetic.py`` computes it, for x above 0."""
    one, two, half = (g.constant(value) for value in (1.0, 2.0, 0.5))
    tiny = g("Less", x, g.constant(2.0**-1000))
    x = g("Where", tiny, g("Mul", x, g.constant(2.0**60)), x)
    exponent = g("Add", g("Floor", g("Div", g("Log", x), g.constant(LN2))), one)
    part = g("Div", exponent, two)  # in two factors, because 2^1024 is not finite
    low = g("Floor", part)
    m = g("Div", g("Div", x, g("Pow", two, low)), g("Pow", two, g("Sub", exponent, low)))
    for _ in range(2):  # the logarithm may be off by one: the mantissa is at least 1/2 and below 1
        small, large = g("Less", m, half), g("GreaterOrEqual", m, one)
        m = g("Where", small, g("Mul", m, two), g("Where", large, g("Mul", m, half), m))
        exponent = g("Where", small, g("Sub", exponent, one), g("Where", large, g("Add", exponent, one), exponent))
    exponent = g("Where", tiny, g("Sub", exponent, g.constant(60.0)), exponent)
    m = g.rounded(m)
    below = g("Less", m, g.constant(SQRT_HALF))
    m = g("Where", below, g("Add", m, m), m)
    exponent = g("Where", below, g("Sub", exponent, one), exponent)
    s = g("Div", g("Sub", m, one), g("Add", m, one))
    z = g("Mul", s, s)
    q = g.constant(2 / (15 * LN2))
    for k in range(6, -1, -1):
        q = g("Add", g("Mul", q, z), g.constant(2 / ((2 * k + 1) * LN2)))
    return g.rounded(g("Mul", g.constant(p), g("Add", g("Mul", s, q), exponent)))


def _parameters(view: HashView) -> tuple[Array, Array, Array, Array]:
    """Return r, 1 / r, 1 + beta and A of each sign, feature and hash, in float64."""
    from ..backends.reference import hash_parameters

    slots = (2 * np.arange(view.width)[None, :] + np.arange(2)[:, None]).ravel()
    found = hash_parameters(view.seed, slots, view.hashes)
    shape = (2, view.width, view.hashes)
    r, reciprocal, beta, A = (part.astype(np.float64).reshape(shape) for part in found)
    return r, reciprocal, 1 + beta, A


def _decision(g: _Graph, model: LinearModel, ready: ReadyModel, codes: str, empty: str) -> str:
    """Return decision values (rows, problems), with the calibration if there is one."""
    problems, k, stride = ready.w.shape
    numbers = g("Gather", g.constant(ready.number_of, np.int64), codes)
    places = g("Add", numbers, g.constant(np.arange(k)[None] * stride, np.int64))
    sums = []
    for p in range(problems):
        weights = g("Gather", g.constant(ready.w[p].ravel()), places)
        sums.append(g("ReduceSum", weights, g.constant([1], np.int64), keepdims=1))
    values = sums[0] if problems == 1 else g("Concat", *sums, axis=1)
    values = g("Add", g("Where", empty, g.constant(0.0), values), g.constant(ready.offset[None]))
    if model.calibration is not None:
        slopes, intercepts = model.calibration.coefficients, model.calibration.intercepts
        values = g("Mul" if len(slopes) == 1 else "MatMul", values, g.constant(slopes))
        values = g("Add", values, g.constant(intercepts[None]))
    return values
