import pytest
from hypothesis import HealthCheck, settings

from kernelsketch import _backend

settings.register_profile(
    "default", deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")


def pytest_addoption(parser):
    parser.addoption("--overwrite-golden", action="store_true", help="renew stored results from the code as it is")


@pytest.fixture(params=_backend.ISAS)
def isa(request):
    """Each instruction set in turn, the others switched off."""
    if request.param not in _backend.supported():
        pytest.skip(f"this machine or build has no {request.param}")
    with _backend.using(request.param):
        yield request.param
