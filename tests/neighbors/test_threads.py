"""Threads that share an index get results of calls one after the other, in some order.

Writers add and remove batches of rows, each in a fixed order and with ids of its own. So the ids that a reader sees say
how many calls of each writer came before: they must be those after some number of its calls, and never fewer later on.
"""

import copy
import os
import pickle
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from helpers.answers import answers
from kernelsketch import GCWSIndex
from kernelsketch.exceptions import InputError

BATCH, BATCHES, WRITERS = 3, 16, 3
SMALL = {"n_tables": 4, "hashes_per_table": 2, "n_components": 16}
KINDS = {
    "dense": SMALL,
    "codes": SMALL | {"store_vectors": False, "n_components": 64},
    "lists": {"heavy_fraction": 0.8},
}
X = np.random.default_rng(5).gamma(1.0, size=(WRITERS * BATCHES * BATCH, 12))


@pytest.fixture(autouse=True)
def _switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def rows_for(kind, X):
    return sparse.csr_array(X) if kind == "lists" else X


def run(*works):
    """Run functions on threads that start together. An error of one of them is raised here."""
    start, failures = threading.Barrier(len(works)), []

    def work(function):
        try:
            start.wait()
            function()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(function,)) for function in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def batch(writer, number):
    first = (writer * BATCHES + number) * BATCH
    return np.arange(first, first + BATCH)


def calls(writer):
    """Yield what a writer does: it adds each batch, and removes every second one after the next is added."""
    for number in range(1, BATCHES):
        yield "add", batch(writer, number)
        if number % 2:
            yield "remove", batch(writer, number)[::2]


def states(writer):
    """Return the ids of a writer after each number of its calls; the first batch is there at the start."""
    there = set(batch(writer, 0).tolist())
    found = [frozenset(there)]
    for call, ids in calls(writer):
        there = there | set(ids.tolist()) if call == "add" else there - set(ids.tolist())
        found.append(frozenset(there))
    return found


STATES = [states(writer) for writer in range(WRITERS)]


class Observer:
    """Checks that ids are those of some moment, no earlier than those that it has seen before."""

    def __init__(self):
        self.at = [0] * WRITERS

    def see(self, ids):
        for writer in range(WRITERS):
            low, high = batch(writer, 0)[0], batch(writer, BATCHES)[0]
            seen = frozenset(i for i in ids if low <= i < high)
            assert seen in STATES[writer][self.at[writer] :], (writer, self.at, sorted(seen))
            self.at[writer] = STATES[writer].index(seen, self.at[writer])


def started(kind):
    ids = np.concatenate([batch(writer, 0) for writer in range(WRITERS)])
    return GCWSIndex(**KINDS[kind]).fit(rows_for(kind, X[ids]), ids=ids)


def writers(index, kind, done):
    def write(writer):
        try:
            for call, ids in calls(writer):
                if call == "add":
                    index.add(rows_for(kind, X[ids]), ids)
                else:
                    index.remove(ids)
        finally:
            done.append(writer)

    return [lambda writer=writer: write(writer) for writer in range(WRITERS)]


def until(done, look):
    """Return a function that looks until all writers are done, and once more."""

    def work():
        last = False
        while not last:
            last = len(done) == WRITERS
            look()

    return work


def by_threshold(index, kind):
    return np.concatenate(index.neighbors_above(rows_for(kind, X), threshold=1.0)[1]).tolist()


def by_neighbors(index, kind):
    distances, ids = index.kneighbors(rows_for(kind, X), 1)
    return ids[distances == 0].tolist()


# Each returns the ids of the rows that are there: a query finds a row at distance 0 of itself alone.
QUERIES = {
    "ids_": lambda index, kind: index.ids_.tolist(),
    "neighbors_above": by_threshold,
    "kneighbors": by_neighbors,
    "pickle": lambda index, kind: pickle.loads(pickle.dumps(index)).ids_.tolist(),
    "deepcopy": lambda index, kind: by_threshold(copy.deepcopy(index), kind),
}


@pytest.mark.parametrize("kind", KINDS)
def test_additions_with_the_next_ids(kind):
    index = GCWSIndex(**KINDS[kind]).fit(rows_for(kind, X[:BATCH]))

    def add(writer):
        for number in range(BATCHES):
            ids = batch(writer, number)
            if ids[0] >= BATCH:
                index.add(rows_for(kind, X[ids]))

    run(*(lambda writer=writer: add(writer) for writer in range(WRITERS)))
    assert index.n_samples_fit_ == len(X)
    np.testing.assert_array_equal(index.ids_, np.arange(len(X)))
    found = index.neighbors_above(rows_for(kind, X), threshold=1.0)[1]
    ids = np.array([i for (i,) in found])
    assert sorted(ids) == list(range(len(X)))
    assert (np.diff(ids.reshape(-1, BATCH), axis=1) == 1).all()  # the rows of a call are not torn apart
    again = GCWSIndex(**KINDS[kind]).fit(rows_for(kind, X[np.argsort(ids)]))
    assert answers(index, rows_for(kind, X[:9])) == answers(again, rows_for(kind, X[:9]))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("kind", KINDS)
def test_queries_see_the_rows_of_one_moment(kind, query):
    index, observer, done = started(kind), Observer(), []
    run(*writers(index, kind, done), until(done, lambda: observer.see(QUERIES[query](index, kind))))
    ids = np.sort(np.concatenate([list(each[-1]) for each in STATES]))
    np.testing.assert_array_equal(index.ids_, ids)
    assert index.n_samples_fit_ == len(ids)
    new = GCWSIndex(**KINDS[kind]).fit(rows_for(kind, X[ids]), ids=ids)
    assert answers(index, rows_for(kind, X[:9])) == answers(new, rows_for(kind, X[:9]))
    assert answers(index) == answers(new)


