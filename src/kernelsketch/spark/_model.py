"""GCWSClassifierModel: a fitted classifier that predicts on a cluster by a single-machine model."""

from __future__ import annotations

import os
import tempfile
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasHandleInvalid,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
)
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import ArrayType, BooleanType, DataType, DoubleType, StringType, StructField, StructType
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .. import linear
from ..exceptions import InputTypeError
from ..linear import Training
from ._column import RowColumn, check_new, column_of, skips

CHUNK_BYTES = 1 << 26  # bytes of the model file per row of the saved table
ANSWER = "_answer"  # a column that exists only within transform


class ClassifierColumns(HasFeaturesCol, HasPredictionCol, HasRawPredictionCol, HasProbabilityCol, HasHandleInvalid):
    """The column parameters of Spark's own classifiers."""

    def _default_columns(self) -> None:
        self._setDefault(
            featuresCol="features",
            predictionCol="prediction",
            rawPredictionCol="rawPrediction",
            probabilityCol="probability",
            handleInvalid="error",
        )


class GCWSClassifierModel(Model, ClassifierColumns, MLReadable, MLWritable):
    """Predict the classes of rows on a cluster. :class:`GCWSClassifier` fits this model.

    :meth:`transform` adds the columns ``predictionCol`` (a double if labels are numbers, otherwise the label itself),
    ``rawPredictionCol`` (a vector of decision values, one per class) and, for a model with ``loss="log_loss"``,
    ``probabilityCol``. The decision values are equal to those of the single-machine estimator bit for bit.

    Parameters
    ----------
    local : kernelsketch.GCWSClassifier
        The fitted single-machine classifier. Users call :meth:`from_local` instead.
    **columns
        The parameters ``featuresCol``, ``predictionCol``, ``rawPredictionCol``, ``probabilityCol`` and
        ``handleInvalid``; see :class:`GCWSClassifier`.

    Attributes
    ----------
    n_skipped : int or None
        Number of rows that the fit skipped with ``handleInvalid="skip"``, otherwise None.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pyspark.ml.functions import array_to_vector
    >>> import kernelsketch
    >>> from kernelsketch.spark import GCWSClassifierModel
    >>> X, y = load_digits(return_X_y=True)
    >>> local = kernelsketch.GCWSClassifier(n_components=64).fit(X[:1000], y[:1000])
    >>> df = spark.createDataFrame([(row.tolist(),) for row in X[1000:1004]], ["features"])
    >>> predicted = GCWSClassifierModel.from_local(local).transform(df)
    >>> bool(([row.prediction for row in predicted.collect()] == local.predict(X[1000:1004])).all())
    True
    """

    n_skipped: int | None = None

    def __init__(self, local: Any = None, **columns: Any) -> None:
        super().__init__()
        self._default_columns()
        self._set(**columns)
        self._fitted = local

    @classmethod
    def from_local(cls, local: Any, **columns: Any) -> GCWSClassifierModel:
        """Make a Spark model from a fitted single-machine classifier.

        Parameters
        ----------
        local : kernelsketch.GCWSClassifier
            The fitted classifier.
        **columns
            As for the class.

        Returns
        -------
        model : GCWSClassifierModel
        """
        if not isinstance(local, linear.GCWSClassifier):
            raise InputTypeError(
                f"local must be a kernelsketch.GCWSClassifier, got {type(local).__name__}.", parameter="local"
            )
        check_is_fitted(local)
        return cls(local, **columns)

    def to_local(self) -> linear.GCWSClassifier:
        """Return the single-machine classifier, for prediction, ``partial_fit`` or a file on one machine.

        Returns
        -------
        local : kernelsketch.GCWSClassifier
        """
        local: linear.GCWSClassifier = self._fitted
        return local

    def _transform(self, dataset: DataFrame) -> DataFrame:
        local = self.to_local()
        source = self._source()
        source.check(dataset)
        names = [self.getPredictionCol(), self.getRawPredictionCol(), self.getProbabilityCol()]
        names = names if hasattr(local, "predict_proba") else names[:2]
        check_new(dataset, *names)
        listed = ArrayType(DoubleType())  # vectors within a struct are not supported everywhere in Spark
        kinds = [label_type(local.classes_), listed, listed][: len(names)]
        fields = [StructField(f"f{i}", kind) for i, kind in enumerate(kinds)]
        lean = copy(local)
        lean.training_ = Training(local.training_.bias, local.training_.n_iter)  # what learning goes on from stays here
        answer = column_of(source, partial(decide, lean), StructType(fields), len(local.classes_))
        result = dataset.withColumn(ANSWER, answer)
        if source.skip:
            result = result.where(col(ANSWER).isNotNull())
        parts = [col(ANSWER)["f0"], *[array_to_vector(col(ANSWER)[f"f{i}"]) for i in range(1, len(names))]]
        return result.select("*", *[part.alias(name) for part, name in zip(parts, names, strict=True)]).drop(ANSWER)

    def _source(self) -> RowColumn:
        return RowColumn(self.getFeaturesCol(), int(self.to_local().n_features_in_), skips(self.getHandleInvalid()))

    def write(self) -> MLWriter:
        """Return a writer for the model, as in ``model.write().overwrite().save(path)``."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return a reader of saved models, as in ``GCWSClassifierModel.read().load(path)``."""
        return _ModelReader()


