"""An array library of its own: NumPy inside a class that NumPy cannot see into, as a GPU's arrays are.

It follows NumPy's dispatch protocols, so that ``np.where`` and operators work, and refuses to become a NumPy array:
what the library converts behind the user's back fails. Its back end computes with the native core on the arrays inside.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy import sparse

from helpers.operations import methods_of
from kernelsketch._rows import rows_of
from kernelsketch.backends import Backend, CsrRows, DenseRows, Place, _choice, available
from kernelsketch.backends.cpu import CpuBackend


class Wrapped(NDArrayOperatorsMixin):
    """An array of the library."""

    def __init__(self, inner):
        self.inner = np.asarray(inner)

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion to NumPy is not allowed")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return wrap(getattr(ufunc, method)(*unwrap(inputs), **unwrap(kwargs)))

    def __array_function__(self, function, types, args, kwargs):
        return wrap(function(*unwrap(args), **unwrap(kwargs)))

    def __getattr__(self, name):
        if name.startswith("__"):  # __array_interface__ and the like would let NumPy see inside
            raise AttributeError(name)
        found = getattr(self.inner, name)
        if callable(found) and name not in ("dtype", "flags"):
            return lambda *args, **kwargs: wrap(found(*unwrap(args), **unwrap(kwargs)))
        return wrap(found) if isinstance(found, np.ndarray) else found

    def __getitem__(self, key):
        return wrap(self.inner[unwrap(key)])

    def __setitem__(self, key, value):
        self.inner[unwrap(key)] = unwrap(value)

    def __len__(self):
        return len(self.inner)

    def __float__(self):
        return float(self.inner)

    def __int__(self):
        return int(self.inner)

    def __bool__(self):
        return bool(self.inner)


class WrappedCsr:
    """A CSR matrix of the library."""

    def __init__(self, data, indices, indptr, shape):
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape


def wrap(x):
    if isinstance(x, tuple):
        return type(x)(*map(wrap, x)) if hasattr(x, "_fields") else tuple(map(wrap, x))
    if isinstance(x, list):
        return [wrap(part) for part in x]
    return Wrapped(x) if isinstance(x, np.ndarray) else x


def unwrap(x):
    if isinstance(x, Wrapped):
        return x.inner
    if isinstance(x, tuple):
        return type(x)(*map(unwrap, x)) if hasattr(x, "_fields") else tuple(map(unwrap, x))
    if isinstance(x, list):
        return [unwrap(part) for part in x]
    if isinstance(x, dict):
        return {name: unwrap(part) for name, part in x.items()}
    if isinstance(x, DenseRows):
        return DenseRows(unwrap(x.values))
    if isinstance(x, CsrRows):
        return CsrRows(*(unwrap(part) for part in x.arrays), x.n_features)
    return x


class WrappedBackend(Backend):
    """Computes on the arrays inside; remembers which operations it was asked for."""

    name = "wrapped"
    newton = "none"

    def __init__(self, threads=1):
        self._native = CpuBackend(available()[0], threads)
        self.threads, self.place = threads, PLACE

    def from_numpy(self, array):
        return Wrapped(array)

    def to_numpy(self, array):
        return array.inner if isinstance(array, Wrapped) else np.asarray(array)

    def linear_pass(self, codes, empty, objective, state):
        asked.add("linear_pass")
        return self._native.linear_pass(*unwrap((codes, empty, objective, state)))

    def csr_matrix(self, data, indices, indptr, shape):
        return WrappedCsr(data, indices, indptr, shape)


def _delegated(name):
    def run(self, *args, **kwargs):
        asked.add(f"gmm of {type(args[0]).__name__}" if name == "gmm" else name)
        return wrap(getattr(self._native, name)(*unwrap(args), **unwrap(kwargs)))

    return run


for operation in set(methods_of(Backend)) - set(vars(WrappedBackend)):
    setattr(WrappedBackend, operation, _delegated(operation))


def rows(X, name):
    if isinstance(X, WrappedCsr):
        found = rows_of(sparse.csr_array((X.data.inner, X.indices.inner, X.indptr.inner), X.shape), name)
        return CsrRows(*map(Wrapped, found.arrays), found.n_features)
    return DenseRows(Wrapped(rows_of(X.inner, name).values))


asked: set[str] = set()
PLACE = Place("wrapped", lambda X: isinstance(X, (Wrapped, WrappedCsr)), rows, WrappedBackend)


@contextmanager
def registered():
    """Within the context, the library computes on wrapped arrays by their back end."""
    _choice._places.append(PLACE)
    try:
        yield
    finally:
        _choice._places.remove(PLACE)
