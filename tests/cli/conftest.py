"""Files to run the commands on, and commands run within the test's process."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from typer.testing import CliRunner

from kernelsketch.cli import _memory, _options
from kernelsketch.cli._main import app
from kernelsketch.formats import write_rows


@pytest.fixture(scope="session")
def command():
    """``command("train", path, "-m", model)``: the result, which must be a success unless ``status`` is another.

    The process counts as a new one for ``--memory``, whatever other tests have left in it.
    """

    def run(*args, status=0, stdin=None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_memory, "_resident_bytes", lambda: _memory.LIBRARIES)
            found = CliRunner(env={"COLUMNS": "100"}).invoke(app, list(map(str, args)), input=stdin)
        assert found.exit_code == status, found.output
        assert "Traceback" not in found.output
        return found

    return run


@pytest.fixture
def small_blocks(monkeypatch):
    """``small_blocks()``: from then on, commands read several blocks of small files."""
    return lambda: monkeypatch.setattr(_options, "MOST_BLOCK", 1 << 16)


@pytest.fixture(scope="session")
def digits():
    """600 rows, whose last feature is 0 in the first 400."""
    X, y = load_digits(return_X_y=True)
    X = X[:600].copy()
    X[:400, -1] = 0
    X[-1, -1] = 3
    return X, y[:600]


@pytest.fixture(scope="session")
def files(tmp_path_factory, digits):
    """The digits in each format, with the options that each needs."""
    X, y = digits
    folder = tmp_path_factory.mktemp("files")
    frame = pd.DataFrame(X, columns=[f"pixel{j}" for j in range(X.shape[1])]).assign(digit=y)
    frame.to_csv(folder / "digits.csv", index=False)
    frame.to_parquet(folder / "digits.parquet", index=False)
    np.save(folder / "digits.npy", np.column_stack([y, X]))
    np.savez(folder / "digits.npz", X=X, y=y)
    write_rows(folder / "digits.svm", [(sparse.csr_array(X), y)])
    write_rows(folder / "digits.svm.gz", [(sparse.csr_array(X), y)])
    return {
        "svm": (folder / "digits.svm",),
        "svm.gz": (folder / "digits.svm.gz",),
        "csv": (folder / "digits.csv", "--label", "digit"),
        "parquet": (folder / "digits.parquet", "--label", "digit"),
        "npy": (folder / "digits.npy", "--label", "0"),
        "npz": (folder / "digits.npz",),
    }


@pytest.fixture(scope="session")
def iris(tmp_path_factory):
    """A frame with text labels, in random order, and its file."""
    bunch = load_iris(as_frame=True)
    frame = bunch.data.assign(kind=bunch.target_names[bunch.target]).sample(frac=1, random_state=0)
    path = tmp_path_factory.mktemp("iris") / "iris.csv"
    frame.to_csv(path, index=False)
    return frame.reset_index(drop=True), path
