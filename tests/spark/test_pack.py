"""Packed rows on a cluster: taken for vectors everywhere, with the same codes."""

import numpy as np
import pytest
from pyspark.errors import PythonException

import kernelsketch
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.spark import GCWS, NRFF, GCWSClassifier, approx_similarity_join, pack_rows


@pytest.fixture(scope="module")
def stored(frame, tmp_path_factory):
    """The signed rows, packed from vectors and from arrays, in a file of Parquet."""
    path = str(tmp_path_factory.mktemp("packed") / "rows")
    both = pack_rows(pack_rows(frame, 30), 30, inputCol="listed", outputCol="from_arrays")
    both.select("id", "rows", "from_arrays").write.parquet(path)
    return frame.sparkSession.read.parquet(path)


@pytest.mark.parametrize("center", [False, True])
def test_codes_are_those_of_one_machine(stored, signed, center):
    given = {"center": signed.mean(axis=0).tolist()} if center else {}
    hasher = GCWS(n_components=32, **given, output="packed", inputCol="rows", outputCol="codes", n_features=30)
    found = [row.codes for row in sorted(hasher.transform(stored).select("id", "codes").collect())]
    assert hasher.packed_codes(found) == kernelsketch.GCWS(32, **given).fit(signed).codes(signed)
    assert stored.where("rows != from_arrays").count() == 0


def test_a_session_with_large_types(spark, stored, frame):
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        hasher = GCWS(n_components=8, output="packed", outputCol="codes")
        again = hasher.transform(pack_rows(frame, 30)).select("id", "codes", "rows").collect()
        found = hasher.copy({hasher.inputCol: "rows"}).transform(stored).select("id", "codes", "rows").collect()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    assert sorted(again) == sorted(found)


def test_vectors_and_fourier_features(stored, signed):
    hashed = GCWS(n_components=16, bits=2, inputCol="rows", outputCol="hashed").transform(stored)
    found = NRFF(n_components=8, inputCol="rows", outputCol="z").transform(hashed).collect()
    found = sorted(found, key=lambda row: row.id)
    np.testing.assert_array_equal([row.z.toArray() for row in found], kernelsketch.NRFF(8).fit_transform(signed))
    expected = kernelsketch.GCWS(16, bits=2).fit_transform(signed)
    np.testing.assert_array_equal([row.hashed.toArray() for row in found], expected.toarray())


def test_a_classifier_is_the_same(digit_frames):
    train, test = digit_frames
    classifier = GCWSClassifier(n_components=32, n_partitions=1, n_rounds=2)
    plain = classifier.fit(train).to_local()
    model = classifier.copy({classifier.featuresCol: "rows"}).fit(pack_rows(train, 64).drop("features"))
    assert model.to_local().n_features_in_ == 64
    np.testing.assert_array_equal(model.to_local().code_weights_, plain.code_weights_)
    assert model.transform(pack_rows(test, 64)).where("prediction = label").count() > 50


def test_a_join_is_the_same(frame, stored):
    options = {"n_tables": 8, "hashes_per_table": 1}
    plain = approx_similarity_join(frame, None, 0.3, **options).collect()
    assert len(plain) > 10
    assert sorted(plain) == sorted(approx_similarity_join(stored, None, 0.3, inputCol="rows", **options).collect())


def test_bad_rows_and_parameters(spark):
    faulty = spark.createDataFrame([([1.0, 2.0],), ([1.0],), (None,)], "features array<double>").coalesce(1)
    with pytest.raises(PythonException, match=r"row 1 of partition 0 .*, does not have 2 features"):
        pack_rows(faulty, 2).collect()
    assert pack_rows(faulty, 2, handleInvalid="skip").count() == 1
    with pytest.raises(InputError, match="handleInvalid must be one of 'error', 'skip', got 'keep'"):
        pack_rows(faulty, 2, handleInvalid="keep")
    with pytest.raises(InputError, match=r"n_features must be below 2\*\*31"):
        pack_rows(faulty, 2**31)
    with pytest.raises(InputTypeError, match="n_features"):
        pack_rows(faulty, 2.5)
    with pytest.raises(InputError, match="there is a column 'features' already"):
        pack_rows(faulty, 2, outputCol="features")
