"""Tables of any library as lists of columns: pandas, polars, pyarrow, arrays, and lists of dicts.

A column holds numbers (float64, NaN where a value is missing), dates (datetime64, NaT) or categories (strings, None).
Columns of Python objects are inferred: numbers, numbers stored as text, dates, or categories.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._validation import first_repeated
from ..exceptions import InputError, InputTypeError

Array = NDArray[Any]

NUMBER, DATE, CATEGORY = "number", "date", "category"
MISSING_TEXTS = {"", "na", "n/a", "nan", "null", "none", "?"}
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?Z?$")
DATE_UNIT = "datetime64[us]"
MOST_CELLS = 1 << 26  # of a sparse matrix that is taken as a dense one


class Column(NamedTuple):
    """A column: its values, their kind, and a note about how they were read, if that is not obvious."""

    name: str
    kind: str
    values: Array
    note: str = ""
    texts: Array | None = None  # of numbers and dates that were stored as text

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

    def some(self, rows: Array) -> Table:
        """Return the rows that have a flag."""
        columns = [
            part._replace(values=part.values[rows], texts=None if part.texts is None else part.texts[rows])
            for part in self.columns
        ]
        return Table(columns, int(rows.sum()), self.named)


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
    columns = [_column(name, *raw) for name, (_, raw) in zip(names, parts, strict=True)]
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
    columns = [_column(f"x{i}", raw, values[:, i]) for i in range(values.shape[1])]
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


def _column(name: str, raw: str, values: Array) -> Column:
    if raw == NUMBER:
        found = values.astype(np.float64)
        refuse_infinity(name, found)
        return Column(name, NUMBER, found)
    if raw == DATE:
        return Column(name, DATE, values.astype(DATE_UNIT))
    if raw == CATEGORY:
        return Column(name, CATEGORY, _map_distinct(values, category_text))
    return _inferred(name, values)


def refuse_infinity(name: str, values: Array) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise InputError(
            f"column {name!r} contains infinity (row {row}): replace it by a finite number or by a missing value (NaN)."
        )


def _inferred(name: str, values: Array) -> Column:
    """Return a column of Python objects as numbers, dates or categories."""
    values = _map_distinct(values, _plain)
    present = [value for value in values if value is not None]
    if not present:
        return Column(name, NUMBER, np.full(len(values), np.nan))
    if all(isinstance(value, float) for value in present):
        return _column(name, NUMBER, _or_missing(values, np.nan, np.float64))
    if all(isinstance(value, np.datetime64) for value in present):
        return Column(name, DATE, _or_missing(values, np.datetime64("NaT"), DATE_UNIT))
    if all(isinstance(value, str) for value in present):
        numbers = as_numbers(values)
        if numbers is not None:
            refuse_infinity(name, numbers)
            return Column(name, NUMBER, numbers, "numbers stored as text", values)
        dates = as_dates(values)
        if dates is not None:
            return Column(name, DATE, dates, "dates stored as text", values)
        return Column(name, CATEGORY, _map_distinct(values, category_text))
    return Column(name, CATEGORY, _map_distinct(values, category_text), "numbers and text mixed: read as categories")


def _or_missing(values: Array, missing: Any, dtype: Any) -> Array:
    return np.array([missing if value is None else value for value in values], dtype=dtype)


def _map_distinct(values: Array, change: Callable[[Any], Any]) -> Array:
    """Apply a function to each value, once per distinct value where values can be hashed."""
    known: dict[Any, Any] = {}
    found = np.empty(len(values), object)
    for i, value in enumerate(values):
        try:
            key = (type(value), value)
            if key not in known:
                known[key] = change(value)
            found[i] = known[key]
        except TypeError:  # a list, say
            found[i] = change(value)
    return found


def _plain(value: Any) -> Any:
    """Return None, a float, a datetime64 or a string."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        return value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, Decimal)):
        number = float(value)
        return None if number != number else number
    if isinstance(value, date):  # or datetime, which derives from it
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value, "us")
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' marks of missing values
        return None
    if isinstance(value, (Number, str)) or not isinstance(value, (Iterable, dict)):
        return str(value)
    raise InputTypeError(
        f"X contains {repr(value)[:60]} of type {type(value).__name__}. The argument must be a string or a number: "
        "turn such values into columns first."
    )


def category_text(value: Any) -> str | None:
    """Return the name of a category, or None if the value is missing. 1, 1.0 and numpy.int64(1) have one name."""
    value = _plain(value)
    if value is None or value == "" or (isinstance(value, np.datetime64) and np.isnat(value)):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def is_missing_text(value: Any) -> bool:
    """Return whether a value is None or a text that marks a missing number or date."""
    return value is None or (isinstance(value, str) and value.strip().lower() in MISSING_TEXTS)


def as_numbers(values: Array) -> Array | None:
    """Return strings as numbers if all of them are numbers or mark a missing value."""
    known: dict[Any, float] = {None: np.nan}
    found = np.empty(len(values))
    some = False
    for i, value in enumerate(values):
        number = known.get(value)
        if number is None:
            text = value.strip() if isinstance(value, str) else value
            if isinstance(text, str) and text.lower() in MISSING_TEXTS:
                number = np.nan
            else:
                try:
                    number = float(text)
                except ValueError:
                    return None
                some = True
            known[value] = number
        found[i] = number
    return found if some else None


def as_dates(values: Array) -> Array | None:
    """Return strings as dates if all of them are dates as in 2024-05-17 or 2024-05-17T12:30:00, or empty."""
    found = np.full(len(values), np.datetime64("NaT"), DATE_UNIT)
    some = False
    for i, value in enumerate(values):
        if value is None or (isinstance(value, str) and value.strip().lower() in MISSING_TEXTS):
            continue
        if not (isinstance(value, str) and ISO_DATE.match(value.strip())):
            return None
        try:
            found[i] = np.datetime64(value.strip().rstrip("Z").replace(" ", "T"), "us")
        except ValueError:
            return None
        some = True
    return found if some else None
