"""The command line as a user calls it, and made-up rows of datasets, so that tests download nothing."""

import sys
from dataclasses import dataclass

import numpy as np
import pytest

from kernelsketch.cli import main


@dataclass
class Answer:
    status: int
    output: str
    errors: str


@pytest.fixture
def kernelsketch(monkeypatch, capsys):
    """Run ``kernelsketch`` with arguments, on a terminal of a given width."""

    def call(*arguments, columns=120):
        monkeypatch.setattr(sys, "argv", ["kernelsketch", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        output, errors = capsys.readouterr()
        return Answer(end.value.code or 0, output, errors)

    return call


def _rows(name, n, d, classes, seed, test=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.gamma(2.0, size=(n, d)) + 3 * np.abs(rng.normal(size=(classes, d)))[y]
    arrays = {"X": X.astype(np.float32), "y": y}
    if test:
        arrays["is_test"] = np.arange(n) >= n - test
    return name, arrays


def _sparse(name, n, d, seed):
    """Two of the features in every row; which, depends on its class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    first = rng.integers(d // 2 - 1, size=n) + y * d // 2
    indices = np.stack([first, first + 1], axis=1).ravel()
    parts = {"data": rng.random(2 * n).astype(np.float32), "indices": indices, "indptr": np.arange(0, 2 * n + 1, 2)}
    return name, {**parts, "shape": np.array([n, d]), "y": y}


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """A folder of .npz files: one dataset for each experiment."""
    folder = tmp_path_factory.mktemp("datasets")
    for name, arrays in (
        _rows("Car", 1728, 6, 4, 0),
        _rows("RobotNavi", 5456, 24, 4, 1),
        _rows("ImageSeg", 2310, 19, 7, 2, test=2100),
        _sparse("CovertypeFull_binary", 581_012, 54, 3),
    ):
        np.savez(folder / f"{name}.npz", **arrays)
    return folder


@pytest.fixture
def data_folder(made_up, monkeypatch):
    monkeypatch.setenv("KERNELSKETCH_DATA", str(made_up))
    monkeypatch.setenv("XDG_CACHE_HOME", str(made_up / "cache"))
    return made_up
