"""Codes on a cluster are those of one machine."""

import numpy as np
import pytest
from pyspark.errors import PythonException

import kernelsketch
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.spark import GCWS, NRFF


def in_order(dataset, column):
    return [row[column] for row in sorted(dataset.select("id", column).collect())]


@pytest.mark.parametrize(
    "given",
    [
        {"n_components": 64, "bits": 4},
        {"n_components": 33, "bits": 3, "t_bits": 2, "p": 2.5, "random_state": 2**64 - 1},
        {"n_components": 16, "gamma": 3.0},
        {"n_components": 16, "views": 3},
        {"n_components": 33, "bits": 3, "views": [2, 17, 11]},
    ],
    ids=str,
)
@pytest.mark.parametrize("column", ["features", "listed"])
def test_packed_codes_are_those_of_one_machine(frame, signed, given, column):
    hasher = GCWS(**given, output="packed", inputCol=column, outputCol="codes", n_features=30)
    found = hasher.packed_codes(in_order(hasher.transform(frame), "codes"))
    assert found == kernelsketch.GCWS(**given).fit(signed).codes(signed)


def test_widths_of_views_are_the_number_of_features(frame, signed):
    hasher = GCWS(n_components=16, views=[20, 10], output="packed", outputCol="codes")
    expected = kernelsketch.GCWS(16, views=[20, 10]).fit(signed).codes(signed)
    assert hasher.packed_codes(in_order(hasher.transform(frame), "codes")) == expected


def test_views_that_do_not_fit_are_refused_before_a_job_starts(frame):
    with pytest.raises(InputError, match=r"views=2 needs the number of columns: set n_features"):
        GCWS(views=2, outputCol="codes").transform(frame)
    with pytest.raises(InputError, match=r"views=4 cannot divide 30 features"):
        GCWS(views=4, n_features=30, outputCol="codes").transform(frame)
    with pytest.raises(InputError, match=r"views=\[20, 9\] has widths of 29 columns in all, but X has 30"):
        GCWS(views=[20, 9], n_features=30, outputCol="codes").transform(frame)
    with pytest.raises(PythonException, match="does not have 29 features"):
        GCWS(views=[20, 9], outputCol="codes").transform(frame).collect()


def test_partitions_do_not_matter(frame, signed):
    """Skewed, empty and single partitions."""
    hasher = GCWS(n_components=32, output="packed", outputCol="codes", n_features=30)
    expected = kernelsketch.GCWS(32).fit(signed).codes(signed)
    skewed = frame.repartition(7, frame.id < 590)
    assert sorted(len(part) for part in skewed.select("id").rdd.glom().collect()) == [0, 0, 0, 0, 0, 10, 590]
    for dataset in (skewed, frame.coalesce(1), frame.where("id < 0").union(frame)):
        assert hasher.packed_codes(in_order(hasher.transform(dataset), "codes")) == expected
    assert hasher.transform(frame.where("id < 0")).count() == 0


def test_center(frame, signed):
    center = signed.mean(axis=0).tolist()
    hasher = GCWS(n_components=32, center=center, output="packed", outputCol="codes")
    expected = kernelsketch.GCWS(32, center=center).fit(signed).codes(signed)
    assert hasher.packed_codes(in_order(hasher.transform(frame), "codes")) == expected


@pytest.mark.parametrize("normalize", [True, False])
def test_vectors_are_those_of_one_machine(frame, signed, normalize):
    hasher = GCWS(n_components=16, bits=2, t_bits=1, normalize=normalize, outputCol="hashed")
    found = in_order(hasher.transform(frame), "hashed")
    expected = hasher.to_local().fit_transform(signed)
    for vector, row in zip(found, expected, strict=True):
        assert vector.size == 16 * 8
        np.testing.assert_array_equal(vector.indices, row.indices)
        np.testing.assert_array_equal(vector.values, row.data)


def test_vectors_from_parquet(frame, signed, tmp_path):
    """A scan hands over columns, not rows; vectors go in, pass by, and come out."""
    frame.write.parquet(str(tmp_path / "rows"))
    stored = frame.sparkSession.read.parquet(str(tmp_path / "rows"))
    hasher = GCWS(n_components=16, bits=2, outputCol="hashed")
    expected = hasher.to_local().fit_transform(signed)
    for column in ("features", "listed"):
        rows = sorted(hasher.setInputCol(column).transform(stored).collect(), key=lambda row: row.id)
        for row, features in zip(rows, expected, strict=True):
            np.testing.assert_array_equal(row.hashed.indices, features.indices)


def test_fourier_features_are_those_of_one_machine(frame, signed):
    found = in_order(NRFF(n_components=24, gamma=2.0, outputCol="z").transform(frame), "z")
    expected = kernelsketch.NRFF(24, gamma=2.0).fit_transform(signed)
    np.testing.assert_array_equal([z.toArray() for z in found], expected)


@pytest.fixture(scope="module")
def faulty(spark):
    rows = [(0, [1.0, 2.0]), (1, [3.0, 4.0]), (2, None), (3, [1.0, None]), (4, [float("nan"), 1.0]), (5, [1.0])]
    return spark.createDataFrame(rows, "id long, features array<double>").coalesce(1)


def test_a_bad_row_is_named(faulty):
    with pytest.raises(PythonException, match=r"column 'features', row 2 of partition 0 .*, is null.*invalid_rows"):
        GCWS(n_components=8, outputCol="codes").transform(faulty).collect()


def test_bad_rows_are_left_out_and_counted(faulty):
    hasher = GCWS(n_components=8, output="packed", outputCol="codes", n_features=2, handleInvalid="skip")
    kept = in_order(hasher.transform(faulty), "codes")
    assert hasher.packed_codes(kept) == kernelsketch.GCWS(8).fit([[1, 2]]).codes([[1.0, 2.0], [3.0, 4.0]])
    assert GCWS(n_components=8, outputCol="hashed", handleInvalid="skip").transform(faulty.where("id = 2")).count() == 0
    faults = {row.id: row.fault for row in hasher.invalid_rows(faulty).collect()}
    assert faults == {2: "is null", 3: "contains a null", 4: "contains NaN or infinity", 5: "does not have 2 features"}


def test_vectors_too_wide_for_spark(spark):
    empty = spark.createDataFrame([], "features array<double>")
    with pytest.raises(InputError, match=r"2147483648 features, but Spark allows at most 2147483647: use"):
        GCWS(n_components=1 << 15, bits=16, outputCol="hashed").transform(empty)
    assert GCWS(n_components=1 << 15, bits=16, output="packed", outputCol="codes").transform(empty).count() == 0


def test_columns_are_checked_before_a_job_starts(spark):
    words = spark.createDataFrame([], "id long, features string")
    with pytest.raises(InputTypeError, match=r"column 'features' is of type string: vectors of pyspark.ml or arrays"):
        GCWS(outputCol="codes").transform(words)
    with pytest.raises(InputError, match=r"there is no column 'x': the columns are id, features"):
        GCWS(inputCol="x", outputCol="codes").transform(words)
    arrays = spark.createDataFrame([], "features array<double>")
    with pytest.raises(InputError, match=r"there is a column 'features' already"):
        GCWS(outputCol="features").transform(arrays)
