"""Machines without CuPy, without a driver or with an old GPU: a sentence with the next step, no other back end."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import kernelsketch as ks
from kernelsketch.backends import backend_for, use_backend
from kernelsketch.backends.cuda import _device
from kernelsketch.exceptions import BackendError, MissingExtraError


class CudaError(RuntimeError):
    pass


class Library:
    """What the checks see of CuPy."""

    def __init__(self, count, capability="90"):
        def devices():
            if isinstance(count, Exception):
                raise count
            return count

        self.runtime = SimpleNamespace(getDeviceCount=devices, CUDARuntimeError=CudaError)
        self.cuda = SimpleNamespace(
            runtime=self.runtime, Device=lambda: SimpleNamespace(id=0, compute_capability=capability)
        )


@pytest.fixture
def without_caches(monkeypatch):
    _device.cupy.cache_clear()
    _device._gpu.cache_clear()
    yield monkeypatch
    _device.cupy.cache_clear()
    _device._gpu.cache_clear()


def test_no_cupy(without_caches):
    without_caches.setitem(sys.modules, "cupy", None)
    message = r"CuPy is not installed: run  pip install 'kernelsketch\[gpu\]'"
    with pytest.raises(MissingExtraError, match=message), use_backend("cuda"):
        pass
    without_caches.setenv("KERNELSKETCH_BACKEND", "cuda")
    with pytest.raises(MissingExtraError):
        ks.gmm_kernel(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("library", "message"),
    [
        (Library(CudaError("cudaErrorInsufficientDriver")), r"no usable GPU \(cudaErrorInsufficientDriver\): install"),
        (Library(0), "has no NVIDIA GPU that CUDA can use: use NumPy arrays without the back end 'cuda'"),
        (Library(1, "61"), "GPU 0 has compute capability 6.1, but kernelsketch needs 7.5 or above: choose another GPU"),
    ],
)
def test_no_usable_gpu(without_caches, library, message):
    without_caches.setitem(sys.modules, "cupy", library)
    with pytest.raises(BackendError, match=message), use_backend("cuda"):
        pass
    assert backend_for().name != "cuda"


def test_importing_the_library_imports_no_cupy():
    code = "import sys, kernelsketch as k; k.gmm_kernel([[1.0]]); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "kernelsketch.backends.cuda" in found
    assert {"cupy", "torch"}.isdisjoint(found)
