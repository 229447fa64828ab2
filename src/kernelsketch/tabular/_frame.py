"""Tables of any library as lists of columns: pandas, polars, pyarrow, arrays, and lists of dicts.

A column holds numbers (float64, NaN where a value is missing), dates (datetime64, NaT) or categories (strings, None).
Columns of Python objects are inferred: numbers, dates, both also stored as text, or categories.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._validation import first_repeated
from ..exceptions import InputError, InputTypeError
from ._values import DATE_UNIT, LARGEST_EXACT, category_text, is_large_integer, map_distinct, plain_value, read_texts

Array = NDArray[Any]

NUMBER, DATE, CATEGORY = "number", "date", "category"
MOST_CELLS = 1 << 26  # of a sparse matrix that is taken as a dense one


class Column(NamedTuple):
    """A column: its values, their kind, and a note about how they were read, if that is not obvious."""

    name: str
    kind: str
    values: Array
    note: str = ""
    texts: Array | None = None  # of numbers and dates: the text that they were, or integers that float64 does not hold
    notation: str | None = None  # of texts that are numbers or dates
    doubt: str = ""  # a warning for those who train on the column

    @property
    def missing(self) -> Array:
        """Flags of missing values."""
        if self.kind == CATEGORY:
            return np.fromiter((value is None for value in self.values), bool, len(self.values))
        return np.isnat(self.values) if self.kind == DATE else np.isnan(self.values)


class Table(NamedTuple):
    """Columns of equal length. ``named`` says whether the user gave their names."""

    columns: list[Column]
    n_rows: int
    named: bool


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
        return _table([(name, ("object", _objects([row.get(name) for row in X]))) for name in names], len(X))
    return _of_array(X)


Raw = tuple[str, Array]


def _table(parts: list[tuple[Any, Raw]], n_rows: int) -> Table:
    names = [str(name) for name, _ in parts]
    check_names(names)
    columns = [column_of(name, *raw) for name, (_, raw) in zip(names, parts, strict=True)]
    _check_shape(n_rows, len(columns))
    return Table(columns, n_rows, True)


def check_names(names: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    if (twice := first_repeated(names)) is not None:
        raise InputError(f"two columns of X have the name {twice!r}: rename one of them.")


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
        return NUMBER, part.to_numpy()
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
    return "object", _objects(part.to_list())


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
        return CATEGORY, _objects(part.cast(kind.value_type).to_pylist())
    return "object", _objects(part.to_pylist())


def _objects(values: list[Any]) -> Array:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def column_of(name: str, raw: str, values: Array) -> Column:
    """Return a column of values that are numbers, dates or categories, or whose kind is to be inferred."""
    if raw == NUMBER:
        found = values.astype(np.float64)
        refuse_infinity(name, found)
        large = values.dtype.kind in "iu" and bool((np.abs(found) > LARGEST_EXACT).any())
        return Column(name, NUMBER, found, texts=values if large else None)
    if raw == DATE:
        return Column(name, DATE, values.astype(DATE_UNIT))
    if raw == CATEGORY:
        return Column(name, CATEGORY, map_distinct(values, category_text))
    return _inferred(name, values)


def refuse_infinity(name: str, values: Array) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise InputError(
            f"column {name!r} contains infinity (row {row}): replace it by a finite number or by a missing value (NaN)."
        )


def _inferred(name: str, objects: Array) -> Column:
    """Return a column of Python objects as numbers, dates or categories."""
    values = map_distinct(objects, plain_value)
    present = [value for value in values if value is not None]
    if not present:
        return Column(name, NUMBER, np.full(len(values), np.nan))
    if all(isinstance(value, float) for value in present):
        column = column_of(name, NUMBER, _or_missing(values, np.nan, np.float64))
        return column._replace(texts=objects) if any(map(is_large_integer, objects)) else column
    if all(isinstance(value, np.datetime64) for value in present):
        return Column(name, DATE, _or_missing(values, np.datetime64("NaT"), DATE_UNIT))
    if all(isinstance(value, str) for value in present):
        column = column_of_texts(name, values)
        if column.kind == CATEGORY or column.notation:
            return column
        return column._replace(note="numbers stored as text" if column.kind == NUMBER else "dates stored as text")
    note = "numbers and text mixed: read as categories"
    return Column(name, CATEGORY, map_distinct(objects, category_text), note)


def column_of_texts(name: str, texts: Array) -> Column:
    """Return a column of strings as numbers, dates or categories."""
    values, reading = read_texts(texts)
    if values is None:
        return Column(name, CATEGORY, map_distinct(texts, category_text), reading.note, doubt=reading.doubt)
    if reading.is_date:
        return Column(name, DATE, values, reading.note, texts, reading.notation, reading.doubt)
    refuse_infinity(name, values)
    return Column(name, NUMBER, values, reading.note, texts, reading.notation, reading.doubt)


def _or_missing(values: Array, missing: Any, dtype: Any) -> Array:
    return np.array([missing if value is None else value for value in values], dtype=dtype)
