"""Learning on a cluster: both routes, and the way to one machine and back."""

import numpy as np
import pytest

import kernelsketch
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.linear._training import OnlineState
from kernelsketch.spark import GCWSClassifier, GCWSClassifierModel, _average, _classifier


@pytest.fixture(scope="module")
def averaged(digit_frames):
    return GCWSClassifier(n_components=64, n_partitions=2, n_rounds=3).fit(digit_frames[0])


def test_one_partition_is_a_stream_of_one_machine(spark, digits):
    """Rows in the order of the partition, as many passes as rounds: the same weights to the last bit."""
    X, y = digits
    given = {"n_components": 32, "loss": "squared_hinge", "C": 2.0}
    rows = [(x.tolist(), str(label)) for x, label in zip(X, y, strict=True)]
    df = spark.createDataFrame(rows, "features array<double>, label string")
    found = GCWSClassifier(**given, n_partitions=1, n_rounds=2).fit(df).to_local()
    assert found.classes_.tolist() == ["0", "1"]

    from pyspark.sql.functions import col, lit, xxhash64

    from kernelsketch.spark import GCWS

    hashed = GCWS(n_components=32, output="packed", outputCol="codes", n_features=64).transform(df)
    keys = xxhash64(col("codes"), col("label").cast("int"), lit(1.0))
    ordered = sorted(hashed.withColumn("key", keys).select("key", "codes", "label").collect())
    codes = GCWS(n_components=32, n_features=64).packed_codes([row.codes for row in ordered])
    labels = [row.label for row in ordered]
    model = kernelsketch.GCWSClassifier(**given)
    for _ in range(2):
        model.partial_fit(codes, labels, classes=["0", "1"])
    np.testing.assert_array_equal(found.code_weights_, model.code_weights_)
    np.testing.assert_array_equal(found.intercept_, model.intercept_)


def test_the_average_does_not_depend_on_how_rows_came(averaged, digits, digit_frames):
    X, y = digits
    sorted_by_class = digit_frames[0].orderBy("label").coalesce(1)
    again = GCWSClassifier(n_components=64, n_partitions=2, n_rounds=3).fit(sorted_by_class)
    np.testing.assert_array_equal(again.to_local().code_weights_, averaged.to_local().code_weights_)
    alone = kernelsketch.GCWSClassifier(64).fit(X[:300], y[:300])
    assert averaged.to_local().score(X[300:], y[300:]) >= alone.score(X[300:], y[300:]) - 0.02


def test_averages_through_levels(spark, digit_frames, monkeypatch):
    """A tree of two levels gives the average of one, up to float32."""
    fit = GCWSClassifier(n_components=16, n_partitions=4, n_rounds=1)
    flat = fit.fit(digit_frames[0]).to_local()
    monkeypatch.setattr(_average, "FAN_IN", 3)
    tree = fit.fit(digit_frames[0]).to_local()
    np.testing.assert_allclose(tree.code_weights_, flat.code_weights_, rtol=1e-5, atol=1e-6)


def test_averages_are_weighted_by_rows():
    import pyarrow as pa

    def state(value, blocks):
        w, bias = np.full((1, 2, 16), value, np.float32), np.array([float(value)])
        return OnlineState(np.arange(3), w, bias, 2 * w, 2 * bias, blocks)

    batches = [_average._batch(part, rows, 4, _average._joined(state(part, 4))) for part, rows in ((1, 30), (9, 10))]
    total, blocks, tables = _average._averaged(pa.Table.from_batches(batches), (1, 2, 16))
    found = _average._split(tables, state(0, 0), round(blocks))
    assert (total, found.blocks) == (40, 4)
    assert np.unique(found.w) == [3]
    assert np.unique(found.mean_w) == [6]
    assert (found.bias[0], found.mean_bias[0]) == (3, 6)


