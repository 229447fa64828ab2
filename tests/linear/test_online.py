"""One pass over a stream: blocks move the weights to what fits them, and the average is the model."""

import numpy as np

from helpers.solver import solve
from kernelsketch.backends import LINEAR_BLOCK_ROWS as BLOCK_ROWS
from kernelsketch.backends import LinearObjective
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._problem import Stop, Targets
from kernelsketch.linear._solver import Solver
from kernelsketch.linear._training import OnlineState, learn
from kernelsketch.serving import stride_of


def rows_of(n, k=32, size=20, seed=0):
    """Two classes whose codes differ."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n).astype(np.int32)
    favourites = np.random.default_rng(99).integers(0, size, (2, k))
    codes = np.where(rng.random((n, k)) < 0.3, favourites[labels], rng.integers(0, size, (n, k))).astype(np.uint8)
    ones = np.ones((1, 2), np.float32)
    targets = Targets(labels, None, np.ones(n, np.float32), np.array([1], np.int32), ones)
    return CodeTable(codes, np.zeros(n, np.uint8), np.arange(size)), targets


def fresh(k=32, size=20):
    w = np.zeros((1, k, stride_of(size)), np.float32)
    return OnlineState(np.arange(size), w, np.zeros(1), w.copy(), np.zeros(1), 0)


def test_one_block_is_its_own_problem():
    """From zeros, the first block is solved like a problem of its own, up to the sweeps that are made."""
    table, targets = rows_of(200)
    state = fresh()
    learn(state, table, targets, Solver(LinearObjective(0, 1.0), Stop()))
    exact = solve(table, targets, LinearObjective(0, 1.0), Stop(1e-7))
    np.testing.assert_array_equal(state.w, state.mean_w)
    assert state.blocks == 1
    np.testing.assert_allclose(state.w, exact.w, rtol=0, atol=0.05 * np.abs(exact.w).max())


def test_the_average_counts_later_blocks_more():
    table, targets = rows_of(3 * BLOCK_ROWS + 7)
    state = fresh()
    steps = []
    for start in range(0, len(table.codes), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        piece = CodeTable(table.codes[part], table.empty[part], table.used_codes)
        learn(
            state,
            piece,
            targets._replace(labels=targets.labels[part], cost=targets.cost[part]),
            Solver(LinearObjective(0, 1.0), Stop()),
        )
        steps.append((state.w.copy(), state.bias.copy()))
    assert state.blocks == 4
    shares = np.arange(1, 5) / 10
    np.testing.assert_allclose(state.mean_w, sum(s * w for s, (w, _) in zip(shares, steps, strict=True)), atol=1e-6)
    np.testing.assert_allclose(state.mean_bias, sum(s * b for s, (_, b) in zip(shares, steps, strict=True)), atol=1e-9)


def test_a_stream_learns_and_an_order_is_drawn():
    table, targets = rows_of(2000)
    tested, truth = rows_of(500, seed=1)
    order = np.argsort(targets.labels, kind="stable")  # the worst order: the order within a call is drawn
    ordered = CodeTable(np.ascontiguousarray(table.codes[order]), table.empty, table.used_codes)
    state = fresh()
    learn(state, ordered, targets._replace(labels=targets.labels[order]), Solver(LinearObjective(0, 1.0), Stop()))
    f = state.mean_w[0][np.arange(32), tested.codes].sum(axis=1) + state.mean_bias[0]
    assert ((f > 0) == (truth.labels == 1)).mean() > 0.9
