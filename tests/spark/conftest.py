"""A cluster of two worker processes on this machine, started once for all tests of Spark and stopped after them."""

import os
import shutil
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

CONFIG = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.task.maxFailures": "3",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def pytest_collection_modifyitems(items):
    """One process of xdist runs all that need the cluster, so that one is up at a time; they are slow."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install 'kernelsketch[spark]'")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java 17, which is not here: apt-get install openjdk-17-jre-headless")
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("kernelsketch tests")
    for name, value in {**CONFIG, "spark.local.dir": str(tmp_path_factory.mktemp("spark"))}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def signed():
    """Signed rows with zeros, one of them empty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 30)) * (rng.random((600, 30)) < 0.4)
    X[5] = 0
    return X


@pytest.fixture(scope="session")
def frame(spark, signed):
    """The signed rows: ``features`` as vectors, every other one sparse, and ``listed`` as arrays."""
    from pyspark.ml.linalg import Vectors

    def vector(i, x):
        return Vectors.dense(x) if i % 2 else Vectors.sparse(len(x), np.flatnonzero(x), x[x != 0])

    rows = [(i, vector(i, x), x.tolist()) for i, x in enumerate(signed)]
    return spark.createDataFrame(rows, ["id", "features", "listed"]).repartition(3).cache()


@pytest.fixture(scope="session")
def digits():
    """Zeros and ones: (X, y), 300 rows to learn from and 60 to test on."""
    X, y = load_digits(n_class=2, return_X_y=True)
    return X, y


@pytest.fixture(scope="session")
def digit_frames(spark, digits):
    X, y = digits
    rows = [(i, x.tolist(), int(label)) for i, (x, label) in enumerate(zip(X, y, strict=True))]
    schema = "id long, features array<double>, label long"
    return spark.createDataFrame(rows[:300], schema).cache(), spark.createDataFrame(rows[300:], schema).cache()
