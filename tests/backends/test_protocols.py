"""Every back end has all methods of the protocols that it states, with their signatures, and the methods agree."""

import inspect

import pytest

from helpers.operations import OPERATIONS, assert_same, methods_of
from kernelsketch import _native
from kernelsketch.backends import NewtonSteps, NewtonWhole, available
from kernelsketch.backends._backend import Backend, Processor
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.cuda.backend import CudaBackend
from kernelsketch.backends.cuda.host import HostBackend
from kernelsketch.backends.reference import ReferenceBackend

IMPLEMENTED = {
    CpuBackend: {Backend, NewtonSteps, Processor},
    ReferenceBackend: {Backend, NewtonSteps, Processor},
    CudaBackend: {Backend, NewtonWhole},
    HostBackend: {Backend, NewtonWhole},
}
NEWTON = {"steps": NewtonSteps, "whole": NewtonWhole}
CASES = [
    (cls, part, name)
    for cls, parts in IMPLEMENTED.items()
    for part in sorted(parts, key=str)
    for name in methods_of(part)
]


def test_every_back_end_states_its_protocols():
    for cls, expected in IMPLEMENTED.items():
        assert {Backend, Processor, *NEWTON.values()} & set(cls.__mro__) == expected, cls
        assert NEWTON[cls.newton] in expected


def test_every_method_of_a_protocol_is_called():
    """By ``OPERATIONS``, with which the tests of this file and of the emulated GPU compare all back ends."""
    assert set(OPERATIONS) == {name for _, _, name in CASES}


@pytest.mark.parametrize(("cls", "protocol", "name"), CASES)
def test_methods_have_the_signatures_of_their_protocol(cls, protocol, name):
    """mypy compares the types; a protocol's own method would do nothing."""
    found, stated = inspect.getattr_static(cls, name), inspect.getattr_static(protocol, name)
    assert found is not stated, f"{cls.__name__} does not implement {name}"
    if inspect.isfunction(stated):
        mine, theirs = (
            [(p.name, p.kind, p.default) for p in inspect.signature(x).parameters.values()] for x in (found, stated)
        )
        assert mine == theirs[isinstance(found, staticmethod) :]  # a function of the specification has no self


def test_no_back_end_answers_to_unknown_names():
    """A method that is missing is then found by mypy, and by the test above."""
    for cls in IMPLEMENTED:
        assert not hasattr(cls, "__getattr__")


def test_back_ends_have_the_attributes_of_their_protocol():
    for backend in (CpuBackend("baseline", 3), ReferenceBackend(3), CudaBackend(None, None, 3), HostBackend(None, 3)):
        assert (type(backend.name), backend.threads, backend.place) == (str, 3, None)


@pytest.mark.parametrize("name", methods_of(Processor))
def test_the_processor_equals_the_reference(name):
    expected = OPERATIONS[name](ReferenceBackend())
    for isa in available():
        if isa != "reference":
            assert_same(OPERATIONS[name](CpuBackend(isa, 2)), expected, name)


@pytest.mark.parametrize("name", methods_of(Processor))
def test_the_reference_runs_no_native_code(name, monkeypatch):
    for function in dir(_native):
        if not function.startswith("__"):
            monkeypatch.delattr(_native, function)
    OPERATIONS[name](ReferenceBackend())
