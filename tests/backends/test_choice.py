"""Which back end computes: where the arrays are, then a forced name, then the best."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import sparse

from helpers.arrays import Wrapped, WrappedCsr, registered
from kernelsketch import NearDuplicates
from kernelsketch.backends import (
    BACKENDS,
    HASH_VERSION,
    Ratio,
    _choice,
    available,
    backend_for,
    processor_for,
    use_backend,
)
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.exceptions import BackendError
from kernelsketch.reference import gmm, rng
from kernelsketch.tabular._weights import kernel_gradient


def test_the_best_is_chosen(monkeypatch):
    monkeypatch.delenv(_choice.ENVIRONMENT, raising=False)
    assert backend_for(threads=3).name == available()[0]
    assert backend_for(threads=3).threads == 3
    assert available()[-2:] == ("baseline", "reference")
    assert set(available()) <= set(BACKENDS)


@pytest.mark.parametrize("name", ["baseline", "reference"])
def test_the_environment_forces_one(name, monkeypatch):
    monkeypatch.setenv(_choice.ENVIRONMENT, name)
    assert backend_for().name == name


def test_a_block_forces_one():
    before = backend_for().name
    with use_backend("baseline") as chosen:
        assert isinstance(chosen, CpuBackend)
        assert backend_for().name == "baseline"
    assert backend_for().name == before


def test_an_unknown_name_is_refused():
    code = "import kernelsketch as k; k.gmm_kernel([[1.0]])"
    env = {**os.environ, "KERNELSKETCH_BACKEND": "sse9"}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "KERNELSKETCH_BACKEND='sse9' is not one of avx512, avx2, baseline, reference" in found.stderr
    with pytest.raises(BackendError, match=r"^use_backend\('sse9'\) is not one of avx512"), use_backend("sse9"):
        pass


def test_an_instruction_set_that_is_not_here_is_refused(monkeypatch):
    monkeypatch.setattr(_choice, "available", lambda: ("baseline", "reference"))
    _choice._processor.cache_clear()  # another test may have made this back end
    with pytest.raises(BackendError, match="only baseline, reference"), use_backend("avx512"):
        pass


def test_the_specification_is_loaded_only_when_it_is_asked_for():
    code = """if True:
        import sys, kernelsketch as k
        k.GCWS(4).fit([[1.0, 2.0]]).codes([[1.0, 2.0]])
        k.GCWSClassifier(4).fit([[1.0], [-1.0]], [0, 1]).predict([[1.0]])
        assert not [name for name in sys.modules if name.startswith("kernelsketch.reference")]
    """
    env = {name: value for name, value in os.environ.items() if name != "KERNELSKETCH_BACKEND"}
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def test_versions_and_numbers_are_those_of_the_specification():
    assert HASH_VERSION == rng.HASH_VERSION
    assert (Ratio.MIN_MAX, Ratio.INTERSECTION) == (gmm.MIN_MAX, gmm.INTERSECTION)


def test_other_threads_choose_for_themselves(monkeypatch):
    """A thread, those of pools, which may be older than the block, and worker processes."""
    monkeypatch.delenv(_choice.ENVIRONMENT, raising=False)
    found = []

    def name(_=None):
        return backend_for().name

    with ThreadPoolExecutor(2) as pool, use_backend("reference"):
        thread = threading.Thread(target=lambda: found.append(name()))
        thread.start()
        thread.join()
        found += pool.map(name, range(4))
        found += Parallel(n_jobs=2, backend="threading")(delayed(name)() for _ in range(4))
        found += Parallel(n_jobs=2, backend="loky")(delayed(name)() for _ in range(2))
        assert backend_for().name == "reference"
    assert set(found) == {available()[0]}
    assert len(found) == 11
    monkeypatch.setenv(_choice.ENVIRONMENT, "reference")
    assert Parallel(n_jobs=2, backend="threading")(delayed(name)() for _ in range(2)) == ["reference"] * 2


X = np.eye(3, dtype=np.float32)
S = sparse.csr_array(X)


def test_what_only_the_processor_computes(monkeypatch):
    """NumPy arrays are computed there, also within use_backend("cuda"); the arrays of a GPU are not copied silently."""
    for name, expected in ((None, available()[0]), ("cuda", available()[0]), ("reference", "reference")):
        monkeypatch.setenv(_choice.ENVIRONMENT, name or "")
        assert processor_for(np.ones(3), threads=2).name == expected
    with registered():
        for rows in (Wrapped(X), WrappedCsr(*map(Wrapped, (S.data, S.indices, S.indptr)), S.shape)):
            with pytest.raises(
                BackendError,
                match=r"a similarity join runs on the processor only, and takes NumPy arrays and SciPy matrices: copy "
                r"the wrapped arrays to main memory, for example by array.get\(\) in CuPy",
            ):
                NearDuplicates().fit(rows)
        with pytest.raises(BackendError, match="this operation runs on the processor only"):
            processor_for(Wrapped(X))
        with pytest.raises(BackendError, match="the learning of weights of columns runs on the processor only"):
            kernel_gradient(Wrapped(X), Wrapped(X @ X.T), Wrapped(X @ X.T))
