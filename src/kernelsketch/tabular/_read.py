"""Tables of any library, arrays, and lists of dicts as columns: ``read_table``."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError, InputTypeError
from ._frame import CATEGORY, DATE, DATE_UNIT, NUMBER, Table, check_names, column_of

Array = NDArray[Any]

MOST_CELLS = 1 << 26  # of a sparse matrix that is taken as a dense one


def read_table(X: Any) -> Table:
    """Return the columns of a table or an array."""
    if isinstance(X, Table):
        return X
    module = type(X).__module__.partition(".")[0]
    if module == "pandas" and hasattr(X, "columns"):
        return _table([(name, _of_pandas(part)) for name, part in X.items()], len(X))
    if module == "polars":
        if hasattr(X, "collect"):
            raise InputTypeError("X is a polars LazyFrame: pass X.collect().")
        if hasattr(X, "get_columns"):
            return _table([(part.name, _of_polars(part)) for part in X.get_columns()], X.height)
    if module == "pyarrow" and hasattr(X, "column_names"):
        return _table([(name, _of_arrow(X.column(i))) for i, name in enumerate(X.column_names)], X.num_rows)
    if sparse.issparse(X):
        if X.shape[0] * X.shape[1] <= MOST_CELLS:
            return _of_array(X.toarray())
        raise InputTypeError(
            f"X is a sparse matrix of shape {X.shape}: pass it to GCWSClassifier or GCWSRegressor, or pass X.toarray() "
            "if it fits in memory."
        )
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, dict) for row in X):
        names = dict.fromkeys(name for row in X for name in row)
        return _table([(name, ("object", objects_of([row.get(name) for row in X]))) for name in names], len(X))
    return _of_array(X)


Raw = tuple[str, Array]


def _table(parts: list[tuple[Any, Raw]], n_rows: int) -> Table:
    names = [str(name) for name, _ in parts]
    check_names(names)
    columns = [column_of(name, *raw) for name, (_, raw) in zip(names, parts, strict=True)]
    _check_shape(n_rows, len(columns))
    return Table(columns, n_rows, True)


def _check_shape(n_rows: int, n_columns: int) -> None:
    if n_rows == 0:
        raise InputError(
            f"X has no rows: it has 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required."
        )
    if n_columns == 0:
        raise InputError(
            f"X has no columns: it has 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
        )


def _of_array(X: Any) -> Table:
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InputError(f"X cannot be read as a table: {error}") from None
    if values.ndim == 0 and isinstance(X, dict):
        raise InputError("X is a dict: pass a list of dicts, one for each row, or a data frame.")
    if values.ndim != 2:
        raise InputError(
            f"X must be 2-D, rows by columns, got shape {values.shape}. Reshape your data: X.reshape(-1, 1) for one "
            "column, X.reshape(1, -1) for one row."
        )
    _check_shape(*values.shape)
    raw = "object" if values.dtype.kind in "OUST" else _raw_of(values.dtype)
    columns = [column_of(f"x{i}", raw, values[:, i]) for i in range(values.shape[1])]
    return Table(columns, len(values), False)


def _raw_of(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "fiub":
        return NUMBER
    if dtype.kind in "Mm":
        return DATE if dtype.kind == "M" else NUMBER
    if dtype.kind == "c":
        raise InputError(f"X is complex ({dtype}). Complex data not supported: take X.real or X.imag.")
    raise InputTypeError(f"X has the dtype {dtype}: pass numbers, strings, booleans or dates.")


def _of_pandas(part: Any) -> Raw:
    """Return the kind and the values of a pandas Series."""
    dtype = part.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return NUMBER, part.to_numpy(np.float64)
    name = str(dtype)
    if name.startswith("Sparse"):
        return _of_pandas(part.sparse.to_dense())
    if name.startswith("datetime64"):
        if getattr(dtype, "tz", None) is not None:
            part = part.dt.tz_convert("UTC").dt.tz_localize(None)
        return DATE, part.to_numpy(DATE_UNIT)
    if name.startswith("period"):
        return DATE, part.dt.to_timestamp().to_numpy(DATE_UNIT)
    if name.startswith("timedelta"):
        return NUMBER, part.dt.total_seconds().to_numpy(np.float64)
    if getattr(dtype, "kind", "O") in "fiub" and name != "category":
        return NUMBER, part.to_numpy(dtype=np.float64, na_value=np.nan)
    if getattr(dtype, "kind", "O") == "c":
        raise InputError(f"column {part.name!r} is complex. Complex data not supported: take its real part.")
    if name == "category":
        values = part.cat.categories.to_numpy(dtype=object)
        codes = part.cat.codes.to_numpy()
        return CATEGORY, np.append(values, [None])[codes]
    return "object", part.to_numpy(dtype=object, na_value=None)


def _of_polars(part: Any) -> Raw:
    """Return the kind and the values of a polars Series."""
    polars: Any = sys.modules["polars"]  # the library of the table, so it is there
    dtype = part.dtype
    if dtype == polars.Boolean or dtype.is_numeric():
        return NUMBER, part.cast(polars.Float64).fill_null(float("nan")).to_numpy()
    if dtype == polars.Date or isinstance(dtype, polars.Datetime):
        return DATE, part.cast(polars.Datetime("us")).to_numpy().astype(DATE_UNIT)
    if isinstance(dtype, polars.Duration):
        return NUMBER, part.dt.total_microseconds().cast(polars.Float64).fill_null(float("nan")).to_numpy() / 1e6
    if dtype in (polars.Categorical, polars.Enum) or isinstance(dtype, (polars.Categorical, polars.Enum)):
        return CATEGORY, np.array(part.cast(polars.String).to_list(), dtype=object)
    return "object", objects_of(part.to_list())


def _of_arrow(part: Any) -> Raw:
    """Return the kind and the values of a pyarrow column."""
    pyarrow: Any = sys.modules["pyarrow"]
    types, kind = pyarrow.types, part.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        values = part.cast(pyarrow.int8()) if types.is_boolean(kind) else part
        return NUMBER, np.asarray(values.cast(pyarrow.float64()).to_numpy(), np.float64)
    if types.is_date(kind) or types.is_timestamp(kind):
        return DATE, part.cast(pyarrow.timestamp("us")).to_numpy().astype(DATE_UNIT)
    if types.is_duration(kind):
        values = part.cast(pyarrow.duration("us")).to_numpy()
        return NUMBER, np.where(np.isnat(values), np.nan, values.astype(np.float64) / 1e6)
    if types.is_dictionary(kind):
        return CATEGORY, objects_of(part.cast(kind.value_type).to_pylist())
    return "object", objects_of(part.to_pylist())


def objects_of(values: list[Any]) -> Array:
    found = np.empty(len(values), object)
    found[:] = values
    return found