@pytest.mark.parametrize("kind", KINDS)
def test_queries_of_the_indexed_rows(kind):
    """Whether two rows are neighbours depends on these two: a row is found as often as it finds others."""
    index, done = started(kind), []

    def look():
        ids = index.neighbors_above(threshold=0.2, return_distance=False)
        sizes = np.array([len(found) for found in ids])
        counts = np.unique(np.concatenate(ids), return_counts=True)[1]
        assert sorted(counts) == sorted(sizes[sizes > 0])
        graph = index.kneighbors_graph(n_neighbors=2)
        assert graph.shape[0] == graph.shape[1]
        pairs, similarity = index.query_pairs(0.5)
        assert len(pairs) == len(similarity)
        assert index.bytes_per_row_ > 0
        assert index.nbytes_ > 0
        assert index.hasher_.n_features_in_ == X.shape[1]

    run(*writers(index, kind, done), until(done, look), until(done, look))


@pytest.mark.parametrize("kind", ["dense", "lists"])
def test_saves_to_a_folder_while_rows_are_added(kind, tmp_path):
    index, done, folder = started(kind), [], tmp_path / "index"
    index.save_folder(folder)
    loader = Observer()

    def save():
        index.save_folder(folder)

    def load():
        loader.see(by_threshold(GCWSIndex.load(folder), kind))

    def save_file():
        index.save(tmp_path / "file")
        Observer().see(GCWSIndex.load(tmp_path / "file").ids_.tolist())

    run(*writers(index, kind, done), *(until(done, each) for each in (save, save, load, save_file)))
    index.save_folder(folder)
    found = GCWSIndex.load(folder)
    assert answers(found) == answers(index)
    assert found.n_samples_fit_ == sum(len(each[-1]) for each in STATES)
    names = {path.name for path in folder.iterdir()}
    assert len(names) == 2 + len(found._segments)  # the list, the lock, and nothing of earlier states


def test_fit_while_rows_are_added():
    """An addition joins the rows of the fit before it, hashed as these are: ``center`` differs from fit to fit."""
    index = GCWSIndex(**SMALL, center="mean").fit(X[:10])
    parts = [np.arange(10 * number, 10 * number + 10) for number in range(8)]
    fits = [part + 1000 * (number + 1) for number, part in enumerate(parts)]

    fitted = threading.Event()

    def fit():
        try:
            for part, ids in zip(parts, fits, strict=True):
                index.fit(X[part], ids=ids)
        finally:
            fitted.set()

    def add(first):
        *numbers, last = range(first, len(X), 2)
        for number in numbers:
            index.add(X[[number]], [-1 - number])
        fitted.wait()  # so that some rows are there after the last fit, whichever thread is fast
        index.add(X[[last]], [-1 - last])

    run(fit, lambda: add(0), lambda: add(1))
    assert (index.ids_[index.ids_ >= 0] == fits[-1]).all()
    kept = -1 - index.ids_[index.ids_ < 0]
    assert {len(X) - 2, len(X) - 1} <= set(kept.tolist())
    serial = GCWSIndex(**SMALL, center="mean").fit(X[parts[-1]], ids=fits[-1]).add(X[kept], -1 - kept)
    assert answers(index, X[:9]) == answers(serial, X[:9])


def test_an_index_grows_wider_while_rows_are_added():
    rows, first, last = sparse.csr_array(X), X.shape[1], X.shape[1] + 30
    index = GCWSIndex(heavy_fraction=0.8).fit(rows[:1])

    def of_width(width, some):
        return sparse.csr_array((some.data, some.indices, some.indptr), shape=(some.shape[0], width))

    def add(start):
        for number in range(start, len(X), 2):
            while True:
                try:
                    index.add(of_width(index.n_features_in_, rows[[number]]), [number])
                    break
                except ValueError as error:
                    assert "features" in str(error)  # noqa: PT017

    def widen():
        for width in range(first, last + 1):
            index.widen(width)

    run(widen, lambda: add(1), lambda: add(2))
    assert index.n_features_in_ == last
    new = GCWSIndex(heavy_fraction=0.8).fit(of_width(last, rows))
    assert answers(index, of_width(last, rows[:9])) == answers(new, of_width(last, rows[:9]))


def test_the_same_id_is_added_once():
    index, refused = GCWSIndex(**SMALL).fit(X[:1]), []

    def add():
        for number in range(1, 40):
            try:
                index.add(X[[number]], [number])
            except InputError:
                refused.append(number)

    run(add, add, add)
    assert sorted(refused) == sorted(2 * list(range(1, 40)))
    np.testing.assert_array_equal(index.ids_, np.arange(40))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_waits_for_no_thread_of_its_parent():
    index, held, over = GCWSIndex(**SMALL).fit(X[:10]), threading.Event(), threading.Event()

    def hold():
        with index._turn():
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
        child = os.fork()
    if child == 0:
        try:
            status = index.add(X[10:12]).n_samples_fit_ != 12
        except BaseException:
            status = 2
        os._exit(status)  # whatever happened: the tests go on in the parent alone
    try:
        for _ in range(600):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
            time.sleep(0.1)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
        assert ended == child
        assert status == 0
    finally:
        over.set()
        thread.join()
    assert index.n_samples_fit_ == 10


def test_locks_are_not_part_of_an_index():
    index = GCWSIndex(**SMALL).fit(X[:10]).add(X[10:12])
    for made in (copy.copy(index), copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        made.add(X[12:14])
        assert made.n_samples_fit_ == 14
    assert index.n_samples_fit_ == 12
    assert clone(index).fit(X[:3]).n_samples_fit_ == 3
