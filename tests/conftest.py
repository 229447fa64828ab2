import pytest
from hypothesis import HealthCheck, settings

from kernelsketch import backends

settings.register_profile(
    "default", deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")


def pytest_addoption(parser):
    parser.addoption("--overwrite-golden", action="store_true", help="renew stored results from the code as it is")


@pytest.fixture(params=backends.BACKENDS)
def isa(request):
    """Each instruction set in turn, the others switched off."""
    if request.param not in backends.available():
        pytest.skip(f"this machine or build has no {request.param}")
    with backends.using(request.param):
        yield request.param
