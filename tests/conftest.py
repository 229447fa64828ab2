import pytest
from hypothesis import HealthCheck, settings

from kernelsketch import backends

settings.register_profile(
    "default", deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")


def pytest_addoption(parser):
    parser.addoption("--overwrite-golden", action="store_true", help="renew stored results from the code as it is")


# The specification is slow, and the fast parity tests compute it once and compare every instruction set with it.
# The card has tests of its own, in backends/cuda.
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name == "reference" else name
    for name in backends.BACKENDS
    if name != "cuda"
]


@pytest.fixture(params=NAMES)
def isa(request):
    """Each back end in turn, the others switched off."""
    if request.param not in backends.available():
        pytest.skip(f"this machine or build has no {request.param}")
    with backends.use_backend(request.param):
        yield request.param
