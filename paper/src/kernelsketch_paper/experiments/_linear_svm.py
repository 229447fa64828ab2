"""Linear SVMs with the squared hinge loss on dense features: all classes at once, for every C of a path.

Newton's method minimizes LIBLINEAR's objective, 1/2 |w|^2 + C sum max(0, 1 - y f)^2, in which the intercept is the
weight of a feature of value 1. Gradients and Hessian products of all classes are single matrix products, where
LIBLINEAR passes over the rows class by class.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from .._checks import Array

NEWTON_STEPS, CG_STEPS = 60, 40


@dataclass(frozen=True)
class LinearSVM:
    """A fitted model: weights (features, problems), intercepts, classes, and the seconds since the previous C."""

    C: float
    W: Array
    bias: Array
    classes: Array
    seconds: float
    objective: Array  # one per problem

    def predict(self, Z: Array) -> Array:
        """Return the class of each row."""
        values = Z @ self.W + self.bias
        best = (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
        return np.asarray(self.classes[best])


def linear_path(Z: Array, y: Array, Cs: Any, *, tol: float = 1e-3, intercept: bool = True) -> list[LinearSVM]:
    """Fit a model for each C in ascending order, each warm-started at the previous one.

    The objective of each model is within a fraction ``tol`` of the minimum: the curvature of the objective is at least
    1, so with a gradient g the minimum is at most |g|^2 / 2 lower.
    """
    classes = np.unique(y)
    inside = (y[:, None] == (classes[1:] if len(classes) == 2 else classes)).astype(Z.dtype)
    Y = 2 * inside - 1
    W, found = np.zeros((Z.shape[1] + 1, Y.shape[1]), Z.dtype), []
    one = Z.dtype.type(1 if intercept else 0)
    for C in sorted(Cs):
        start = process_time()
        W, objective = _newton(Z, Y, W, Z.dtype.type(C), one, tol)
        found.append(LinearSVM(float(C), W[:-1].copy(), W[-1] * one, classes, process_time() - start, objective))
    return found


def _newton(Z: Array, Y: Array, W: Array, C: Any, one: Any, tol: float) -> tuple[Array, Array]:
    def values(V: Array) -> Array:
        return np.asarray(Z @ V[:-1] + one * V[-1])

    def back(R: Array) -> Array:
        return np.vstack([Z.T @ R, one * R.sum(axis=0)])

    def losses(f: Array, V: Array) -> Array:
        slack = np.maximum(0, 1 - Y * f)
        return np.asarray(0.5 * _dot(V, V) + float(C) * _dot(slack, slack))

    f = values(W)
    objective = losses(f, W)
    for _ in range(NEWTON_STEPS):
        active = (Y * f < 1).astype(Z.dtype)
        G = W - back(2 * C * active * (Y - f))  # y^2 = 1
        moving = _dot(G, G) / 2 > tol * objective
        if not moving.any():
            break
        D = _solve(lambda V, active=active: V + back(2 * C * active * values(V)), -G * moving, 0.1)
        step, change = np.ones(Y.shape[1], Z.dtype), values(D)
        slope = _dot(G, D)
        for _ in range(30):
            trial = losses(f + step * change, W + step * D)
            worse = moving & (trial > objective + 1e-4 * step * slope)
            if not worse.any():
                break
            step = np.where(worse, step / 2, step).astype(Z.dtype)
        better = trial < objective
        if not (better & moving).any():
            break
        step = np.where(better, step, 0).astype(Z.dtype)
        W, f = W + step * D, f + step * change
        objective = np.where(better, trial, objective)
    return W, objective


def _dot(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", A, B, dtype=np.float64))


def _solve(product: Any, R: Array, tol: float) -> Array:
    """Run conjugate gradients on every column, to a residual of ``tol`` times the right-hand side."""
    X, P, rest = np.zeros_like(R), R.copy(), R.copy()
    square = _dot(rest, rest)
    goal = tol * tol * square
    for _ in range(CG_STEPS):
        moving = square > goal
        if not moving.any():
            break
        Q = product(P)
        curve = _dot(P, Q)
        alpha = np.where(moving, square / np.where(curve > 0, curve, 1), 0).astype(R.dtype)
        X += alpha * P
        rest -= alpha * Q
        following = _dot(rest, rest)
        P = rest + np.where(moving, following / np.where(square > 0, square, 1), 0).astype(R.dtype) * P
        square = following
    return X
