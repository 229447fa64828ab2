"""n_jobs: the number of threads, and what limits "all processors"."""

import multiprocessing
import os
import warnings

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSClassifier, _threads
from kernelsketch._threads import MOST_THREADS, quota_threads, threads_for

ALL = joblib.cpu_count()


@pytest.fixture(autouse=True)
def free_openmp():
    """Another test or the environment may have left a limit."""
    with threadpool_limits(ALL, user_api="openmp"):
        yield


def test_numbers():
    assert [threads_for(n) for n in (None, 1, 3, 100, 10**6)] == [1, 1, 3, 100, MOST_THREADS]
    assert [threads_for(-n) for n in (1, 2, 10**6)] == [ALL, max(1, ALL - 1), 1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no CPU affinity")
def test_affinity():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert threads_for(-1) == 1
    finally:
        os.sched_setaffinity(0, before)
    assert threads_for(-1) == ALL


def test_threadpoolctl():
    with threadpool_limits(1):
        assert threads_for(-1) == 1
        assert threads_for(3) == 3
    with threadpool_limits(1, user_api="blas"):
        assert threads_for(-1) == ALL


def test_parallel_config():
    with parallel_config(backend="threading", n_jobs=3):
        assert [threads_for(None), threads_for(2), threads_for(-1)] == [3, 2, ALL]
    with parallel_config(backend="loky", n_jobs=-1), threadpool_limits(1):
        assert threads_for(None) == 1
    with parallel_config(backend="sequential"):
        assert [threads_for(None), threads_for(-1)] == [1, 1]


def test_a_search_in_one_process_leaves_all_processors():
    assert Parallel(n_jobs=1)(delayed(threads_for)(-1) for _ in range(2)) == [ALL, ALL]


@pytest.mark.parametrize(
    ("backend", "inner", "expected"),
    [
        ("threading", {}, 1),
        ("multiprocessing", {}, 1),
        ("loky", {}, max(1, ALL // 2)),
        ("loky", {"inner_max_num_threads": ALL}, ALL),
    ],
)
def test_workers_share_the_processors(backend, inner, expected):
    with parallel_config(backend=backend, n_jobs=2, **inner):
        assert Parallel()(delayed(threads_for)(n) for n in (-1, None, 3)) == [expected, 1, 3]


def _nested(n_jobs):
    return Parallel(n_jobs=2)(delayed(threads_for)(n_jobs) for _ in range(2))


def test_workers_of_workers_have_themselves():
    assert Parallel(n_jobs=2, backend="threading")(delayed(_nested)(-1) for _ in range(2)) == [[1, 1], [1, 1]]


def _without_warnings(n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return threads_for(n_jobs)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_pool_of_processes(method):
    """joblib warns there that it cannot start processes, and would take one thread for three."""
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(_without_warnings, [None, 1, 3, 10**6, -1, -2]) == [1, 1, 3, MOST_THREADS, 1, 1]


class ThreadsOfFit(GCWSClassifier):
    """Scores the number of threads that its fit may use."""

    def fit(self, X, y):
        super().fit(X, y)
        self.threads_ = threads_for(self.n_jobs)
        return self

    def score(self, X, y):
        return float(self.threads_)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_grid_search_does_not_oversubscribe(backend):
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 5)), rng.integers(0, 2, 60)
    search = GridSearchCV(ThreadsOfFit(16), {"n_jobs": [-1], "C": [0.1, 1.0]}, cv=2, n_jobs=2, refit=False)
    with parallel_config(backend=backend):
        search.fit(X, y)
    assert set(search.cv_results_["mean_test_score"]) == {max(1, ALL // 2) if backend == "loky" else 1}


def _write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "250000 100000\n"}, 3),
        ("0::/\n", {"cpu.max": "max 100000\n"}, MOST_THREADS),
        ("0::/\n", {"cpu.max": "1000 100000\n"}, 1),
        ("0::/a.slice/b.scope\n", {"a.slice/cpu.max": "200000 100000", "a.slice/b.scope/cpu.max": "400000 100000"}, 2),
        ("0::/a.slice/b.scope\n", {"a.slice/b.scope/cpu.max": "400000 100000"}, 4),
        ("0::/a\n", {"b/cpu.max": "100000 100000"}, MOST_THREADS),
        ("1:name=systemd:/a:b\n0::/a\n", {"a/cpu.max": "300000 100000"}, 3),
        ("2:cpuset:/\n1:memory:/\n", {"cpu.max": "100000 100000"}, MOST_THREADS),
    ],
)
def test_cgroups(tmp_path, own, files, expected):
    _write(tmp_path, files | {"own": own})
    assert quota_threads(str(tmp_path), str(tmp_path / "own")) == expected


def test_systems_without_cgroups(tmp_path):
    assert quota_threads(str(tmp_path), str(tmp_path / "no file")) == MOST_THREADS


def test_quotas_limit_all_processors(monkeypatch):
    monkeypatch.setattr(_threads, "quota_threads", lambda: 1)
    assert [threads_for(-1), threads_for(2)] == [1, 2]
