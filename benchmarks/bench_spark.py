"""On a Spark cluster of two worker processes with a core each: hashing, against one process and against MinHashLSH.

Rows lie in Spark's memory, and the results are computed and dropped (the sink ``noop``), so what is measured is the way
to the Python workers and back, and the hash. The rate is in G nonzeros x hashes a second. "Per core" is the ratio to
one process divided by the two cores: 0.6 or more is what we want of packed codes. The pass of ``partial_fit`` is what a
partition does in a round of ``solver="average"``; its rate is in G rows x hashes x problems a second.

``KERNELSKETCH_SPARK_ROWS`` sets the number of rows.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Method, Problem
from scipy import sparse

import kernelsketch

warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
ROWS = int(os.environ.get("KERNELSKETCH_SPARK_ROWS", "100000"))
ROW, FEATURES = 100, 100_000


def text_like(n: int, binary: bool, seed: int = 0) -> Any:
    """CSR rows of 100 features out of 100,000."""
    rng = np.random.default_rng(seed)
    step = FEATURES // ROW
    indices = (rng.integers(0, step, (n, ROW)) + step * np.arange(ROW)).astype(np.int32)
    data = np.ones(n * ROW) if binary else rng.random(n * ROW) + 0.01
    return sparse.csr_matrix((data, indices.ravel(), ROW * np.arange(n + 1, dtype=np.int32)), shape=(n, FEATURES))


def cluster() -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local-cluster[2,1,3072]").appName("kernelsketch benchmark")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def frame(session: Any, n: int, binary: bool) -> Any:
    """As many rows of this kind, made on the workers, in their memory."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import StructField, StructType

    make = text_like

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from kernelsketch.spark._arrow import sparse_vectors

        for batch in batches:
            X = make(batch.num_rows, binary, int(batch.column(0)[0].as_py()))
            yield pa.RecordBatch.from_arrays([sparse_vectors(X)], names=["features"])

    made = session.range(0, n, 1, 4).mapInArrow(rows, StructType([StructField("features", VectorUDT())])).cache()
    made.count()
    return made


def drop(dataset: Any) -> Any:
    dataset.select(dataset.columns[-1]).write.format("noop").mode("overwrite").save()
    return np.empty(0)


def nothing(_: Any, __: Any) -> float:
    return float("nan")  # results are dropped; the tests hold that they are equal


def problems() -> list[Problem]:
    from pyspark import cloudpickle
    from pyspark.ml.feature import MinHashLSH

    from kernelsketch.spark import GCWS

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this file
    session = cluster()
    weighted, binary = frame(session, ROWS, False), frame(session, ROWS, True)
    sample = ROWS // 10
    X = text_like(sample, False)
    found = []
    for k in (256, 1024):
        local = kernelsketch.GCWS(k).fit(X)
        packed = GCWS(n_components=k, output="packed", outputCol="out")
        vectors = GCWS(n_components=k, outputCol="out")
        found.append(
            Problem(
                f"hashing {ROWS} rows of {ROW} nonzeros, k={k}",
                [
                    Method("GCWS.codes, one process", lambda m=local: m.codes(X).packed, share=sample / ROWS),
                    Method("spark.GCWS, packed", lambda m=packed: drop(m.transform(weighted)), threads=2),
                    Method("spark.GCWS, vectors", lambda m=vectors: drop(m.transform(weighted)), threads=2),
                ],
                float(ROWS) * ROW * k,
                nothing,
            )
        )
    lsh = MinHashLSH(inputCol="features", outputCol="out", numHashTables=64).fit(binary)
    packed = GCWS(n_components=64, output="packed", outputCol="out")
    found.append(
        Problem(
            f"hashing {ROWS} binary rows of {ROW} nonzeros, 64 hashes",
            [
                Method("MinHashLSH", lambda: drop(lsh.transform(binary)), threads=2),
                Method("spark.GCWS, packed", lambda: drop(packed.transform(binary)), threads=2),
            ],
            float(ROWS) * ROW * 64,
            nothing,
        )
    )
    codes = kernelsketch.GCWS(1024).fit(X).codes(X)
    y = np.arange(sample) % 2

    def one_pass() -> Any:
        return kernelsketch.GCWSClassifier(1024).partial_fit(codes, y, classes=[0, 1])._w

    found.append(
        Problem("a pass over codes, k=1024, one problem", [Method("partial_fit", one_pass)], sample * 1024.0, nothing)
    )
    return found
