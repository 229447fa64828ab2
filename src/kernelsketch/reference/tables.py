"""Specification of models of tables: components of rows, and probabilities of decision values and trees.

Sums run in the order of features and classes. Exponentials and logarithms are those of the platform's C library, as
``math`` has them, and not NumPy's, whose last bits depend on the instruction set.
"""

from __future__ import annotations

import math

import numpy as np

from .._array import Array

LEAST = 1e-15  # probabilities are never below, so their logarithm is finite


def components(standard: Array, mean: Array, directions: Array) -> Array:
    """Return the components of standardized features: (standard - mean) times directions, summed in float64."""
    centered = standard.astype(np.float64) - mean
    sums = np.zeros((len(standard), directions.shape[1]))
    for j, direction in enumerate(directions):
        sums += centered[:, j : j + 1] * direction
    return sums.astype(np.float32)


def shares(logits: Array) -> Array:
    """Return probabilities of logits (rows, problems): above 0, below 1, and with the sum 1 in each row."""
    if logits.shape[1] == 1:
        logits = np.concatenate([-logits / 2, logits / 2], axis=1)
    found = np.maximum(_softmax(logits), LEAST)
    return found / _sums(found)


def blended(logits: Array, trees: Array, share: float, temperature: float) -> Array:
    """Return the logits of the blend of a linear model and of trees, whose raw values are logits too."""
    if logits.shape[1] == 1:
        upper = 1 / (1 + _exp(-trees))
        by_trees = np.concatenate([1 - upper, upper], axis=1)
    else:
        by_trees = _softmax(trees)
    mixed = (1 - share) * shares(logits) + share * by_trees
    logs = np.array([[math.log(p) for p in row] for row in mixed.tolist()]).reshape(mixed.shape) / temperature
    return logs if logits.shape[1] > 1 else logs[:, 1:] - logs[:, :1]


def _softmax(logits: Array) -> Array:
    found = _exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(found / _sums(found))


def _sums(x: Array) -> Array:
    return np.cumsum(x, axis=1)[:, -1:]  # one class after the other


def _exp(x: Array) -> Array:
    return np.array([[_exp_of(value) for value in row] for row in x.tolist()]).reshape(x.shape)


def _exp_of(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf
