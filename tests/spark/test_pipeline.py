"""Pipelines of Spark ML: fitted, tuned, saved, and loaded in another process."""

import subprocess
import sys

import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.tuning import CrossValidator

from kernelsketch.spark import GCWS, NRFF, GCWSClassifier

ELSEWHERE = """
import sys
from pyspark.ml import PipelineModel
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
rows = spark.read.parquet(sys.argv[1])
models = [PipelineModel.load(path) for path in sys.argv[2:]]
found = [[row.prediction for row in model.transform(rows).orderBy("id").collect()] for model in models]
print(found)
spark.stop()
"""


def predictions(model, rows):
    return [row.prediction for row in model.transform(rows).orderBy("id").collect()]


def test_saved_pipelines_predict_alike_in_another_process(spark, digit_frames, tmp_path):
    train, test = digit_frames
    stages = [
        [GCWS(n_components=64, p=2.0, outputCol="hashed"), LinearSVC(featuresCol="hashed", maxIter=3)],
        [GCWSClassifier(n_components=32, n_partitions=2, n_rounds=1)],
    ]
    test.write.parquet(str(tmp_path / "rows"))
    paths, expected = [], []
    for number, parts in enumerate(stages):
        pipeline = Pipeline(stages=parts)
        pipeline.save(str(tmp_path / f"pipeline{number}"))
        model = Pipeline.load(str(tmp_path / f"pipeline{number}")).fit(train)
        paths.append(str(tmp_path / f"model{number}"))
        model.save(paths[-1])
        expected.append(predictions(model, test))
        right = [row.label for row in test.orderBy("id").collect()]
        assert sum(a == b for a, b in zip(expected[-1], right, strict=True)) > 0.9 * len(right)
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "rows"), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(expected)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # Spark leaves its threads to the collector
def test_cross_validation_over_the_hash(spark, digit_frames):
    train, _ = digit_frames
    hasher = GCWS(outputCol="hashed")
    pipeline = Pipeline(stages=[hasher, LogisticRegression(featuresCol="hashed", maxIter=2)])
    grid = [
        {hasher.n_components: 1, hasher.bits: 1, hasher.p: 1.0},
        {hasher.n_components: 64, hasher.bits: 4, hasher.p: 2.0},
    ]
    search = CrossValidator(
        estimator=pipeline, estimatorParamMaps=grid, evaluator=BinaryClassificationEvaluator(), numFolds=2, seed=0
    )
    best = search.fit(train)
    assert best.avgMetrics[1] > max(0.95, best.avgMetrics[0])
    chosen = best.bestModel.stages[0]
    assert (chosen.getOrDefault("n_components"), chosen.getOrDefault("bits"), chosen.getOrDefault("p")) == (64, 4, 2.0)


@pytest.mark.parametrize(
    "stage",
    [
        GCWS(n_components=7, center=[0.5, 1.5], random_state=2**64 - 1, output="packed", outputCol="x"),
        NRFF(gamma=2.0, inputCol="z"),
        GCWSClassifier(loss="log_loss", C=3.0, n_partitions=5),
    ],
    ids=lambda stage: type(stage).__name__,
)
def test_parameters_are_saved(spark, stage, tmp_path):
    stage.save(str(tmp_path / "stage"))
    loaded = type(stage).load(str(tmp_path / "stage"))
    assert loaded.uid == stage.uid
    assert {p.name: v for p, v in loaded.extractParamMap().items()} == {
        p.name: v for p, v in stage.extractParamMap().items()
    }


def test_saved_names_are_public(spark, tmp_path):
    GCWS().save(str(tmp_path / "stage"))
    assert '"class":"kernelsketch.spark.GCWS"' in spark.read.text(str(tmp_path / "stage" / "metadata")).first()[0]
    assert PipelineModel([GCWS(outputCol="x")]).stages[0].getOutputCol() == "x"
