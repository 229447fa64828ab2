"""Data frames of any library, arrays, and lists of dicts as tables: ``read_table``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import Array
from .._frames import check_distinct, frame_of, narwhals, numbers_of, pandas_type
from .._validation import is_sparse, refuse_huge
from .._warnings import warn_user
from ..exceptions import InputError, InputTypeError
from ._choices import dropped
from ._frame import CATEGORY, DATE, NUMBER, Column, Table, column_of
from ._values import DATE_UNIT

if TYPE_CHECKING:
    from ._columns import TablePlan

OBJECT = "object"  # of a column whose kind is to be inferred
MOST_CELLS = 1 << 26  # of a sparse matrix that is taken as a dense one


def read_table(X: Any, drops: Drops | None = None) -> Table:
    """Return the columns of a table or an array. Columns for which ``drops`` has a flag are not read."""
    if isinstance(X, Table):
        if drops is None:
            return X
        flags = _flags(drops, [column.name for column in X.columns], X.named)
        pairs = zip(X.columns, flags, strict=True)
        return X._replace(columns=[dropped(part.name, X.n_rows) if flag else part for part, flag in pairs])
    frame = frame_of(X)
    if frame is not None:
        columns = list(frame.iter_columns())
        return _table(list(frame.columns), lambda i: _of_column(columns[i]), len(frame), drops)
    if is_sparse(X):
        if X.shape[0] * X.shape[1] <= MOST_CELLS:
            return _of_array(X.toarray(), drops)
        raise InputTypeError(
            f"X is a sparse matrix of shape {X.shape}: pass it to GCWSClassifier or GCWSRegressor, or pass X.toarray() "
            "if it fits in memory."
        )
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, dict) for row in X):
        keys = list(dict.fromkeys(name for row in X for name in row))
        return _table(keys, lambda i: (OBJECT, _objects([row.get(keys[i]) for row in X])), len(X), drops)
    return _of_array(X, drops)


def warn_about_names(plan: TablePlan, table: Table, owner: str) -> None:
    """Warn as scikit-learn does if only the training rows or only the given rows have names of columns."""
    if plan.named == table.named:
        return
    names = [column.name for column in (plan.columns if plan.named else table.columns)]
    if names == list(map(str, range(len(names)))):  # which pandas gives to columns without names
        return
    sentence = "X does not have valid feature names, but {} was fitted with feature names"
    if table.named:
        sentence = "X has feature names, but {} was fitted without feature names"
    warn_user(sentence.format(owner))


Raw = tuple[str, Array]
Drops = Callable[[list[str], bool], Array]  # from the names of columns, and whether the user gave them, to flags


def _flags(drops: Drops | None, names: list[str], named: bool) -> list[bool]:
    return [False] * len(names) if drops is None else drops(names, named).tolist()


def _table(keys: list[Any], read: Callable[[int], Raw], n_rows: int, drops: Drops | None, named: bool = True) -> Table:
    """Return the columns that a function reads by number."""
    names = list(map(str, keys))
    check_distinct(names)
    flags = enumerate(_flags(drops, names, named))
    columns = [dropped(names[i], n_rows) if flag else read_column(names[i], *read(i)) for i, flag in flags]
    _check_shape(n_rows, len(columns))
    return Table(columns, n_rows, named)


def read_column(name: str, raw: str, values: Array) -> Column:
    """Return a column of values of a kind, or of Python objects whose kind is to be inferred."""
    if values.dtype.kind == "m":
        raw, values = NUMBER, _seconds(values)
    try:
        return column_of(name, raw, _dates(name, values) if raw == DATE else values)
    except OverflowError:
        refuse_huge(values, f"column {name!r}")
        raise


def _seconds(values: Array) -> Array:
    unit = np.timedelta64(1, "s")
    return np.asarray(values / unit, np.float64)  # NaT gives NaN


def _dates(name: str, values: Array) -> Array:
    """Return dates in microseconds. Years beyond +-290,000 do not fit, which NumPy does not notice."""
    found = values.astype(DATE_UNIT)
    fits = (found.astype(values.dtype) == values) | np.isnat(values)
    if np.datetime_data(values.dtype)[0] not in ("us", "ns", "ps", "fs", "as") and not fits.all():
        row = int(np.argmin(fits))
        raise InputError(f"column {name!r} has a date out of range (row {row}): correct it, or make it missing.")
    return found


def _check_shape(n_rows: int, n_columns: int) -> None:
    if n_rows == 0:
        raise InputError(
            f"X has no rows: it has 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required."
        )
    if n_columns == 0:
        raise InputError(
            f"X has no columns: it has 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
        )


def _of_array(X: Any, drops: Drops | None) -> Table:
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
    raw = _raw_of(values.dtype, "X")
    names = [f"x{i}" for i in range(values.shape[1])]
    return _table(names, lambda i: (raw, values[:, i]), len(values), drops, named=False)


def _raw_of(dtype: np.dtype[Any], what: str) -> str:
    if dtype.kind in "OUST":
        return OBJECT
    if dtype.kind in "fiub":
        return NUMBER
    if dtype.kind in "Mm":
        return DATE if dtype.kind == "M" else NUMBER
    if dtype.kind == "c":
        raise InputError(f"{what} is complex ({dtype}). Complex data not supported: take its real or imaginary part.")
    raise InputTypeError(f"{what} has the dtype {dtype}: pass numbers, strings, booleans or dates.")


def _of_column(column: Any) -> Raw:
    """Return the kind and the values of a column of narwhals, which loses some types of pandas."""
    numbers = numbers_of(column)
    if numbers is not None:
        return NUMBER, numbers
    nw, dtype, name = narwhals(), column.dtype, pandas_type(column)
    if name == "category":  # of any values, by number: as fast for long names as for short ones
        part = column.to_native().cat
        return CATEGORY, np.append(part.categories.to_numpy(dtype=object), [None])[part.codes.to_numpy()]
    if dtype in (nw.Categorical, nw.Enum):
        return CATEGORY, _objects(column.to_list())
    if name.startswith("period"):
        return DATE, column.to_native().dt.to_timestamp().to_numpy(DATE_UNIT)
    if dtype.is_temporal() and dtype != nw.Time:
        values = np.asarray(column.to_numpy())
        return _raw_of(values.dtype, f"column {column.name!r}"), values
    if name.startswith("complex"):
        _raw_of(np.dtype(complex), f"column {column.name!r}")
    return OBJECT, _objects(column.to_list())


def _objects(values: list[Any]) -> Array:
    found = np.empty(len(values), object)
    found[:] = values
    return found
