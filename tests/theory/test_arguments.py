"""What every formula does with its arguments, and that each is documented."""

import inspect

import numpy as np
import pytest

from kernelsketch import theory
from kernelsketch.exceptions import InputError, InputTypeError

RANGES = {  # valid numbers of each argument
    "rho": [-1.0, 0.3, 1.0],
    "gamma": [1e-6, 2.0, 50.0],
    "k": [1, 7, 1000],
    "n_features": [1, 7, 1000],
    "similarity": [0.1, 0.5, 1.0],
    "hashes_per_table": [1, 4, 8],
    "n_tables": [1, 32, 1000],
    "g": [0.0, 0.5, 1.0],
}
BAD = {
    "rho": (1.5, "rho must be a number from -1 to 1"),
    "gamma": (0.0, "gamma must be a finite number above 0"),
    "k": (2.5, "k must be a whole number above 0"),
    "n_features": (0, "n_features must be a whole number above 0"),
    "similarity": (-0.1, "similarity must be a number from 0 to 1"),
    "hashes_per_table": (0, "hashes_per_table must be a whole number above 0"),
    "n_tables": (1.5, "n_tables must be a whole number above 0"),
    "g": (1.1, "g must be a number from 0 to 1"),
}


def arguments(function):
    names = [name for name in inspect.signature(function).parameters if name not in ("df", "bits")]
    if names[0] == "method":
        return names[1:], lambda *args: function("nrff", *args)
    return names, function


@pytest.fixture(params=theory.__all__)
def formula(request):
    return arguments(getattr(theory, request.param))


def test_numbers_give_a_float(formula):
    names, f = formula
    assert type(f(*(RANGES[name][1] for name in names))) is float
    assert type(f(*(np.asarray(RANGES[name][1]) for name in names))) is float


def test_arrays_are_broadcast_and_left_alone(formula):
    names, f = formula
    shape = tuple(range(2, 2 + len(names)))
    rng = np.random.default_rng(0)
    values = [rng.choice(RANGES[name], size=n) for name, n in zip(names, shape, strict=True)]
    grid = np.ix_(*values)
    kept = [v.copy() for v in grid]
    for v in grid:
        v.setflags(write=False)
    found = f(*grid)
    assert found.shape == shape
    assert all(np.array_equal(a, b) for a, b in zip(grid, kept, strict=True))
    for index in np.ndindex(shape):
        one = f(*(v[i].item() for v, i in zip(values, index, strict=True)))
        assert found[index] == pytest.approx(one, rel=1e-13)  # vector and scalar exp differ in the last bit


def test_lists_and_integers_do(formula):
    names, f = formula
    assert isinstance(f(*([1, 1] for _ in names)), np.ndarray)


def test_a_value_out_of_range_is_named(formula):
    names, f = formula
    for bad in names:
        value, message = BAD[bad]
        with pytest.raises(InputError, match=message):
            f(*(value if name == bad else RANGES[name][1] for name in names))
        with pytest.raises(InputError, match=r"got .* at position \(1,\)"):
            f(*([RANGES[name][1], value if name == bad else RANGES[name][1]] for name in names))
        with pytest.raises(InputError, match=f"{bad} must be"):
            f(*(np.nan if name == bad else RANGES[name][1] for name in names))


@pytest.mark.parametrize("value", ["1", None, 1j, True, [[1], "a"]])
def test_what_is_no_number_is_refused(formula, value):
    names, f = formula
    with pytest.raises(InputTypeError, match=f"{names[-1]} must be a number"):
        f(*(RANGES[name][1] for name in names[:-1]), np.asarray(value, object) if isinstance(value, list) else value)


def test_ragged_lists_are_refused():
    with pytest.raises(InputError, match="rho cannot be read as an array"):
        theory.gmm_limit([[0.1], [0.1, 0.2]])


def test_every_formula_is_documented():
    assert sorted(theory.__all__) == theory.__all__
    for name in theory.__all__:
        function = getattr(theory, name)
        assert ">>>" in function.__doc__, name
        assert ".. math::" in function.__doc__, name
        documented = function.__doc__.split("Returns\n")[0]
        assert all(parameter in documented for parameter in inspect.signature(function).parameters), name
