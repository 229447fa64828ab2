"""NRFF for Spark ML: Fourier features of rows as dense vectors (features/_fourier.py)."""

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
    r"""Normalized random Fourier features as a transformer of Spark ML: see :class:`kernelsketch.NRFF`.

    Features are those of the single machine to the last bit, whatever the partitions.

    Parameters
    ----------
    n_components, gamma, random_state
        See :class:`kernelsketch.NRFF`. ``random_state`` is a whole number.
    n_features : int, default=None
        Width that is asked of every row. None takes any: no feature depends on it.
    inputCol : str, default="features"
        Vectors of ``pyspark.ml``, sparse and dense mixed, arrays of numbers, or rows of :func:`pack_rows`.
    outputCol : str
        Column of results, dense vectors; by default a name that Spark makes up.
    handleInvalid : {"error", "skip"}, default="error"
        What to do with rows that are null, hold a null, NaN or infinity, or have another width: refuse the first, or
        leave them out. :meth:`invalid_rows` shows them.

    See Also
    --------
    GCWS : the same for the GMM kernel.

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
