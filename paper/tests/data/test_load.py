"""From a name to rows."""

import os

import numpy as np
import pytest

from kernelsketch.exceptions import InputError, InputTypeError, UnavailableError
from kernelsketch_paper.data import Dataset, entry, load, names, where
from kernelsketch_paper.data._load import cache_folder

RNG = np.random.default_rng(0)
REAL = os.environ.get("KERNELSKETCH_DATA")


def rows(n, d):
    return {"X": RNG.normal(size=(n, d)).astype(np.float32), "y": np.arange(n) % 3}


@pytest.fixture
def car(store):
    return store("Car", **rows(1728, 6))


def test_a_dataset(car):
    data = load("Car", folder=car, verify=False)
    assert isinstance(data, Dataset)
    assert (data.name, data.split, data.classes) == ("Car", "random", ("0", "1", "2"))
    assert data.entry == entry("Car")
    assert data.X_train.shape == data.X_test.shape == (864, 6)
    np.testing.assert_array_equal(data.X_test, data.X[data.test])
    np.testing.assert_array_equal(data.y_train, data.y[data.train])
    np.testing.assert_array_equal(data.y_test, data.y[data.test])
    assert repr(data) == "Dataset('Car': 864 + 864 rows, 6 features, 3 classes, random split)"
    assert set(load("Car", folder=car, verify=False, split=1).train) != set(data.train)


def test_letter_is_scaled_as_libsvm_has_it(store):
    arrays = rows(20_000, 16)
    arrays["X"] = RNG.integers(0, 16, (20_000, 16)).astype(np.float32)
    data = load("Letter", folder=store("Letter", **arrays, is_test=np.arange(20_000) >= 15_000), verify=False)
    np.testing.assert_allclose(data.X, arrays["X"] / 7.5 - 1, atol=1e-6)
    assert (data.X.min(), data.X.max()) == (-1, 1)
    assert data.X.dtype == np.float32
    assert (len(data.train), len(data.test), data.split) == (15_000, 5_000, "official")
    with pytest.raises(InputError, match="split must be 0, got 2"):
        load("Letter", folder=store("Letter", **arrays, is_test=data.y > 5), verify=False, split=2)


def test_draws_from_another_file(store):
    folder = store("Shuttle", **rows(58_000, 9), is_test=np.arange(58_000) >= 43_500)
    data = load("Shuttle500", folder=folder, verify=False)
    assert (len(data.train), data.train.max() < 43_500) == (500, True)
    np.testing.assert_array_equal(data.test, np.arange(43_500, 58_000))
    assert data.split == "random"
    folder = store("Vowel", **rows(990, 10), is_test=np.arange(990) >= 528)
    data = load("Vowel", folder=folder, verify=False)
    np.testing.assert_array_equal(np.sort(np.r_[data.train, data.test]), np.arange(528))


def test_order_of_places(car, tmp_path, monkeypatch):
    assert where("Car") is None
    assert where("Car", folder=car) == car / "Car.npz"
    cache_folder().mkdir(parents=True)
    (cache_folder() / "Car.npz").touch()
    assert where("Car") == cache_folder() / "Car.npz"
    other = tmp_path / "other"
    other.mkdir()
    (other / "Car.npz").touch()
    monkeypatch.setenv("KERNELSKETCH_DATA", str(other))
    assert where("Car") == other / "Car.npz"
    assert where("Car", folder=str(car)) == car / "Car.npz"
    assert where("Car", folder=tmp_path) == other / "Car.npz"  # nothing there: the next place


def test_the_cache_is_inside_the_users(monkeypatch, tmp_path):
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name, **_: tmp_path / name)
    assert cache_folder() == tmp_path / "kernelsketch" / "datasets"


def test_what_is_not_here(tmp_path):
    with pytest.raises(
        UnavailableError,
        match=r"Car is not on this machine: there is no Car\.npz in .*Pass download=True to get it from https",
    ):
        load("Car", download=False, folder=tmp_path)
    with pytest.raises(
        UnavailableError, match=r"cannot be downloaded automatically\. Get it from https://archive.*KERNELSKETCH_DATA"
    ):
        load("Parkinson")
    assert where("M-Image") is None


def test_bad_arguments(car):
    with pytest.raises(InputError, match=r"name='Cat' is not a dataset of the registry. Did you mean .*Car.*[?] "):
        load("Cat")
    for wrong in (1.0, True, "0"):
        with pytest.raises(InputTypeError, match="split must be a whole number, got "):
            load("Car", folder=car, split=wrong)
    with pytest.raises(InputError, match="split must be between 0 and"):
        load("Car", folder=car, split=-1)
    with pytest.raises(InputTypeError, match="folder must be a path or None, got 3 of type int"):
        where("Car", folder=3)
    with pytest.raises(InputError, match=r"folder='.*nowhere' is not a folder"):
        load("Car", folder=car / "nowhere")


def test_the_variable_must_name_a_folder(monkeypatch):
    monkeypatch.setenv("KERNELSKETCH_DATA", "/no/such/place")
    with pytest.raises(InputError, match="KERNELSKETCH_DATA='/no/such/place' is not a folder"):
        where("Car")


def test_files_that_do_not_fit(car, store):
    with pytest.raises(InputError, match=r"SHA-256 expected ded8bb396a4e.*verify=False .* to use it as it is"):
        load("Car", folder=car)
    store("Car", **rows(1728, 7))
    with pytest.raises(InputError, match="Car has 6 features, but its file has 7"):
        load("Car", folder=car, verify=False)
    store("Car", **rows(100, 6))
    with pytest.raises(InputError, match="Car draws 1728 rows, but its file has only 100"):
        load("Car", folder=car, verify=False)


@pytest.mark.skipif(REAL is None, reason="KERNELSKETCH_DATA names no folder of real files")
@pytest.mark.parametrize("name", [name for name in names() if not entry(name).recipe])
def test_real_files(name):
    if where(name, folder=REAL) is None:
        pytest.skip(f"{name} is not in KERNELSKETCH_DATA")
    data = load(name, folder=REAL)
    found = data.entry
    assert found.n_train in (None, len(data.train))
    assert found.n_test in (None, len(data.test))
    assert found.n_classes in (None, len(data.classes))
    assert not np.intersect1d(data.train, data.test).size
    assert set(data.y_train) >= set(data.y_test) - {0, 1, 2, 3, 4, 5, 6}  # rare classes of Shuttle may be missing
