"""One table as the data frames of all libraries that are installed."""

import pytest


class ArrowStream:
    """A table of an unknown library, which has the Arrow PyCapsule interface and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A table of an unknown library, which has the data frame interchange protocol and nothing else."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


def _library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def _arrow(columns):
    return _library("pyarrow").table(columns)


def _arrow_types(columns):
    pandas, pyarrow = _library("pandas"), _library("pyarrow")
    made = pyarrow.table(columns)
    return made.to_pandas(types_mapper=pandas.ArrowDtype)


def _several_chunks(columns):
    table = _arrow(columns)
    return _library("pyarrow").concat_tables([table.slice(0, 7), table.slice(7, 0), table.slice(7)])


def _narwhals(frame):
    return _library("narwhals").from_native(frame)


def _dask(columns):
    dask, dataframe = _library("dask"), _library("dask.dataframe")
    with dask.config.set({"dataframe.convert-string": False}):  # dask would turn the objects True and None into text
        return dataframe.from_pandas(_library("pandas").DataFrame(columns), npartitions=3)


def _duckdb(columns):
    table = _arrow(columns)
    return _library("duckdb").connect().from_arrow(table)


MAKERS = {
    "pandas": lambda columns: _library("pandas").DataFrame(columns),
    "pandas nullable": lambda columns: _library("pandas").DataFrame(columns).convert_dtypes(),
    "pandas arrow": _arrow_types,
    "polars": lambda columns: _library("polars").DataFrame(columns),
    "polars lazy": lambda columns: _library("polars").LazyFrame(columns),
    "pyarrow": _arrow,
    "pyarrow chunks": _several_chunks,
    "pyarrow batch": lambda columns: _library("pyarrow").record_batch(columns),
    "pyarrow reader": lambda columns: _arrow(columns).to_reader(),
    "narwhals pandas": lambda columns: _narwhals(_library("pandas").DataFrame(columns)),
    "narwhals polars": lambda columns: _narwhals(_library("polars").DataFrame(columns)),
    "narwhals pyarrow": lambda columns: _narwhals(_arrow(columns)),
    "narwhals lazy": lambda columns: _narwhals(_library("polars").LazyFrame(columns)),
    "arrow stream": lambda columns: ArrowStream(_arrow(columns)),
    "interchange": lambda columns: Interchange(_arrow(columns)),
    "dask": _dask,
    "narwhals dask": lambda columns: _narwhals(_dask(columns)),
    "duckdb": _duckdb,
}
