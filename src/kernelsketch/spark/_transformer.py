"""What the transformers share: columns in and out, rows with a fault, the way to the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.ml import Transformer
from pyspark.ml.param.shared import HasHandleInvalid, HasInputCol, HasOutputCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import DataType

from ._column import Source, check_new, column_of, fault_column
from ._params import LocalParams

N_FEATURES = (None, "width that is asked of every row; None takes any width, which no code depends on")


class SketchTransformer(
    LocalParams, HasInputCol, HasOutputCol, HasHandleInvalid, Transformer, DefaultParamsReadable, DefaultParamsWritable
):
    """A transformer whose output is a function of the row and the parameters."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._setDefault(inputCol="features", handleInvalid="error")

    def to_local(self) -> Any:
        """The scikit-learn transformer with the same parameters, not fitted.

        Returns
        -------
        transformer : the class of the same name in ``kernelsketch``
        """
        local = self._local(**self.local_values())
        local._validate_params()
        return local

    def invalid_rows(self, dataset: DataFrame) -> DataFrame:
        """Rows that :meth:`transform` refuses, or with ``handleInvalid="skip"`` leaves out.

        Parameters
        ----------
        dataset : DataFrame

        Returns
        -------
        rows : DataFrame
            These rows, with a column ``fault`` that says what is wrong; ``.count()`` tells how many.
        """
        source = self._source()
        source.check(dataset)
        check_new(dataset, "fault")
        return dataset.withColumn("fault", fault_column(source)).where(col("fault").isNotNull())

    def _transform(self, dataset: DataFrame) -> DataFrame:
        source, name = self._source(), self.getOutputCol()
        compute, kind, numbers_a_row = self._work()
        source.check(dataset)
        check_new(dataset, name)
        result = dataset.withColumn(name, column_of(source, compute, kind, numbers_a_row))
        return result.where(col(name).isNotNull()) if source.skip else result

    def _source(self) -> Source:
        center = self.getOrDefault("center") if self.hasParam("center") else None
        width = self.getOrDefault("n_features") if center is None else len(center)
        skip = self.check_option("handleInvalid", ("error", "skip")) == "skip"
        return Source(self.getInputCol(), width, skip)

    def _work(self) -> tuple[Callable[[Any], Any], DataType, int]:
        """A function of rows, the type of what it gives, and the numbers that come out for a row."""
        raise NotImplementedError

    def setInputCol(self, value: str) -> Any:  # noqa: N802  (Spark's name)
        """Name the column of rows."""
        return self._set(inputCol=value)

    def setOutputCol(self, value: str) -> Any:  # noqa: N802  (Spark's name)
        """Name the column of results."""
        return self._set(outputCol=value)
