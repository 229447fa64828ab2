"""SketchTransformer, the base class of transformers: input and output columns, invalid rows, and the Arrow UDF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.ml import Transformer
from pyspark.ml.param.shared import HasHandleInvalid, HasInputCol, HasOutputCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import DataType

from ._column import RowColumn, check_new, column_of, fault_column, skips
from ._params import LocalParams

N_FEATURES = (None, "number of features that every row must have; None allows any number")


class SketchTransformer(
    LocalParams, HasInputCol, HasOutputCol, HasHandleInvalid, Transformer, DefaultParamsReadable, DefaultParamsWritable
):
    """Base class of transformers whose output is a function of the row and the parameters."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._setDefault(inputCol="features", handleInvalid="error")

    def to_local(self) -> Any:
        """Return the scikit-learn transformer with the same parameters, unfitted.

        Returns
        -------
        transformer : the class of the same name in ``kernelsketch``
        """
        local = self._local(**self.local_values())
        local._validate_params()
        return local

    def invalid_rows(self, dataset: DataFrame) -> DataFrame:
        """Return the rows that :meth:`transform` refuses, or skips with ``handleInvalid="skip"``.

        Parameters
        ----------
        dataset : DataFrame
            The rows to check.

        Returns
        -------
        rows : DataFrame
            The invalid rows, with a column ``fault`` that describes what is wrong with each.
        """
        source = self._source()
        source.check(dataset)
        check_new(dataset, "fault")
        return dataset.withColumn("fault", fault_column(source)).where(col("fault").isNotNull())

    def _transform(self, dataset: DataFrame) -> DataFrame:
        source, name = self._source(), self.getOutputCol()
        compute, kind, numbers_per_row = self._work()
        source.check(dataset)
        check_new(dataset, name)
        result = dataset.withColumn(name, column_of(source, compute, kind, numbers_per_row))
        return result.where(col(name).isNotNull()) if source.skip else result

    def _source(self) -> RowColumn:
        center = self.getOrDefault("center") if self.hasParam("center") else None
        width = self.getOrDefault("n_features") if center is None else len(center)
        return RowColumn(self.getInputCol(), width, skips(self.getHandleInvalid()))

    def _work(self) -> tuple[Callable[[Any], Any], DataType, int]:
        """Return the function of rows, the type of its result, and how many numbers it gives per row."""
        raise NotImplementedError

    def setInputCol(self, value: str) -> Any:  # noqa: N802  (Spark's name)
        """Set the name of the column of rows."""
        return self._set(inputCol=value)

    def setOutputCol(self, value: str) -> Any:  # noqa: N802  (Spark's name)
        """Set the name of the column of results."""
        return self._set(outputCol=value)