def label_type(classes: Any) -> DataType:
    """Return the Spark type of predicted labels. Numbers become doubles because Spark's evaluators require it."""
    kind = classes.dtype.kind
    return BooleanType() if kind == "b" else DoubleType() if kind in "iuf" else StringType()


def decide(local: linear.GCWSClassifier, X: Any) -> Any:
    """Return predictions, decision values and, if the model has them, probabilities of rows as Arrow structs."""
    if local.fitted_.needs_dense and sparse.issparse(X):
        X = X.toarray()
    values = local.decision_function(X)
    values = values[:, None] if values.ndim == 1 else values
    raw = np.hstack([-values, values]) if values.shape[1] == 1 else values
    labels = local.classes_[raw.argmax(axis=1)]
    kind = labels.dtype.kind
    arrays = [
        pa.array(
            labels.astype(np.float64) if kind in "iuf" else labels.astype(bool) if kind == "b" else labels.tolist()
        ),
        _lists(raw),
    ]
    if hasattr(local, "predict_proba"):
        arrays.append(_lists(local.fitted_.probabilities(values)))
    return pa.StructArray.from_arrays(arrays, names=[f"f{i}" for i in range(len(arrays))])


def _lists(values: Any) -> Any:
    return pa.array(list(values), pa.list_(pa.float64()))


class _ModelWriter(MLWriter):
    """Write the parameters as Spark does, and the model file as the rows of a table.

    Spark writes the table, so the path may be on any file system that Spark supports.
    """

    def __init__(self, model: GCWSClassifierModel) -> None:
        super().__init__()
        self._model = model

    def saveImpl(self, path: str) -> None:  # noqa: N802  (Spark's name)
        DefaultParamsWriter.saveMetadata(
            self._model, path, self.sparkSession, extraMetadata={"n_skipped": self._model.n_skipped}
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.safetensors"
            self._model.to_local().save(file)
            whole = file.read_bytes()
        chunks = [(i, whole[i : i + CHUNK_BYTES]) for i in range(0, len(whole), CHUNK_BYTES)]
        table = self.sparkSession.createDataFrame(chunks, "start long, bytes binary")
        table.coalesce(1).write.parquet(os.path.join(path, "model"))


class _ModelReader(MLReader[Any]):
    def load(self, path: str) -> GCWSClassifierModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        table = self.sparkSession.read.parquet(os.path.join(path, "model")).orderBy("start")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.safetensors"
            with file.open("wb") as out:
                for row in table.toLocalIterator():
                    out.write(row.bytes)
            model = GCWSClassifierModel(linear.GCWSClassifier.load(file))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        model.n_skipped = metadata.get("n_skipped")
        return model
