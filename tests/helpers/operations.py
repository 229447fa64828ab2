"""Every method of the back end protocols on a few rows, so that a test can compare all back ends with each other.

``OPERATIONS[name](backend)`` calls the method and returns what it gives as NumPy arrays, numbers and tuples of them.
"""

from __future__ import annotations

import inspect

import numpy as np
from scipy import sparse

from kernelsketch._losses import loss_number
from kernelsketch.backends import (
    ByteRows,
    CsrRows,
    DenseRows,
    FourierParams,
    GcwsParams,
    Graph,
    Growth,
    HashView,
    LinearObjective,
    LinearPass,
    LinearTargets,
    NewtonProblem,
    NewtonStep,
    Queries,
    Ratio,
    ReadyModel,
    ReadyTable,
    SearchParams,
    Segment,
    ShingleParams,
    Symbols,
    TreeArrays,
    Vectors,
)

RNG = np.random.default_rng(0)
N, D, K, CODES = 40, 12, 6, 4  # rows, features, hashes, used codes
X = RNG.normal(size=(N, D)).astype(np.float32) * (RNG.random((N, D)) < 0.6)
X[1] = 0
DENSE, SPARSE = DenseRows(X), CsrRows.of(sparse.csr_array(X))
BYTES = RNG.integers(0, 256, (N, 16)).astype(np.uint8)
SUMS = BYTES.sum(axis=1).astype(np.float32)
HASH = GcwsParams(K, 7, 1.0, None)
SLOTS, T, COUNTS = RNG.integers(0, 2**62, (N, K)), RNG.integers(-9, 9, (N, K)), np.array([2, 0, 3, 1])
LABELS, EMPTY = RNG.integers(0, CODES, (N, K)).astype(np.uint8), np.zeros(N, np.uint8)
EMPTY[1] = 1
W, BIAS = RNG.normal(size=(2, K, 16)), RNG.normal(size=2)
OBJECTIVE = LinearObjective(loss_number("squared_hinge"), 0.5)
TARGETS = LinearTargets(
    LABELS[:, 0] % np.int32(2), None, np.ones(N, np.float32), np.arange(2, dtype=np.int32), np.ones((2, 2), np.float32)
)
VECTORS = Vectors(np.abs(X).sum(axis=1, dtype=np.float64), dense=X)
LISTED = Vectors(VECTORS.norms, indptr=SPARSE.indptr, indices=SPARSE.indices, data=SPARSE.data, n_features=D)
SEARCH = SearchParams(2, 0, N, 3, 0.0, exact=True, later_only=False)
INDEX = Segment(LABELS, EMPTY, np.arange(N), np.zeros((0, N - 1), np.uint32), np.zeros((0, 3), np.uint32), VECTORS)
GRAPH = Graph(np.repeat(np.arange(N, dtype=np.uint32)[:, None], 3, axis=1), np.arange(2, 6, dtype=np.uint32),
              np.fmax(BYTES.sum(axis=1), 1).astype(np.float32), 100, 50.0, BYTES[:, :D].copy())  # fmt: skip
TREES = TreeArrays(
    *(np.array(x, np.int32) for x in ([0, -1, -1],)), np.array([0.1, 0, 0]),
    *(np.array(x, np.int32) for x in ([1, -1, -1], [2, -1, -1])), np.array([1, 0, 0], np.uint8),
    np.array([0, -1.5, 2.5]), np.array([0], np.int32), np.array([0.5]),
)  # fmt: skip
LOGITS = RNG.normal(scale=4, size=(N, 3))
LOGITS[3] = [800, -800, 0]
TEXTS = ("one two three two", b"a fox; a FOX")


def methods_of(protocol):
    """The names of the methods and properties of a protocol and of those that it extends."""
    parts = [part for part in protocol.__mro__ if getattr(part, "_is_protocol", False)]
    return sorted(name for part in parts for name, x in vars(part).items() if _is_operation(name, x))


def _is_operation(name, value):
    return not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))


def _csr_matrix(backend):
    arrays = map(backend.from_numpy, (SPARSE.data, SPARSE.indices, SPARSE.indptr))
    matrix = backend.csr_matrix(*arrays, SPARSE.shape)
    return tuple(map(backend.to_numpy, (matrix.data, matrix.indices, matrix.indptr)))


def _state():
    return [np.zeros((2, K, 16)), np.zeros(2), np.zeros((2, N))]


def _linear_pass(backend):
    w, bias, beta = _state()
    fixed = np.full(2, np.inf, np.float32), np.ones(2, np.uint8)
    order = np.arange(N, dtype=np.int32)
    stats = backend.linear_pass(
        LABELS, EMPTY, OBJECTIVE, LinearPass(order, *TARGETS, *fixed, w, bias, beta, np.zeros((2, N), np.uint8), 4)
    )
    return stats, w, bias, beta


def _linear_accumulate(backend):
    sums = np.zeros((K, 16))
    backend.linear_accumulate(LABELS, EMPTY, VECTORS.norms, sums)
    return sums


