"""Data frames of any library, read by narwhals: their names, and their columns as arrays.

narwhals reads the frames of pandas, polars, pyarrow, modin, cuDF, dask, DuckDB, Ibis and PySpark, and its own. Objects
that export themselves as Arrow data or by the data frame interchange protocol become pyarrow tables first. narwhals is
imported only if X may be a frame.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._array import Array
from .exceptions import InputError, MissingExtraError

_ARROW = ("__arrow_c_stream__", "__arrow_c_array__")
_SIGNS = ("columns", *_ARROW, "__dataframe__", "__narwhals_dataframe__", "__narwhals_lazyframe__")


def frame_of(X: Any, name: str = "X") -> Any:
    """Return X as a data frame of narwhals, or None if it is not a data frame.

    A lazy frame is collected: its rows come in the order in which its library returns them.
    """
    if type(X) is np.ndarray or not _has_one(X, _SIGNS):
        return None
    nw = narwhals()
    native = _unwrapped(X)
    try:
        frame = nw.from_native(native, pass_through=True, allow_series=True)
        if frame is native:  # of a library that narwhals does not read
            frame = nw.from_native(_arrow_table(native), pass_through=True)
    except nw.exceptions.DuplicateError:
        check_distinct(_names_of(native), name)
        raise
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def narwhals() -> Any:
    """Return the module whose functions keep their behaviour, as scikit-learn uses it."""
    import narwhals.stable.v2 as nw

    return nw


def _unwrapped(X: Any) -> Any:
    """Return what is in a frame of any version of narwhals, and other objects as they are."""
    import narwhals

    return narwhals.to_native(X, pass_through=True)


def check_distinct(names: Sequence[str], name: str = "X") -> None:
    """Refuse columns of the same name."""
    twice = first_repeated(names)
    if twice is not None:
        raise InputError(f"two columns of {name} have the name {twice!r}: rename one of them.")


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that an earlier one equals; None if all are different."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _has_one(X: Any, attributes: Sequence[str]) -> bool:
    return any(hasattr(type(X), attribute) for attribute in attributes)  # of the type: a property may take long


def _names_of(native: Any) -> list[str]:
    names = getattr(native, "column_names", None)  # of pyarrow, whose columns are the data
    return list(map(str, native.columns if names is None else names))


def _arrow_table(X: Any) -> Any:
    """Return what exports itself as a table as one of pyarrow, or None."""
    has_arrow = _has_one(X, _ARROW)
    if not (has_arrow or hasattr(X, "__dataframe__")):
        return None
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        interchange: Any = importlib.import_module("pyarrow.interchange")
    except ImportError:
        raise MissingExtraError("data", "pyarrow") from None
    if not has_arrow:
        return interchange.from_dataframe(X)
    try:
        return pyarrow.table(X)
    except (TypeError, ValueError):  # a single column; errors of pyarrow derive from ValueError
        return None


def numbers_of(column: Any) -> Array | None:
    """Return a column of numbers or truth values as an array, NaN where a value is missing; None for other columns."""
    nw, dtype = narwhals(), column.dtype
    if dtype == nw.Boolean:
        if column.null_count():
            column = column.cast(nw.Int8)
    elif dtype.is_decimal() or dtype in (nw.Int128, nw.UInt128):
        column = column.cast(nw.Float64)  # NumPy has no such type
    elif not (dtype.is_numeric() or pandas_type(column).startswith("Sparse")):
        return None
    found = np.asarray(column.to_numpy())
    return found if found.dtype.kind in "fiub" else None


def pandas_type(column: Any) -> str:
    """Return the name of the type that a column has in pandas, some of which narwhals does not have, or ""."""
    return str(column.to_native().dtype) if column.implementation.is_pandas_like() else ""


def matrix_of(frame: Any, name: str) -> Array:
    """Return the values of a data frame of numbers. The error names the first column that holds something else."""
    if frame.implementation.is_pandas():
        dtypes = set(frame.to_native().dtypes)
        if len(dtypes) == 1 and isinstance(dtype := dtypes.pop(), np.dtype) and dtype.kind in "fiub":
            return np.asarray(frame.to_native().to_numpy())  # without a copy
    columns = []
    for column in frame.iter_columns():
        values = numbers_of(column)
        if values is None:
            dtype = pandas_type(column) or column.dtype
            raise InputError(
                f"{name}[{column.name!r}] holds values of type {dtype}: real numbers are needed. Encode categories "
                "first, for example with sklearn.preprocessing.OrdinalEncoder, or drop the column."
            )
        columns.append(values)
    found = np.empty(frame.shape, np.result_type(np.int8, *columns))
    for j, values in enumerate(columns):
        found[:, j] = values
    return found