def test_calls_have_the_same_rows_whatever_the_batches(monkeypatch):
    import pyarrow as pa

    monkeypatch.setattr(_average, "CALL_ROWS", 10)
    column = pa.array(range(37))
    for size in (1, 7, 10, 37):
        batches = (pa.RecordBatch.from_arrays([column.slice(i, size)], ["x"]) for i in range(0, 37, size))
        assert [len(call) for call in _average._calls(batches)] == [10, 10, 10, 7]


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_sparks_own_optimizer(digits, digit_frames, loss):
    """The objective of one machine, which penalizes the intercept too: so both are fitted without."""
    X, y = digits
    fit = GCWSClassifier(
        n_components=16,
        bits=4,
        loss=loss,
        solver="spark",
        fit_intercept=False,
        max_iter=30 if loss == "log_loss" else 3,
    )
    found = fit.fit(digit_frames[0]).to_local()
    assert found.score(X[300:], y[300:]) > 0.9
    if loss == "log_loss":
        exact = kernelsketch.GCWSClassifier(16, bits=4, loss=loss, fit_intercept=False, tol=1e-6).fit(X[:300], y[:300])
        np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=0.02)


def test_predictions_are_those_of_one_machine(averaged, digits, digit_frames):
    X, _ = digits
    found = sorted(averaged.transform(digit_frames[1]).collect())
    local = averaged.to_local()
    assert [row.prediction for row in found] == local.predict(X[300:]).tolist()
    values = local.decision_function(X[300:])
    np.testing.assert_array_equal([row.rawPrediction.toArray() for row in found], np.stack([-values, values], axis=1))
    assert "probability" not in found[0]


