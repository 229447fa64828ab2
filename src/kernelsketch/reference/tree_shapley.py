"""Specification of Shapley values of the sums of trees, against background rows.

Each feature belongs to a column. The value of a set S of columns is the mean of the sums of trees over the background
rows z, of rows that have the columns of S from the row x and the others from z. Such a row reaches a leaf if x passes
the splits of the columns of S on the path, and z those of the others. Of the columns on the path, let A be those that
x passes and z does not, and B those that z passes and x does not; if both fail in a column, no mixture reaches the
leaf. Then the Shapley value of the indicator of the leaf is (a - 1)! b! / (a + b)! for each column of A, and
-a! (b - 1)! / (a + b)! for each of B, where a and b are the sizes of A and B. These are added in the order of the
leaves, from left to right.

S. M. Lundberg et al. *From local explanations to global understanding with explainable AI for trees.* Nature Machine
Intelligence 2, 2020: interventional TreeSHAP.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._array import Array

if TYPE_CHECKING:
    from ..backends import TreeArrays


class Passed(NamedTuple):
    """Whether the splits of a column on a path are passed: by the row, and by each background row."""

    by_row: bool
    by_others: Array


def contributions(features: Array, background: Array, trees: TreeArrays, owners: Array, n_columns: int) -> Array:
    """Return the Shapley values (rows, columns, outputs)."""
    n_outputs = len(trees.baseline)
    out = np.zeros((len(features), n_columns, n_outputs))
    weight = weights(n_columns)
    for number, root in enumerate(trees.roots):
        for row, found in zip(features, out[:, :, number % n_outputs], strict=True):
            for leaf, path in paths(row, background, trees, owners, int(root), {}):
                _add(found, trees.value[leaf], path, weight)
    return out / len(background)


def weights(n: int) -> Array:
    """Return (a - 1)! b! / (a + b)! at [a, b] for a from 1 and b from 0 to n."""
    out = np.zeros((n + 1, n + 1))
    out[1:, 0] = 1 / np.arange(1, n + 1)
    for b in range(1, n + 1):
        out[1:, b] = out[1:, b - 1] * b / (np.arange(1, n + 1) + b)
    return out


def paths(
    row: Array, background: Array, trees: TreeArrays, owners: Array, node: int, path: dict[int, Passed]
) -> Iterator[tuple[int, dict[int, Passed]]]:
    """Yield the leaves below a node, each with the columns of the splits on its path."""
    if trees.left[node] < 0:
        yield node, path
        return
    feature = trees.feature[node]
    column = int(owners[feature])
    x = np.append(background[:, feature], row[feature])
    goes_left = np.where(np.isnan(x), trees.missing_left[node] != 0, x <= trees.threshold[node])
    before = path.get(column, Passed(True, np.ones(len(background), bool)))
    for child, goes in ((trees.left[node], goes_left), (trees.right[node], ~goes_left)):
        passed = Passed(before.by_row and bool(goes[-1]), before.by_others & goes[:-1])
        yield from paths(row, background, trees, owners, int(child), {**path, column: passed})


def _add(out: Array, value: float, path: dict[int, Passed], weight: Array) -> None:
    """Add the value of a leaf, times the sum of the Shapley values of its indicator over the background rows."""
    mine = [column for column, passed in path.items() if passed.by_row]  # A, where the background row does not pass
    b = len(path) - len(mine)  # the size of B, as every background row that reaches the leaf passes there
    reached = np.ones(len(next(iter(path.values())).by_others) if path else 0, bool)
    for column in path.keys() - mine:
        reached &= path[column].by_others
    a = sum((~path[column].by_others for column in mine), np.zeros(len(reached), np.int64))
    for column, passed in path.items():
        counted = reached & ~passed.by_others if passed.by_row else reached
        total = 0.0
        for size, count in enumerate(np.bincount(a[counted], minlength=len(mine) + 1)):
            if count:
                total += count * (weight[size, b] if passed.by_row else weight[b, size])
        out[column] += value * total if passed.by_row else -(value * total)
