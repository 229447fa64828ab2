"""A model of tables as an ONNX graph, with one input per column.

The inputs become numbers and positions of flags (``_onnx_columns.py``), columns of views (``_onnx_views.py``), codes
and decision values. This file adds the trees, the blend and the outputs. Everything but exponentials and logarithms has
the bits of Python, because all sums run in the same order.
"""

from __future__ import annotations

import numpy as np

from ..backends import ReadyTable, TreeArrays
from ..exceptions import InputError
from ..hashing import absent_codes
from ..serving import OnnxGraph, onnx_calibrated, onnx_codes, onnx_decision
from ._model import LARGEST, TableModel
from ._onnx_columns import OnnxColumns
from ._onnx_views import OnnxViews
from ._row import RowPlan

LEAST = 1e-15  # probabilities are never below


def table_graph(model: TableModel, ready: ReadyTable) -> bytes:
    """Return a model of tables as the bytes of an ONNX file."""
    for column in model.plan.columns:
        if column.text is not None:
            raise InputError(
                f"column {column.name!r} is free text, whose words and shingles cannot be exported to ONNX: fit a "
                "model without this column, or use kernelsketch.serving.Predictor."
            )
    plan = RowPlan(model.plan)
    g = OnnxGraph([column.name for column in plan.columns])
    columns = OnnxColumns(g, plan, ready, model.plan.infinity)
    views = OnnxViews(g, ready, columns)
    x, parts = views.columns()
    flags = columns.flag_rows
    codes, empty = onnx_codes(g, ready.model, parts, absent_codes(model.linear.hasher), x, flags)
    values = onnx_decision(g, ready.model, codes, empty)
    trees = None if ready.trees is None else _tree_sums(g, ready.trees, views.features())
    if model.classes is None:
        number = g.without(_number(g, model, values, trees), columns.invalid)
        g.output("prediction", "double", [], g("Squeeze", number, g.constant([1], np.int64)))
        return g.model(columns.inputs)
    logits = onnx_calibrated(g, values, ready.slopes, ready.intercepts) if len(ready.intercepts) else values
    logits = _blended(g, model, logits, trees)
    shares = _shares(g, logits, len(ready.model.w))
    g.label(model.linear.whole_labels, _class_number(g, model, logits, shares), columns.invalid)
    g.output("probabilities", "double", [len(model.classes)], g.without(shares, columns.invalid))
    return g.model(columns.inputs)


def _class_number(g: OnnxGraph, model: TableModel, logits: str, shares: str) -> str:
    if model.threshold is not None:
        return g.cast(g("GreaterOrEqual", g.taken(shares, 1), g.constant(model.threshold)), np.int64)
    if len(model.linear.weights) == 1:
        return g.cast(g("Greater", g.taken(logits, 0), g.constant(0.0)), np.int64)
    return g("ArgMax", logits, axis=1, keepdims=0)


