"""Objects that many threads have worked for, in other processes and in 16 threads at once: the same results.

A child that is forked has the memory of its parent, but only the thread that called fork. A deadlock fails after
`LONGEST` seconds instead of never; also on a machine that does much else nothing takes as long.
"""

import multiprocessing
import threading
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import GCWSClassifier, GCWSIndex, GCWSTabularClassifier, NearDuplicates

LONGEST = 900
METHODS = [method for method in ("fork", "spawn", "forkserver") if method in multiprocessing.get_all_start_methods()]


def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 800)
    X = rng.normal(size=(3, 8))[y] + rng.normal(scale=0.7, size=(800, 8))
    X[600:] = X[:200] * 1.02
    return X.astype(np.float32), y


@cache
def made(name):
    X, y = rows()
    if name == "GCWSIndex":
        return GCWSIndex(n_jobs=3).fit(X[:500]).add(X[500:]).remove([3, 600])
    if name == "GCWSIndex of inverted lists":
        return GCWSIndex(heavy_fraction=0.8, n_jobs=3).fit(sparse.csr_array(X))
    if name == "GCWSTabularClassifier":
        return GCWSTabularClassifier("quick", n_jobs=3).fit(X[:200], y[:200])
    if name == "NearDuplicates":
        return NearDuplicates(0.8, n_jobs=3)
    model = GCWSClassifier(64, loss="log_loss", n_jobs=3).fit(X, y)
    return model.predictor() if name == "Predictor" else model


def results(name, made):
    """What the object says, as bytes."""
    X, _ = rows()
    if name.startswith("GCWSIndex"):
        asked = sparse.csr_array(X[:50]) if made.heavy_fraction else X[:50]
        found = [
            *made.kneighbors(asked, 3),
            *made.query_pairs(0.9),
            *map(np.concatenate, made.neighbors_above(asked, threshold=0.7)),
        ]
    elif name == "NearDuplicates":
        found = [*made.pairs(X), *made.pairs(sparse.csr_array(X))]
    else:
        found = [made.predict(X[:200]), made.predict_proba(X[:200])]
    return [np.asarray(part).tobytes() for part in found]


NAMES = [
    "GCWSIndex",
    "GCWSIndex of inverted lists",
    "GCWSClassifier",
    "GCWSTabularClassifier",
    "NearDuplicates",
    "Predictor",
]


def answer(objects, answers):
    warnings.simplefilter("error")
    try:
        answers.put([results(name, one) for name, one in objects.items()])
    except BaseException as error:
        answers.put(repr(error))


@pytest.mark.parametrize("method", METHODS)
def test_another_process(method):
    objects = {name: made(name) for name in NAMES}
    expected = [results(name, one) for name, one in objects.items()]
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    process = context.Process(target=answer, args=(objects, answers), daemon=True)  # as in a pool
    process.start()
    found = answers.get(timeout=LONGEST)
    process.join(LONGEST)
    assert process.exitcode == 0
    assert found == expected


@pytest.mark.parametrize("name", NAMES)
def test_sixteen_threads_on_one_object(name):
    expected, found, ready = results(name, made(name)), [], threading.Barrier(16)

    def work():
        ready.wait()
        found.append(results(name, made(name)))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
    assert found == 16 * [expected]