def _newton_step(backend):
    w, bias, beta = _state()
    numbers = np.arange(2)
    rows = LABELS[:, ::2] + CODES * LABELS[:, 1::2].astype(np.uint16)
    codes = np.stack([np.arange(CODES**2) % CODES, np.arange(CODES**2) // CODES], axis=1)
    cells = np.array([codes + 16 * (2 * group + numbers) for group in range(K // 2)], np.int32)
    symbols = Symbols(rows, np.full(K // 2, CODES**2, np.int64), cells)
    state = NewtonStep(
        *TARGETS, np.ones(2, np.uint8), np.ones(2, np.uint8), w, bias, beta, np.zeros((2, N)),
        1e-3, symbols, 256, np.full(2, 9),
    )  # fmt: skip
    return backend.newton_step(LABELS, EMPTY, OBJECTIVE, state), w, bias, beta


def _newton_solve(backend):
    tol, passes = 1e-6, []
    problem = NewtonProblem(TARGETS, *_state(), tol, 1000)
    solved = backend.newton_solve(LABELS, EMPTY, OBJECTIVE, problem, lambda count, gaps: passes.append(count))
    return solved.relative_gaps.max() <= tol, passes[-1] == solved.passes.max()


def _predictor(backend):
    """Rows to decision values; a back end without such a function computes them step by step."""
    numbers, weights = np.arange(256, dtype=np.uint8) % 16, W[:, :, :16].astype(np.float32)
    decide = backend.predictor(ReadyModel([HashView(7, D, K, None)], None, 1.0, 8, 0, numbers, weights, BIAS))
    if decide is not None:
        return decide(DENSE)
    codes, empty = backend.gcws_codes(DENSE, HASH, 8, 0)
    return backend.linear_decide(numbers[codes], empty, 1.0, weights, BIAS).astype(np.float64)


def _table_predictor(backend):
    """Features to a number; a back end without such a function computes it step by step."""
    numbers, weights = np.arange(256, dtype=np.uint8) % 16, W[:1, :, :16].astype(np.float32)
    model = ReadyModel([HashView(7, D, K, None)], None, 1.0, 8, 0, numbers, weights, BIAS[:1])
    features, scales = np.stack([np.arange(D), np.arange(D)], axis=1), np.tile([1.0, -9.0, 9.0, 0.0, 1.0], (D, 1))
    none = np.zeros((0, 1)), np.zeros(0)
    table = ReadyTable(
        model, TREES, features, np.zeros(0, np.int64), scales, np.tile(np.arange(3.0), (D, 1)), np.zeros(D),
        np.zeros((D, 0)), np.arange(D, dtype=np.int32), np.ones(D, np.float32), *none, 2.0, 3.0, 0.25, 1.0,
    )  # fmt: skip
    made = backend.table_predictor(table)
    if made is not None:
        return made.values(X.astype(np.float64), np.zeros((N, 0), np.int32))
    codes, empty = backend.gcws_codes(DENSE, HASH, 8, 0)
    found = 2.0 + 3.0 * backend.linear_decide(numbers[codes], empty, 1.0, weights, BIAS[:1]).astype(np.float64)
    return 0.75 * found + 0.25 * backend.trees_decide(X.astype(np.float64), TREES)


def _join_count(backend):
    counters = np.zeros(1 << 12, np.uint16)
    backend.join_count(SPARSE, counters)
    return counters


def _growth_rows(backend):
    binned, gradients = np.ascontiguousarray(BYTES[:, :3].T % 5), SLOTS[:, :2].T % 1000 - 500
    rows = backend.growth_rows(binned, np.full(3, 5, np.int32))
    grown = rows.grow(*(x.astype(np.int32, order="C") for x in (gradients, gradients % 9)), Growth(4, 2, 1.0, 0.1))
    return tuple(grown[:-2]), grown.sizes, grown.values


def linked(backend):
    """The links of a graph, which the back end writes."""
    links = GRAPH.links.copy()
    backend.graph_build(GRAPH.bytes, GRAPH.norms, np.delete(np.arange(N, dtype=np.uint32), 1), 0, links)
    return links


OPERATIONS = {
    # Arrays
    "empty": lambda b: b.empty((3, 2), np.float32).shape,
    "zeros": lambda b: b.to_numpy(b.zeros((3, 2), np.int32)),
    "from_numpy": lambda b: b.to_numpy(b.from_numpy(X)),
    "to_numpy": lambda b: b.to_numpy(b.from_numpy(EMPTY)),
    "csr_matrix": _csr_matrix,
    # Values
    "measure": lambda b: (tuple(b.measure(DENSE)), tuple(b.measure(SPARSE))),
    "to_bytes": lambda b: b.to_bytes(BYTES.astype(np.float32), 0, 24),
    # Kernels
    "gmm": lambda b: (
        b.gmm(X, X[:5], Ratio.MIN_MAX),
        b.gmm(ByteRows(BYTES, SUMS), ByteRows(BYTES[:5], SUMS[:5]), Ratio.INTERSECTION),
        b.gmm(SPARSE, SPARSE, Ratio.MIN_MAX, symmetric=True),
    ),
    # Hashes
    "gcws_codes": lambda b: (b.gcws_codes(DENSE, HASH, 6, 2), b.gcws_codes(SPARSE, HASH, 12, 0)),
    "gcws_samples": lambda b: b.gcws_samples(DENSE, HASH._replace(center=np.ones(D))),
    "gcws_fingerprints": lambda b: b.gcws_fingerprints(SPARSE, HASH),
    "concatenate": lambda b: b.concatenate(SLOTS, T, COUNTS),
    "pack": lambda b: b.pack(LABELS, 3),
    "unpack": lambda b: b.unpack(BYTES, 11, 9),
    "used_codes": lambda b: b.used_codes(LABELS, 3),
    "renumber": lambda b: b.renumber(LABELS, np.arange(9, dtype=np.uint8)[::-1].copy()),
    "match_counts": lambda b: b.match_counts(LABELS, EMPTY.astype(bool), LABELS[:9], EMPTY[:9].astype(bool)),
    # Fourier
    "fourier": lambda b: b.fourier(DENSE, FourierParams(K, 1.5, 7, True), 1 << 20),
    # Linear
    "newton": lambda b: b.newton in ("none", "steps", "whole"),
    "linear_pass": _linear_pass,
    "linear_decide": lambda b: b.linear_decide(LABELS, EMPTY, 0.5, W, BIAS),
    "linear_accumulate": _linear_accumulate,
    "newton_step": _newton_step,
    "make_symbols": lambda b: b.make_symbols(LABELS, EMPTY, 2, CODES**2),
    "newton_solve": _newton_solve,
    # Index
    "index_tables": lambda b: b.index_tables(LABELS, EMPTY, 3, 2, 4),
    "index_norms": lambda b: (b.index_norms(VECTORS), b.index_norms(LISTED)),
    "index_heavy": lambda b: b.index_heavy(LISTED, 0.5),
    "graph_bytes": lambda b: b.graph_bytes(X, 100, 50.0),
    "graph_build": lambda b: linked(b),
    "graph_search": lambda b: b.graph_search(
        Queries(LABELS[:, :0], EMPTY, VECTORS, 0), [INDEX._replace(graph=GRAPH._replace(links=linked(b)))], 5, 3
    ),
    "index_search": lambda b: b.index_search(Queries(LABELS, EMPTY, VECTORS, 0), [INDEX], SEARCH),
    # What only the processor has
    "predictor": _predictor,
    "trees_decide": lambda b: b.trees_decide(X.astype(np.float64), TREES),
    "tree_shapley": lambda b: b.tree_shapley(
        X.astype(np.float64), X[:5].astype(np.float64), TREES, np.zeros(D, np.int32), 2
    ),
    "growth_rows": _growth_rows,
    "quantile_levels": lambda b: b.quantile_levels(X.astype(np.float64), np.tile(np.arange(-3.0, 4), (D, 1))),
    "components": lambda b: b.components(X, np.arange(D) / 7, np.outer(np.arange(D) - 2.0, [0.3, -1.1, 2.0])),
    "shares": lambda b: (b.shares(LOGITS), b.shares(LOGITS[:, :1])),
    "blended": lambda b: (b.blended(LOGITS, -LOGITS, 0.3, 1.2), b.blended(LOGITS[:, :1], LOGITS[:, 1:2], 0.3, 1.2)),
    "table_predictor": _table_predictor,
    "weighted_differences": lambda b: b.weighted_differences(X, np.outer(SUMS, SUMS)),
    "join_keys": lambda b: b.join_keys(SPARSE),
    "join_count": _join_count,
    "join_prefixes": lambda b: b.join_prefixes(SPARSE, _join_count(b), 0.5),
    "join_similarities": lambda b: b.join_similarities(SPARSE, np.arange(9), np.arange(9, 18)),
    "shingles": lambda b: b.shingles(np.frombuffer(TEXTS[1], np.uint8), np.array([0, 5, 12]), SHINGLES),
    "shingles_of_texts": lambda b: b.shingles_of_texts(TEXTS, SHINGLES),
    "is_canonical": lambda b: (b.is_canonical(*SPARSE.arrays[:2], D), b.is_canonical(*SPARSE.arrays[:2], 3)),
}
SHINGLES = ShingleParams(True, 1, 2, True)
SUMS_OF_ROUNDED = {"linear_accumulate", "linear_pass"}  # whose order is not specified


def assert_same(found, expected, name):
    """Compare what two back ends give for an operation: arrays, numbers and tuples of them, bit for bit."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected), name
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, name)
        return
    rounding = 1e-12 if name in SUMS_OF_ROUNDED else 0
    np.testing.assert_allclose(found, expected, rtol=rounding, atol=rounding, err_msg=name)
    assert np.asarray(found).dtype == np.asarray(expected).dtype, name