def _number(g: OnnxGraph, model: TableModel, values: str, trees: str | None) -> str:
    """Return predicted numbers (rows, 1)."""
    found = g("Add", g.constant(model.linear.mean), g("Mul", g.constant(model.linear.spread), values))
    if model.link is not None:
        logs = g("Log", g("Max", found, g.constant(model.link.floor)))
        found = g("Exp", g("Add", g.constant(model.link.log_factor), g("Mul", g.constant(model.link.power), logs)))
        trees = None if trees is None else g("Exp", trees)
    if trees is not None:
        kept, theirs = (g.constant(share) for share in (1 - model.share, model.share))
        found = g("Add", g("Mul", kept, found), g("Mul", theirs, trees))
    for exponent in (model.exponent // 2, model.exponent - model.exponent // 2) if model.exponent else ():
        found = g("Mul", found, g.constant(np.ldexp(1.0, exponent)))
    return g("Min", g("Max", found, g.constant(-LARGEST)), g.constant(LARGEST))


def _blended(g: OnnxGraph, model: TableModel, logits: str, trees: str | None) -> str:
    """Return the logits of the linear model and the trees together."""
    temperature, problems = g.constant(model.temperature), len(model.linear.weights)
    if trees is None:
        return g("Div", logits, temperature)
    if problems == 1:
        one = g.constant(1.0)
        upper = g("Div", one, g("Add", one, g("Exp", g("Neg", trees))))
        by_trees = g("Concat", g("Sub", one, upper), upper, axis=1)
    else:
        by_trees = _softmax(g, trees, problems)
    kept, theirs = (g.constant(share) for share in (1 - model.share, model.share))
    mixed = g("Add", g("Mul", kept, _shares(g, logits, problems)), g("Mul", theirs, by_trees))
    logs = g("Div", g("Log", mixed), temperature)
    return logs if problems > 1 else g("Sub", g.taken(logs, [1]), g.taken(logs, [0]))


def _shares(g: OnnxGraph, logits: str, problems: int) -> str:
    """Return probabilities of logits, as ``shares`` of reference/tables.py."""
    if problems == 1:
        half = g("Div", logits, g.constant(2.0))
        logits = g("Concat", g("Neg", half), half, axis=1)
    found = g("Max", _softmax(g, logits, max(2, problems)), g.constant(LEAST))
    return g("Div", found, _total(g, found, max(2, problems)))


def _softmax(g: OnnxGraph, logits: str, classes: int) -> str:
    found = g("Exp", g("Sub", logits, g("ReduceMax", logits, axes=[1], keepdims=1)))
    return g("Div", found, _total(g, found, classes))


def _total(g: OnnxGraph, x: str, count: int) -> str:
    return g("Unsqueeze", g.summed(x, count), g.constant([1], np.int64))


def _tree_sums(g: OnnxGraph, trees: TreeArrays, features: str) -> str:
    """Return the sums of the values of trees, (rows, outputs); (1, outputs) if there are no trees.

    Trees of ONNX add in single precision and in any order. So each tree is an output of its own and says which of its
    leaves a row reaches, which is a small whole number; the values of the leaves are added afterwards.
    """
    outputs, count = len(trees.baseline), len(trees.roots)
    if count == 0:
        return g.constant(trees.baseline[None])
    inner = trees.left >= 0
    tree_of = np.full(len(trees.left), -1, np.int64)
    tree_of[trees.roots] = np.arange(count)
    for node in np.flatnonzero(inner).tolist():  # children come after their parents
        tree_of[[trees.left[node], trees.right[node]]] = tree_of[node]
    leaves = np.flatnonzero(~inner)
    leaves = leaves[np.argsort(tree_of[leaves], kind="stable")]
    firsts = np.searchsorted(tree_of[leaves], np.arange(count))  # the first leaf of each tree
    places = np.arange(len(leaves)) - firsts[tree_of[leaves]]
    thresholds = np.where(inner, np.clip(trees.threshold, -LARGEST, LARGEST), 0.0)
    found = g.ml(
        "TreeEnsembleRegressor",
        features,
        nodes_treeids=tree_of.tolist(),
        nodes_nodeids=list(range(len(inner))),
        nodes_featureids=np.where(inner, trees.feature, 0).tolist(),
        nodes_modes=["BRANCH_LEQ" if is_inner else "LEAF" for is_inner in inner.tolist()],
        nodes_values_as_tensor=g.tensor(thresholds, np.float64),
        nodes_truenodeids=np.where(inner, trees.left, 0).tolist(),
        nodes_falsenodeids=np.where(inner, trees.right, 0).tolist(),
        nodes_missing_value_tracks_true=np.where(inner, trees.missing_left, 0).tolist(),
        target_treeids=tree_of[leaves].tolist(),
        target_nodeids=leaves.tolist(),
        target_ids=tree_of[leaves].tolist(),
        target_weights_as_tensor=g.tensor(places, np.float64),
        n_targets=count,
    )
    reached = g("Add", g.cast(found, np.int64), g.constant(firsts[None], np.int64))
    values = g("Gather", g.constant(trees.value[leaves]), reached)
    rounds = count // outputs
    values = g("Reshape", values, g.constant([-1, rounds, outputs], np.int64))
    first = np.zeros((rounds, outputs))
    first[0] = trees.baseline
    return g.summed(g("Add", values, g.constant(first)), rounds)
