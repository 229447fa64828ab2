"""An emulated card for all tests of this folder, or a reason why there is none."""

import platform
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from emulator import COMPILER, EmulatedCard


@pytest.fixture(scope="session")
def card(tmp_path_factory):
    if COMPILER is None or platform.system() != "Linux" or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("the emulated card needs a C++ compiler on Linux")
    return EmulatedCard(str(tmp_path_factory.mktemp("kernels")))


@pytest.fixture
def cuda(card, monkeypatch):
    """The back end of NumPy arrays on the emulated card."""
    from kernelsketch.backends import use_backend
    from kernelsketch.backends.cuda import _device

    monkeypatch.setattr(_device, "the_card", lambda: card)
    with use_backend("cuda") as backend:
        yield backend


@pytest.fixture(scope="session")
def gpu():
    """CuPy on a usable GPU."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    from kernelsketch.backends.cuda._device import the_card
    from kernelsketch.exceptions import BackendError

    try:
        the_card()
    except BackendError as error:
        pytest.skip(str(error))
    return cupy
