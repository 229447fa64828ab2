"""NRFF for Spark ML: Fourier features of rows as dense vectors. See ``features/_fourier.py`` for the transformer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import DataType

from .. import features
from ._arrow import dense_vectors
from ._transformer import N_FEATURES, SketchTransformer


class NRFF(SketchTransformer):
    r"""Map the rows of a DataFrame to normalized random Fourier features, which approximate the RBF kernel.

    This is :class:`kernelsketch.NRFF` as a transformer of Spark ML. The features are equal to those of a single machine
    bit for bit and do not depend on the partitions.

    Parameters
    ----------
    n_components, gamma, random_state
        See :class:`kernelsketch.NRFF`. ``random_state`` must be an integer.
    n_features : int, default=None
        Number of features that every row must have. None allows any number; the result does not depend on it.
    inputCol, outputCol, handleInvalid
        See :class:`GCWS`. The results are dense vectors.

    See Also
    --------
    GCWS : Features that approximate the GMM kernel.

    Examples
    --------
    >>> from pyspark.ml.linalg import Vectors
    >>> from kernelsketch.spark import NRFF
    >>> df = spark.createDataFrame([(Vectors.dense(1.0, -2.0),), (Vectors.sparse(2, {1: 3.0}),)], ["features"])
    >>> [round(float(row.z.norm(2)), 6) for row in NRFF(n_components=16, outputCol="z").transform(df).collect()]
    [1.0, 1.0]
    """

    _local = features.NRFF
    _without = frozenset({"n_jobs"})
    _own = {"n_features": N_FEATURES}  # noqa: RUF012  (a table, as its base declares it)

    def _work(self) -> tuple[Callable[[Any], Any], DataType, int]:
        local = self.to_local()
        return partial(fourier_of, self.local_values()), VectorUDT(), int(local.n_components)


def fourier_of(given: dict[str, Any], X: Any) -> Any:
    local = features.NRFF(**given)
    local.seed_, local.n_features_in_ = int(local.random_state), X.shape[1]
    return dense_vectors(local.transform(X))
