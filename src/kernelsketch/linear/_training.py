"""Training: how a model was learned and from where learning goes on, beside the fitted model itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hashing import PackedCodes
from ..serving import LinearModel, stride_of
from ._code_table import check_code_count, find_used_codes, widen
from ._online import OnlineState

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, slots=True)
class Training:
    """What only learning needs of a fit; predictions do not.

    Attributes
    ----------
    bias : array of shape (problems,)
        Weights of the feature of the intercept, whose value is ``intercept_scaling``.
    n_iter : int
        Number of passes of the problem that took the most.
    gap, objective : arrays of shape (problems,) or None
        Duality gap and objective of each problem, after a fit to a gap.
    duals : array of shape (problems, rows) or None
        From which a warm start continues.
    stream : OnlineState or None
        From which ``partial_fit`` continues.
    """

    bias: Array
    n_iter: int
    gap: Array | None = None
    objective: Array | None = None
    duals: Array | None = None
    stream: OnlineState | None = None


def streamed(state: OnlineState, intercept_value: float, **fields: Any) -> tuple[LinearModel, Training]:
    """Return the model and the training of a state of one-pass learning. ``fields`` are the other ones of the model."""
    intercepts = intercept_value * state.mean_bias
    model = LinearModel(used_codes=state.used_codes, weights=state.mean_w, intercepts=intercepts, **fields)
    return model, Training(state.mean_bias, 1, stream=state)


def next_state(model: LinearModel | None, training: Training | None, codes: PackedCodes, problems: int) -> OnlineState:
    """Return a copy of the state from which partial_fit continues, with room for the codes of the next rows.

    It is the state of the previous partial_fit, the fitted model, or zeros.
    """
    found = find_used_codes(codes)
    state = None if training is None else training.stream
    if state is None:
        if model is not None and training is not None:
            used_codes, w, bias = model.used_codes, model.weights.astype(np.float32), training.bias.copy()
        else:
            used_codes, bias = found, np.zeros(problems)
            w = np.zeros((problems, codes.n_components, stride_of(len(found))), np.float32)
        state = OnlineState(used_codes, w, bias, w.copy(), bias.copy(), 0)
    used_codes = np.union1d(state.used_codes, found)
    check_code_count(used_codes, codes)
    if len(used_codes) > len(state.used_codes):
        w, mean = widen(state.w, state.used_codes, used_codes), widen(state.mean_w, state.used_codes, used_codes)
    else:
        w, mean = state.w.copy(), state.mean_w.copy()
    return OnlineState(used_codes, w, state.bias.copy(), mean, state.mean_bias.copy(), state.blocks)
