"""Checks of whole arrays in native code let other threads of Python run."""

import sys
import threading
from contextlib import suppress

import numpy as np
import pytest

from kernelsketch import _native

N = 1 << 20
ISA = "baseline"


def runs_meanwhile(call):
    """Whether another thread runs while native code does. The interpreter itself does not switch threads here."""
    interval, go, ran = sys.getswitchinterval(), threading.Lock(), threading.Event()
    go.acquire()

    def run():
        with go:
            ran.set()

    other = threading.Thread(target=run)
    sys.setswitchinterval(1000)
    try:
        other.start()
        go.release()
        for _ in range(1000):  # the thread may take a while to get a core
            call()
            if ran.is_set():
                return True
        return False
    finally:
        sys.setswitchinterval(interval)
        other.join()


def zeros_and(last):
    """N numbers: the last is the one given, all others are 0."""
    numbers = np.zeros(N, np.int64)
    numbers[-1] = last
    return numbers


def targets():
    return _native.LinearTargets(
        np.zeros(N, np.int32), None, np.ones(N, np.float32), np.zeros(1, np.int32), np.ones((1, 2), np.float32)
    )


CODES = _native.CodeRows(np.zeros((N, 2), np.uint8), np.zeros(N, np.uint8))
OBJECTIVE = _native.LinearObjective(1, 1.0)
ONES = {"running": np.ones(1, np.uint8), "beta": np.zeros((1, N), np.float32)}
WEIGHTS = {"w": np.zeros((1, 2, 16), np.float32), "bias": np.zeros(1), "threads": 1}


def order_of_a_pass():
    order = zeros_and(N).astype(np.int32)
    shrunk, stats = np.zeros((1, N), np.uint8), np.zeros((1, 5))
    arrays = _native.LinearPass(
        targets(), order, threshold=np.zeros(1, np.float32), sweeps=1, shrunk=shrunk, stats=stats, **ONES
    )
    return lambda: _native.linear_pass(ISA, CODES, OBJECTIVE, arrays, **WEIGHTS)


def cells_of_symbols():
    cells = zeros_and(32).astype(np.int32).reshape(1, -1, 2)
    symbols = _native.Symbols(np.zeros((N, 1), np.uint16), np.ones(1, np.int64), cells)
    arrays = _native.NewtonStep(
        targets(),
        symbols,
        fresh=np.ones(1, np.uint8),
        most=np.ones(1, np.int64),
        tol=0.1,
        sample=1,
        f=np.zeros((1, N), np.float32),
        stats=np.zeros((1, 4)),
        **ONES,
    )
    return lambda: _native.newton_step(ISA, CODES, OBJECTIVE, arrays, **WEIGHTS)


def codes_to_renumber():
    codes = zeros_and(16).astype(np.uint16).reshape(1, -1)
    number_of, numbers = np.zeros(16, np.uint8), np.zeros(codes.shape, np.uint8)
    return lambda: _native.renumber(codes, number_of, numbers, 1)


def codes_to_mark():
    codes, used = zeros_and(16).astype(np.uint16).reshape(1, -1), np.zeros(16, np.uint8)
    return lambda: _native.mark_used(codes, used, 1)


def ends_of_csr_rows():
    indptr, indices, data = zeros_and(0), np.zeros(0, np.int32), np.zeros(0, np.float32)
    indptr[-2] = 1
    return lambda: _native.CsrRows(indptr, indices, data, 4)


def rows_of_a_join():
    rows = _native.CsrRows(np.zeros(5, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 4)
    pairs, found = zeros_and(4), np.zeros(N)
    return lambda: _native.join_similarities(rows, pairs, pairs, found, 1)


def maker_of_predictors(bits, number_of):
    hashes = _native.PredictorHash([_native.HashView(0, 4, 1, [])], [], 1.0, bits, 0)
    w, offset = np.zeros((1, 1, 16), np.float32), np.zeros(1)
    return lambda: _native.Predictor(ISA, hashes, number_of, w, offset)


def features_of_a_prediction():
    indices = zeros_and(4).astype(np.int32)
    rows = _native.CsrRows(np.arange(N + 1), indices, np.ones(N, np.float32), 4)
    predictor, out = maker_of_predictors(8, np.zeros(256, np.uint8))(), np.zeros((N, 1))
    return lambda: predictor.decide(rows, out, 1)


def numbers_of_a_predictor():
    number_of = np.zeros(1 << 16, np.uint16)
    number_of[-1] = 16
    return maker_of_predictors(16, number_of)


def ends_of_texts():
    ends, text = zeros_and(0), np.zeros(0, np.uint8)
    ends[-2] = 1
    how = {"words": True, "n_min": 1, "n_max": 1, "lowercase": True, "threads": 1}
    return lambda: _native.shingles(text, ends, **how)


def ends_of_lines():
    ends, heads = zeros_and(0), np.zeros(0, np.uint8)
    ends[-2] = 1
    rows = {"indptr": ends, "ids": np.zeros(0, np.int64), "values": np.zeros(0, np.float32), "base": 0}
    return lambda: _native.text_lines(heads=heads, head_ends=ends, qid=None, **rows)


def flags_of_an_index():
    codes, flags = np.zeros((N, 1), np.uint8), np.zeros(N, np.uint8)
    rows, starts = np.zeros((1, 5), np.uint32), np.zeros((1, 2), np.uint32)
    return lambda: _native.index_tables(codes, flags, 1, 0, rows, starts, 1)


@pytest.mark.parametrize(
    "check",
    [
        order_of_a_pass,
        cells_of_symbols,
        codes_to_renumber,
        codes_to_mark,
        ends_of_csr_rows,
        rows_of_a_join,
        features_of_a_prediction,
        numbers_of_a_predictor,
        ends_of_texts,
        ends_of_lines,
        flags_of_an_index,
    ],
)
def test_other_threads_run_during_a_check(check):
    call = check()
    with pytest.raises(ValueError, match=r".+"):
        call()

    def refused():
        with suppress(ValueError):
            call()

    assert runs_meanwhile(refused)
