"""GCWSClassifier for Spark ML: hash rows and train a linear model on the workers.

The result holds a single-machine model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
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
from .._array import Array
from .._losses import names_losses
from .._validation import check_positive_int
from ..exceptions import InputError, InputTypeError, Setting
from ._average import CODES, LABEL, WEIGHT, average
from ._column import check_new, skips, type_of
from ._gcws import GCWS, hasher_of
from ._model import ClassifierColumns, GCWSClassifierModel
from ._params import LocalParams

MOST_CLASSES = 1000
HASH = ("n_components", "bits", "t_bits", "p", "gamma", "center", "views", "random_state")
# The losses of Spark's own models; by ``from_sklearn`` they become ours.
SPARK_MODELS = {"hinge": (LinearSVC, LocalLinearSVC), "log_loss": (LogisticRegression, SGDClassifier)}


@names_losses
class GCWSClassifier(
    LocalParams,
    ClassifierColumns,
    HasLabelCol,
    HasWeightCol,
    Estimator,
    DefaultParamsReadable,
    DefaultParamsWritable,
):
    r"""Train a linear classifier on hashed rows on a cluster; see :class:`kernelsketch.GCWSClassifier`.

    The workers hash the rows of their partitions. A linear model is trained for each class against the rest (two
    classes need one model) by one of two solvers:

    - ``solver="average"``: each partition makes one pass of ``partial_fit`` over its packed codes, which take one byte
      per hash at 8 bits. The weights of all partitions are averaged, and the next round starts from the average. This
      solver is faster and supports all losses. It comes close to the minimum of the objective but does not reach it.
    - ``solver="spark"``: Spark's own LinearSVC (``loss="hinge"``) or LogisticRegression (``loss="log_loss"``) on sparse
      vectors of the codes. They take 12 bytes per hash and are kept in memory or on disk during training. This solver
      minimizes the objective of the single-machine estimator, except that Spark does not penalize the intercept.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center, views, random_state
        Parameters of the hash; see :class:`GCWS`.
    C, fit_intercept
        See :class:`kernelsketch.GCWSClassifier`. C refers to rows of unit norm.
    intercept_scaling : float, default=1.0
        See :class:`kernelsketch.GCWSClassifier`. Only ``solver="average"`` uses it.
    loss : {classifier losses}, default="squared_hinge"
        The loss function. Spark has "hinge" and "log_loss"; any other requires ``solver="average"``.
    solver : {"average", "spark"}, default="average"
        The solver; see above.
    max_iter : int, default=1000
        Largest number of iterations of ``solver="spark"``, which stops earlier when it has converged.
    n_rounds : int, default=10
        Number of rounds of ``solver="average"``.
    n_partitions : int, default=None
        Number of partitions that ``solver="average"`` distributes the codes to. The model depends on the rows and on
        this number, but not on the order or the partitions of the dataset. None means the number of partitions of the
        dataset, which is not available on Spark Connect: set a number there.
    featuresCol, labelCol, predictionCol, rawPredictionCol, probabilityCol : str
        Names of columns. The defaults are those of Spark ML. Labels are numbers, strings or booleans.
    weightCol : str, default=None
        Column of sample weights, which multiply C. None means a weight of 1 for every row.
    handleInvalid : {"error", "skip"}, default="error"
        See :class:`GCWS`. With "skip", the attribute ``n_skipped`` of the model is the number of skipped rows.

    See Also
    --------
    GCWSClassifierModel : The fitted model that :meth:`fit` returns.
    GCWS : The hash alone, for pipelines with the models of Spark ML.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch.spark import GCWSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> rows = [(x.tolist(), int(label)) for x, label in zip(X, y)]
    >>> train = spark.createDataFrame(rows[:1000], ["features", "label"])
    >>> model = GCWSClassifier(n_components=128, n_partitions=2).fit(train)
    >>> model.to_local().score(X[1000:], y[1000:]) > 0.9
    True
    """

    _local = linear.GCWSClassifier
    _without = frozenset({"class_weight", "probability", "scale", "tol", "warm_start", "verbose", "n_jobs"})
    _own = {  # noqa: RUF012  (a table, as its base declares it)
        "solver": ("average", "average: averaged passes over packed codes; spark: Spark's optimizer on sparse vectors"),
        "n_rounds": (10, "number of rounds for solver='average'"),
        "n_partitions": (None, "number of partitions for solver='average'; None: that of the dataset"),
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
            fitted = average(rows, local, classes, width, parts, self.getOrDefault("n_rounds"))
        model = GCWSClassifierModel(fitted)
        model._resetUid(self.uid)
        for param in self.params:
            if model.hasParam(param.name) and self.isSet(param):
                model.set(model.getParam(param.name), self.getOrDefault(param))
        if self.getHandleInvalid() == "skip":
            model.n_skipped = hasher.invalid_rows(dataset).count()
        return model

    def _checked(self) -> tuple[linear.GCWSClassifier, str]:
        """Check the parameters and return the single-machine estimator with the same parameters, and the solver."""
        solver = self.check_option("solver", ("average", "spark"))
        skips(self.getHandleInvalid())  # refuses other values
        local = linear.GCWSClassifier(**self.local_values())
        local._validate_params()
        if solver == "spark" and local.loss not in SPARK_MODELS:
            raise InputError(
                Setting("loss", local.loss),
                f" cannot be used with solver='spark', which has {' and '.join(map(repr, SPARK_MODELS))}: "
                "use one of these, or solver='average'.",
            )
        other, own = ("n_rounds", "max_iter") if solver == "spark" else ("max_iter", "n_rounds")
        if self.isSet(other):
            raise InputError(
                Setting(other, self.getOrDefault(other)),
                f" has no effect with solver={solver!r}: set {own}, or use the other solver.",
            )
        if self.getOrDefault("n_partitions") is not None:
            check_positive_int(self.getOrDefault("n_partitions"), "n_partitions")
        check_positive_int(self.getOrDefault("n_rounds"), "n_rounds")
        return local, solver

    def _classes(self, dataset: DataFrame) -> Array:
        name = self.getLabelCol()
        kind = type_of(dataset, name)
        if not isinstance(kind, (IntegralType, FloatType, DoubleType, StringType, BooleanType)):
            raise InputTypeError(
                f"column {name!r} holds labels of type {kind.simpleString()}: numbers, strings or booleans are needed. "
                "Cast the column first."
            )
        found = [row[0] for row in dataset.select(name).distinct().limit(MOST_CLASSES + 1).collect()]
        if any(label is None or label != label for label in found):
            raise InputError(f"column {name!r} holds a label that is null or NaN: fill or drop such rows first.")
        if len(found) > MOST_CLASSES:
            raise InputError(
                f"column {name!r} holds more than {MOST_CLASSES} different labels: is it the target of a regression?"
            )
        if len(found) < 2:
            raise InputError(f"column {name!r} holds {len(found)} classes, {found}: at least 2 are needed.")
        return np.unique(np.array(found))

    def _width(self, dataset: DataFrame) -> int:
        """Return the width of the first row that is not null. Every other row must have the same width."""
        name = self.getFeaturesCol()
        first = dataset.select(name).where(col(name).isNotNull()).first()
        if first is None:
            raise InputError(f"column {name!r} has no row that is not null: there is nothing to learn from.")
        row = first[0]
        return max(1, (row.size or 0) if isinstance(row, Row) else len(row))

    def _by_spark(
        self, rows: DataFrame, local: linear.GCWSClassifier, classes: Array, width: int
    ) -> linear.GCWSClassifier:
        """Train one Spark model for each class against the rest and join them to a single-machine model."""
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            n, weights = rows.agg(count(lit(1)), total(WEIGHT)).first() or (0, None)
            if not n or not weights or weights < 0:
                raise InputError(f"{n} rows of total weight {weights} are left: rows with a weight above 0 are needed.")
            common = {
                "featuresCol": CODES,
                "labelCol": "target",
                "weightCol": WEIGHT,
                "regParam": 1 / (local.C * weights),
                "maxIter": local.max_iter,
                "fitIntercept": local.fit_intercept,
                "standardization": False,
            }
            kind, kind_of_whole = SPARK_MODELS[local.loss]
            positive = [1] if len(classes) == 2 else range(len(classes))
            found = [
                kind(**common).fit(rows.withColumn("target", (col(LABEL) == lit(i)).cast("double"))) for i in positive
            ]
        finally:
            rows.unpersist()
        C, intercept = float(local.C), bool(local.fit_intercept)
        whole = kind_of_whole(loss=local.loss, fit_intercept=intercept)
        whole.coef_ = np.stack([model.coefficients.toArray() for model in found])
        whole.intercept_ = np.array([model.intercept for model in found])
        whole.classes_, whole.n_iter_ = classes, max(map(_iterations, found))
        hasher = features.GCWS.from_hasher(hasher_of(local, width), width)
        fitted = linear.GCWSClassifier.from_sklearn(make_pipeline(hasher, whole))
        return fitted.set_params(C=C, max_iter=local.max_iter)


def _iterations(model: Any) -> int:
    summary = model.summary  # a method of one Spark model and a property of the other
    return int((summary() if callable(summary) else summary).totalIterations)


def partitions_of(dataset: DataFrame) -> int:
    try:
        return int(dataset.rdd.getNumPartitions())
    except (PySparkAttributeError, PySparkNotImplementedError) as error:
        raise InputError(
            Setting("n_partitions", None),
            " cannot be used on Spark Connect, which does not report the number: set n_partitions.",
        ) from error
