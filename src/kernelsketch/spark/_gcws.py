"""GCWS for Spark ML: codes of rows as sparse vectors or as bytes. See ``features/_gcws.py`` for the transformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import BinaryType, DataType
from scipy import sparse

from .. import features
from .._hash_parameters import check_hash, hasher_with
from .._rows import canonical_rows
from ..exceptions import InputError, Setting
from ..hashing import Hasher, PackedCodes
from ._arrow import codes_of, packed_bytes, sparse_vectors
from ._column import RowColumn
from ._transformer import N_FEATURES, SketchTransformer

MOST_WIDTH = 2**31 - 1  # largest size of a Spark vector


class GCWS(SketchTransformer):
    r"""Hash the rows of a DataFrame so that two rows have equal hashes with a probability that is their GMM kernel.

    This is :class:`kernelsketch.GCWS` as a transformer of Spark ML. The codes are equal to those of a single machine
    bit for bit and do not depend on the partitions. Nothing is learned from the data.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, normalize, random_state
        Parameters of the hash; see :class:`kernelsketch.GCWS`. ``random_state`` must be an integer.
    center : list of float, default=None
        Vector that is subtracted from the rows first. ``pyspark.ml.stat.Summarizer`` computes the mean of a column. A
        center makes sparse rows dense.
    views : int or list of int, default=None
        Groups of adjacent columns that are hashed separately; see :class:`kernelsketch.GCWS`. A number of groups
        requires ``n_features``.
    output : {"vector", "packed"}, default="vector"
        Form of the codes. "vector" means sparse one-hot vectors for the linear models of Spark, 12 bytes per hash; a
        Spark vector has at most 2**31 - 1 features. "packed" means packed codes as bytes, one byte per hash at 8 bits;
        an all-zero row has zero bytes.
    n_features : int, default=None
        Number of features that every row must have. None allows any number, because the codes do not depend on it, or
        means the sum of ``views`` if that is a list.
    inputCol : str, default="features"
        Column of rows: vectors of ``pyspark.ml`` (sparse, dense or both), arrays of numbers, or rows from
        :func:`pack_rows`.
    outputCol : str
        Column of results. The default is a unique name that Spark generates.
    handleInvalid : {"error", "skip"}, default="error"
        What to do with rows that are null, contain a null, NaN or infinity, or do not have ``n_features`` features.
        "error" raises an error for the first such row and "skip" skips them. :meth:`invalid_rows` returns them.

    See Also
    --------
    NRFF : Features that approximate the RBF kernel.
    GCWSClassifier : The hash and a linear classifier in one estimator.

    Examples
    --------
    >>> from pyspark.ml.linalg import Vectors
    >>> from kernelsketch.spark import GCWS
    >>> df = spark.createDataFrame([(Vectors.dense(1.0, -2.0),), (Vectors.sparse(2, {1: 3.0}),)], ["features"])
    >>> hashed = GCWS(n_components=4, bits=1, outputCol="hashed").transform(df)
    >>> [row.hashed.size for row in hashed.collect()]
    [8, 8]
    """

    _local = features.GCWS
    _without = frozenset({"sparse_output", "n_jobs"})
    _own = {  # noqa: RUF012  (a table, as its base declares it)
        "output": ("vector", "form of the codes: vector (sparse one-hot vectors) or packed (bytes)"),
        "n_features": N_FEATURES,
    }

    def to_local(self) -> features.GCWS:
        """Return the scikit-learn transformer with the same parameters, unfitted.

        Returns
        -------
        transformer : kernelsketch.GCWS
        """
        local: features.GCWS = super().to_local()
        check_hash(local.p, local.gamma, local.t_bits)
        return local

    def packed_codes(self, column: Any, *, n_features: int | None = None) -> PackedCodes:
        """Convert collected codes of ``output="packed"`` to the form that single-machine estimators take.

        Parameters
        ----------
        column : list of bytes, or Arrow array
            The codes of the rows, in any order.
        n_features : int, default=None
            Number of features of the rows. Models compare it with that of their training rows. None means the parameter
            of this name, or the length of the center.

        Returns
        -------
        codes : PackedCodes
        """
        local = self.to_local()
        width = n_features or self._source().width
        if width is None:
            raise InputError(
                Setting("n_features"), " is not known: pass the number of features of the rows that were hashed."
            )
        return codes_of(column, hasher_of(local, width), width)

    def _source(self) -> RowColumn:
        source, views = super()._source(), self.getOrDefault("views")
        return replace(source, width=sum(views)) if source.width is None and isinstance(views, list) else source

    def _work(self) -> tuple[Callable[[Any], Any], DataType, int]:
        local = self.to_local()
        hasher_of(local, self._source().width)  # refuses views that do not fit before a job starts
        k, width = int(local.n_components), int(local.bits) + int(local.t_bits)
        if self.check_option("output", ("vector", "packed")) == "packed":
            return partial(packed_of, self.local_values()), BinaryType(), k
        if k << width > MOST_WIDTH:
            raise InputError(
                Setting("n_components", k),
                f" with {width} bits makes vectors of {k << width} features, but Spark allows at most "
                f"{MOST_WIDTH}: use output='packed', or fewer bits.",
            )
        return partial(vectors_of, self.local_values()), VectorUDT(), k


def vectors_of(given: dict[str, Any], X: Any) -> Any:
    local = features.GCWS(**given)
    return sparse_vectors(hash_rows(local, X).to_csr(normalize=local.normalize))


def packed_of(given: dict[str, Any], X: Any) -> Any:
    return packed_bytes(hash_rows(features.GCWS(**given), X))


def hash_rows(local: Any, X: Any) -> PackedCodes:
    """Return the codes of rows from `read_rows`, whose values are finite."""
    hasher = hasher_of(local, X.shape[1])
    if hasher.center is not None and sparse.issparse(X):
        X = X.toarray()
    return hasher.codes(canonical_rows(X))


def hasher_of(local: Any, n_features: int | None) -> Hasher:
    """Make the hasher of an estimator's parameters. No rows are needed, because center and seed are given."""
    center = None if local.center is None else np.asarray(local.center, np.float64)
    return hasher_with(local, int(local.random_state), center, n_features)
