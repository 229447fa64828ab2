"""From the user's data to a plan, and from a plan to a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._rows import learned_center, rows_of
from .._validation import FLOATS, as_row, check_out, check_same_features, is_row
from ..backends import Rows, backend_for, in_library_of
from ..exceptions import InputError, Setting
from ._operand import Operand
from ._plan import Plan


def operands(
    X: Any, Y: Any, *, center: Any = None, p: float = 1.0, norm: int | None = None, threads: int = 1
) -> tuple[Operand, Operand]:
    """Check both sides of a kernel and return them with a common dtype.

    The result holds the same object twice if Y is None or X itself.
    """
    same = Y is None or Y is X
    x = rows_of(X, "X", threads)
    y = x if same else rows_of(Y, "Y", threads)
    check_same_features(x, y)
    dtype = np.result_type(*[z.dtype if z.dtype.newbyteorder("=") in FLOATS else np.float64 for z in (x, y)])
    dtype = dtype.newbyteorder("=")
    backend = backend_for(*x.arrays, *(() if same else y.arrays), threads=threads)
    found = None
    if isinstance(center, str):  # the center is learned from the data, so NaN must be found first
        found = Operand(y, "X" if same else "Y", dtype, backend=backend).measure
    vector = _center(center, y)
    if vector is not None and not same:
        vector = _center(vector, x)
    a = Operand(x, "X", dtype, center=vector, p=p, norm=norm, backend=backend, measure=found if same else None)
    b = a if same else Operand(y, "Y", dtype, center=vector, p=p, norm=norm, backend=backend, measure=found)
    return a, b


def _center(center: Any, rows: Rows) -> Any:
    """Return the center in the memory where the rows live."""
    vector = learned_center(center, rows)
    return None if vector is None else backend_for(*rows.arrays).from_numpy(vector)


def evaluate(make_plan: Callable[..., Plan], X: Any, Y: Any, out: Any, **params: Any) -> Any:
    """Return the kernel matrix, or a float for two 1-D rows."""
    if Y is not None and is_row(X) and is_row(Y):
        return _evaluate_pair(make_plan, X, Y, out, params)
    with np.errstate(all="ignore"):
        plan = make_plan(X, Y, **params)
    if out is not None:
        check_out(out, plan.shape, plan.dtype, *plan.a.rows.arrays, *plan.b.rows.arrays)
    return in_library_of(X, plan.matrix(out))


def _evaluate_pair(make_plan: Callable[..., Plan], x: Any, y: Any, out: Any, params: dict[str, Any]) -> float:
    if out is not None:
        raise InputError(Setting("out"), " cannot be used with two 1-D rows: their similarity is returned as a float.")
    if isinstance(params.get("center"), str):
        raise InputError(
            Setting("center", params["center"]),
            " cannot be learned from two 1-D rows: pass the vector itself, for example center=X_train.mean(axis=0).",
        )
    with np.errstate(all="ignore"):
        plan = make_plan(as_row(x, "X"), as_row(y, "Y"), **params)
    return float(plan.matrix()[0, 0])
