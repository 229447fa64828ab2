"""Which back end computes: where the arrays are, then a forced name, then the best."""

import os
import subprocess
import sys
import threading

import pytest

from kernelsketch.backends import BACKENDS, HASH_VERSION, Ratio, _choice, available, backend_for, use_backend
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.exceptions import BackendError
from kernelsketch.reference import gmm, rng


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
    _choice._host_backend.cache_clear()  # another test may have made this back end
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
    monkeypatch.delenv(_choice.ENVIRONMENT, raising=False)
    found = []
    with use_backend("reference"):
        thread = threading.Thread(target=lambda: found.append(backend_for().name))
        thread.start()
        thread.join()
        assert backend_for().name == "reference"
    assert found != ["reference"]
