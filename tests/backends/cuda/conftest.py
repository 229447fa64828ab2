"""An emulated GPU for all tests of this folder, or a reason why there is none."""

import platform
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from emulator import COMPILER, EmulatedGpu


@pytest.fixture(scope="session")
def emulated_gpu(tmp_path_factory):
    if COMPILER is None or platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("the emulated GPU needs a C++ compiler on Linux")
    return EmulatedGpu(str(tmp_path_factory.mktemp("kernels")))


@pytest.fixture
def cuda(emulated_gpu, monkeypatch):
    """The back end of NumPy arrays on the emulated GPU."""
    from kernelsketch.backends import use_backend
    from kernelsketch.backends.cuda import _device

    monkeypatch.setattr(_device, "current_gpu", lambda: emulated_gpu)
    with use_backend("cuda") as backend:
        yield backend


@pytest.fixture(scope="session")
def gpu():
    """CuPy on a usable GPU."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    from kernelsketch.backends.cuda._device import current_gpu
    from kernelsketch.exceptions import BackendError

    try:
        current_gpu()
    except BackendError as error:
        pytest.skip(str(error))
    return cupy