def test_more_classes_with_names_and_probabilities(spark):
    """From one machine to the cluster: three classes, strings, the logarithmic loss."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    local = kernelsketch.GCWSClassifier(64, loss="log_loss").fit(X, names)
    df = spark.createDataFrame([(i, x.tolist()) for i, x in enumerate(X)], ["id", "x"])
    model = GCWSClassifierModel.from_local(local, featuresCol="x", predictionCol="name")
    found = sorted(model.transform(df).collect())
    assert [row.name for row in found] == local.predict(X).tolist()
    np.testing.assert_array_equal([row.probability.toArray() for row in found], local.predict_proba(X))


@pytest.mark.parametrize("count", [2, 3])
def test_a_model_that_scales_and_is_calibrated(spark, count):
    from pyspark.ml.linalg import SparseVector
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    local = kernelsketch.GCWSClassifier(64, scale="standard", probability="calibrated").fit(X, y % count)
    df = spark.createDataFrame([(i, SparseVector(4, range(4), x)) for i, x in enumerate(X)], ["id", "features"])
    found = sorted(GCWSClassifierModel.from_local(local).transform(df).collect())
    assert [row.prediction for row in found] == local.predict(X).tolist()
    np.testing.assert_array_equal([row.probability.toArray() for row in found], local.predict_proba(X))


def test_a_model_file_of_one_machine(averaged, digits, tmp_path):
    X, _ = digits
    local = averaged.to_local()
    local.save(tmp_path / "model.safetensors")
    loaded = kernelsketch.load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.decision_function(X), local.decision_function(X))
    again = GCWSClassifierModel.from_local(loaded)
    assert again.to_local() is loaded


def test_rows_left_out_are_counted(spark, digits, tmp_path):
    X, y = digits
    rows = [
        (None if i % 10 == 0 else x.tolist(), float(label), i % 3)
        for i, (x, label) in enumerate(zip(X, y, strict=True))
    ]
    df = spark.createDataFrame(rows, "features array<double>, label double, w int")
    fit = GCWSClassifier(n_components=32, n_rounds=1, n_partitions=2, handleInvalid="skip", weightCol="w")
    model = fit.fit(df)
    assert model.n_skipped == 36
    model.write().overwrite().save(str(tmp_path / "model"))
    loaded = GCWSClassifierModel.load(str(tmp_path / "model"))
    assert (loaded.n_skipped, loaded.getHandleInvalid()) == (36, "skip")
    assert loaded.transform(df).count() == 324
    np.testing.assert_array_equal(loaded.to_local().code_weights_, model.to_local().code_weights_)


def test_what_cannot_be(spark):
    df = spark.createDataFrame([([1.0], 0), ([2.0], 0)], "features array<double>, label int")
    with pytest.raises(InputError, match=r"loss='squared_hinge' cannot be used with solver='spark'"):
        GCWSClassifier(solver="spark").fit(df)
    with pytest.raises(InputError, match=r"column 'label' holds 1 classes, \[0\]: at least 2"):
        GCWSClassifier().fit(df)
    with pytest.raises(InputError, match="solver must be one of 'average', 'spark', got 'sgd'"):
        GCWSClassifier(solver="sgd").fit(df)
    with pytest.raises(InputError, match="n_rounds must be a whole number above 0, got 0"):
        GCWSClassifier(n_rounds=0).fit(df)
    with pytest.raises(InputError, match="max_iter=50 has no effect with solver='average': set n_rounds"):
        GCWSClassifier(max_iter=50).fit(df)
    with pytest.raises(InputError, match="n_rounds=3 has no effect with solver='spark': set max_iter"):
        GCWSClassifier(n_rounds=3, solver="spark", loss="hinge").fit(df)
    with pytest.raises(InputError, match="n_partitions must be a whole number above 0, got 0"):
        GCWSClassifier(n_partitions=0).fit(df)
    with pytest.raises(InputTypeError, match="column 'features' holds labels of type array<double>"):
        GCWSClassifier(labelCol="features").fit(df)
    with pytest.raises(InputError, match="holds a label that is null or NaN"):
        GCWSClassifier().fit(df.selectExpr("features", "if(features[0] > 1, label, null) as label"))
    with pytest.raises(InputTypeError, match=r"local must be a kernelsketch.GCWSClassifier, got str"):
        GCWSClassifierModel.from_local("model")


def test_partitions_that_are_not_told(digit_frames):
    """Spark Connect has no RDDs."""
    from pyspark.errors import PySparkNotImplementedError

    class Remote:
        @property
        def rdd(self):
            raise PySparkNotImplementedError(errorClass="NOT_IMPLEMENTED", messageParameters={"feature": "rdd"})

    assert _classifier.partitions_of(digit_frames[0].coalesce(1)) == 1
    with pytest.raises(InputError, match="n_partitions=None cannot be used on Spark Connect"):
        _classifier.partitions_of(Remote())


@pytest.mark.parametrize("solver", ["spark", "average"])
@pytest.mark.parametrize("views", [2, [40, 24]])
def test_views(digits, digit_frames, tmp_path, solver, views):
    X, y = digits
    loss = "hinge" if solver == "spark" else "squared_hinge"
    length = {"max_iter": 3} if solver == "spark" else {"n_rounds": 3}
    fit = GCWSClassifier(n_components=64, views=views, loss=loss, solver=solver, n_partitions=2, **length)
    model = fit.fit(digit_frames[0])
    local = model.to_local()
    assert local.views in (views, [32, 32])
    assert local.hasher_.codes(X) == kernelsketch.GCWS(64, views=views).fit(X).codes(X)
    assert local.score(X[300:], y[300:]) > 0.9
    model.write().save(str(tmp_path / "model"))
    back = GCWSClassifierModel.read().load(str(tmp_path / "model"))
    rows = sorted(back.transform(digit_frames[1]).collect(), key=lambda row: row.id)
    values = local.decision_function(X[300:])
    np.testing.assert_array_equal([row.rawPrediction[1] for row in rows], values)
    with pytest.raises(InputError, match=r"views=5 cannot divide 64 features"):
        fit.copy({fit.views: 5}).fit(digit_frames[0])
