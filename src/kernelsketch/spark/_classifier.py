"""GCWSClassifier for Spark ML: rows hashed on the workers, a linear model learned there, a single-machine model out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.errors import PySparkAttributeError, PySparkNotImplementedError
from pyspark.ml import Estimator
from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.ml.param.shared import HasLabelCol, HasWeightCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import array, array_position, col, count, lit
from pyspark.sql.functions import sum as total
from pyspark.sql.types import BooleanType, DoubleType, FloatType, IntegralType, StringType
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC as LocalLinearSVC

from .. import features, linear
from ..exceptions import InputError, InputTypeError
from ._average import CODES, LABEL, WEIGHT, average
from ._column import check_new, type_of
from ._gcws import GCWS, hasher_of
from ._model import ClassifierColumns, GCWSClassifierModel
from ._params import LocalParams

Array = NDArray[Any]

MOST_CLASSES = 1000
HASH = ("n_components", "bits", "t_bits", "p", "gamma", "center", "random_state")
ITERATIONS = {"spark": 100, "average": 10}


class GCWSClassifier(
    LocalParams,
    ClassifierColumns,
    HasLabelCol,
    HasWeightCol,
    Estimator,
    DefaultParamsReadable,
    DefaultParamsWritable,
):
    r"""The hash and a linear classifier on its codes, learned on a cluster; see :class:`kernelsketch.GCWSClassifier`.

    Rows are hashed where they are. For each class against the rest (two classes are one problem) a linear model is
    learned by one of two routes:

    - ``solver="spark"``: Spark's own LinearSVC (``loss="hinge"``) or LogisticRegression (``loss="log_loss"``) on sparse
      vectors of the codes, 12 bytes a hash, kept in memory or on disk while it runs. It minimizes the objective of
      the single machine, but for the intercept, which Spark does not penalize.
    - ``solver="average"``: each partition makes a pass of ``partial_fit`` over its packed codes, one byte a hash at 8
      bits; weights are averaged over the partitions, and the next round starts from the average. Faster, with all
      losses; close to the minimum, not at it.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, random_state
        Of the hash: see :class:`kernelsketch.GCWS`. ``random_state`` is a whole number.
    center : list of float, default=None
        Subtracted first. Sparse rows are filled.
    C, fit_intercept
        See :class:`kernelsketch.GCWSClassifier`; C refers to rows of unit norm.
    intercept_scaling : float, default=1.0
        As there, for ``solver="average"``.
    loss : {"hinge", "log_loss", "squared_hinge"}, default="hinge"
        Spark has no squared hinge: that one needs ``solver="average"``.
    solver : {"spark", "average"}, default="spark"
        See above.
    max_iter : int, default=None
        Iterations of Spark's optimizer, or rounds of averaging. None is 100, or 10.
    n_partitions : int, default=None
        Of ``solver="average"``: parts that the codes are dealt out to. The model depends on the rows and on this
        number, not on how the rows came. None takes as many as the dataset has, which Spark Connect does not tell.
    featuresCol, labelCol, predictionCol, rawPredictionCol, probabilityCol : str
        Columns, with Spark's usual names as defaults. Labels are numbers, strings or booleans.
    weightCol : str, default=None
        Factors of C, one a row.
    handleInvalid : {"error", "skip"}, default="error"
        As in :class:`GCWS`; the model tells how many rows were left out.

    See Also
    --------
    GCWSClassifierModel : what :meth:`fit` returns.
    GCWS : the hash alone, for pipelines with Spark's models.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch.spark import GCWSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> rows = [(x.tolist(), int(label)) for x, label in zip(X, y)]
    >>> train = spark.createDataFrame(rows[:1000], ["features", "label"])
    >>> model = GCWSClassifier(n_components=128, solver="average", n_partitions=2).fit(train)
    >>> model.to_local().score(X[1000:], y[1000:]) > 0.9
    True
    """

    _local = linear.GCWSClassifier
    _without = frozenset({"class_weight", "tol", "warm_start", "verbose", "n_jobs"})
    _own = {  # noqa: RUF012  (a table, as its base declares it)
        "loss": ("hinge", "hinge, log_loss or squared_hinge; Spark's solver has the first two"),
        "max_iter": (None, "iterations of Spark's optimizer (None: 100) or rounds of averaging (None: 10)"),
        "solver": ("spark", "spark: its own optimizer on sparse vectors; average: passes over packed codes, averaged"),
        "n_partitions": (None, "parts that solver='average' deals the codes out to; None: as many as there are"),
    }

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._default_columns()
        self._setDefault(labelCol="label")

    def _fit(self, dataset: DataFrame) -> GCWSClassifierModel:
        local, solver = self._checked()
        classes = self._classes(dataset)
        hasher = GCWS(
            **{name: value for name, value in self.local_values().items() if name in HASH and value is not None},
            inputCol=self.getFeaturesCol(),
            handleInvalid=self.getHandleInvalid(),
            outputCol=CODES,
            output="vector" if solver == "spark" else "packed",
        )
        hasher._source().check(dataset)
        check_new(dataset, CODES, LABEL, WEIGHT)
        width = hasher._source().width or self._width(dataset)
        hasher = hasher.setParams(n_features=width)
        place = array_position(array(*map(lit, classes.tolist())), col(self.getLabelCol())) - 1
        weight = col(self.getWeightCol()).cast("double") if self.isDefined("weightCol") else lit(1.0)
        rows = hasher.transform(dataset.withColumn(LABEL, place.cast("int")).withColumn(WEIGHT, weight))
        rows = rows.select(CODES, LABEL, WEIGHT)
        if solver == "spark":
            fitted = self._by_spark(rows, local, classes, width)
        else:
            parts = self.getOrDefault("n_partitions") or partitions_of(dataset)
            fitted = average(rows, local, classes, width, parts)
        model = GCWSClassifierModel(fitted)
        model._resetUid(self.uid)
        for param in self.params:
            if model.hasParam(param.name) and self.isSet(param):
                model.set(model.getParam(param.name), self.getOrDefault(param))
        if self.getHandleInvalid() == "skip":
            model.n_skipped = hasher.invalid_rows(dataset).count()
        return model

    def _checked(self) -> tuple[linear.GCWSClassifier, str]:
        """The single-machine estimator with the same parameters, and the solver; refuses what does not fit together."""
        solver = self.check_option("solver", ("spark", "average"))
        self.check_option("handleInvalid", ("error", "skip"))
        given = self.local_values()
        if given["max_iter"] is None:
            given["max_iter"] = ITERATIONS[solver]
        local = linear.GCWSClassifier(**given)
        local._validate_params()
        if solver == "spark" and local.loss == "squared_hinge":
            raise InputError(
                "loss='squared_hinge' cannot be used with solver='spark', which has 'hinge' and 'log_loss': "
                "use one of these, or solver='average'."
            )
        parts = self.getOrDefault("n_partitions")
        if parts is not None and parts < 1:
            raise InputError(f"n_partitions must be a whole number above 0, got {parts}.")
        return local, solver

    def _classes(self, dataset: DataFrame) -> Array:
        name = self.getLabelCol()
        kind = type_of(dataset, name)
        if not isinstance(kind, (IntegralType, FloatType, DoubleType, StringType, BooleanType)):
            raise InputTypeError(
                f"column {name!r} holds labels of type {kind.simpleString()}: numbers, strings or booleans are needed; "
                "cast it first."
            )
        found = [row[0] for row in dataset.select(name).distinct().limit(MOST_CLASSES + 1).collect()]
        if any(label is None or label != label for label in found):
            raise InputError(f"column {name!r} holds a label that is null or NaN: fill it, or leave such rows out.")
        if len(found) > MOST_CLASSES:
            raise InputError(
                f"column {name!r} holds more than {MOST_CLASSES} different labels: is it the target of a regression?"
            )
        if len(found) < 2:
            raise InputError(f"column {name!r} holds {len(found)} classes, {found}: at least 2 are needed.")
        return np.unique(np.array(found))

    def _width(self, dataset: DataFrame) -> int:
        """Of the first row that is not null; every other row must be as wide."""
        name = self.getFeaturesCol()
        first = dataset.select(name).where(col(name).isNotNull()).first()
        if first is None:
            raise InputError(f"column {name!r} has no row that is not null: there is nothing to learn from.")
        row = first[0]
        return max(1, (row.size or 0) if isinstance(row, Row) else len(row))

    def _by_spark(
        self, rows: DataFrame, local: linear.GCWSClassifier, classes: Array, width: int
    ) -> linear.GCWSClassifier:
        """A model of Spark's for each class against the rest; together they are a model of ours."""
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            n, weights = rows.agg(count(lit(1)), total(WEIGHT)).first() or (0, None)
            if not n or not weights or weights < 0:
                raise InputError(f"{n} rows of weight {weights} are left to learn from: rows with a weight are needed.")
            common = {
                "featuresCol": CODES,
                "labelCol": "target",
                "weightCol": WEIGHT,
                "regParam": 1 / (local.C * weights),
                "maxIter": local.max_iter,
                "fitIntercept": local.fit_intercept,
                "standardization": False,
            }
            kind = LinearSVC if local.loss == "hinge" else LogisticRegression
            positive = [1] if len(classes) == 2 else range(len(classes))
            found = [
                kind(**common).fit(rows.withColumn("target", (col(LABEL) == lit(i)).cast("double"))) for i in positive
            ]
        finally:
            rows.unpersist()
        C, intercept = float(local.C), bool(local.fit_intercept)
        if local.loss == "hinge":
            whole = LocalLinearSVC(loss="hinge", C=C, fit_intercept=intercept)
        else:
            whole = SGDClassifier(loss="log_loss", fit_intercept=intercept)
        whole.coef_ = np.stack([model.coefficients.toArray() for model in found])
        whole.intercept_ = np.array([model.intercept for model in found])
        whole.classes_, whole.n_iter_ = classes, max(map(_iterations, found))
        hasher = features.GCWS.from_hasher(hasher_of(local), width)
        fitted = linear.GCWSClassifier.from_sklearn(make_pipeline(hasher, whole))
        return fitted.set_params(C=C, max_iter=local.max_iter)


def _iterations(model: Any) -> int:
    summary = model.summary  # a method of one of Spark's models, a property of the other
    return int((summary() if callable(summary) else summary).totalIterations)


def partitions_of(dataset: DataFrame) -> int:
    try:
        return int(dataset.rdd.getNumPartitions())
    except (PySparkAttributeError, PySparkNotImplementedError) as error:
        raise InputError(
            "n_partitions=None cannot be used on Spark Connect, which does not tell how many there are: give a number."
        ) from error
