"""The theory figures as files."""

import csv
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelsketch.exceptions import InputError
from kernelsketch.theory import nrff_variance_ratio
from kernelsketch_paper.simulations import THEORY_FIGURES, theory_figures
from kernelsketch_paper.simulations._theory_tables import as_csv

pytestmark = pytest.mark.slow

NAMES = [figure.name for figure in THEORY_FIGURES]
DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("theory") / "figures" / "here"
    calls = []
    found = theory_figures(out, k_max=40, repetitions=200, n_jobs=2, progress=lambda *call: calls.append(call))
    return out, found, calls


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_pictures_and_numbers(made):
    out, _, _ = made
    assert {p.name for p in out.iterdir()} == {f"{n}.{e}" for n in NAMES for e in ("png", "svg", "csv")} | {"about.txt"}
    assert (out / "about.txt").read_text().rstrip().endswith("theory: seed 0, 200 repetitions, k up to 40")
    for name in NAMES:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        svg = (out / f"{name}.svg").read_text()
        assert "<svg" in svg
        assert len(svg) < 1 << 20
        table = rows(out / f"{name}.csv")
        assert len(table) > 20
        for row in table:
            assert None not in row
            assert None not in row.values()


def test_tables_hold_theory_and_simulation(made):
    out, found, _ = made
    table = rows(out / "mse.csv")
    assert len(table) == 6 * 40
    row = table[40 + 15]
    assert (float(row["rho"]), float(row["gamma"]), float(row["k"])) == (0.9, 1.0, 16.0)
    assert float(row["nrff_mse"]) == pytest.approx(found.fourier.nrff.mse[1, 15], rel=1e-5)
    assert float(row["nrff_theory"]) == pytest.approx(found.fourier.nrff_theory()[1, 15], rel=1e-5)
    table = rows(out / "variance-ratio.csv")
    for row in table:
        if row["source"] == "theory":
            expected = nrff_variance_ratio(float(row["rho"]), float(row["gamma"]))
            assert float(row["ratio"]) == pytest.approx(expected, rel=1e-5, abs=1e-9)
    assert sum(row["source"] == "simulation" for row in table) == 6
    assert {row["method"] for row in rows(out / "relative-variance.csv")} == {"gcws", "rff", "nrff"}
    assert {row["df"] for row in rows(out / "limit.csv")} == {"inf", "3", "1.5"}


def test_progress_names_each_simulation(made):
    _, _, calls = made
    assert list(dict.fromkeys(name for name, _, _ in calls)) == [
        "random Fourier features",
        "GCWS",
        "RBF from GCWS",
        "limit of GMM",
    ]
    last = {name: (done, total) for name, done, total in calls}
    assert all(done == total for done, total in last.values())


def test_the_same_seed_writes_the_same_bytes(made, tmp_path):
    out, _, _ = made
    theory_figures(tmp_path, k_max=40, repetitions=200, formats=["svg"])
    for path in sorted(tmp_path.iterdir()):
        assert path.read_bytes() == (out / path.name).read_bytes(), path.name


def test_drawing_leaves_no_state(made):
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_every_figure_says_what_to_see():
    assert len(set(NAMES)) == 7
    assert all(f.sentence.startswith("What to see: ") and f.sentence.endswith(".") for f in THEORY_FIGURES)


def test_what_cannot_be_done_is_said_before_the_simulations(tmp_path):
    def refuse(*call):
        raise AssertionError("simulated all the same")

    with pytest.raises(InputError, match="formats must be among png, svg, got 'gif'"):
        theory_figures(tmp_path / "new", formats=["gif"], progress=refuse)
    with pytest.raises(InputError, match="repetitions must be"):
        theory_figures(tmp_path / "new", repetitions=0, progress=refuse)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        theory_figures(tmp_path / "file", progress=refuse)
    assert not (tmp_path / "new").exists()


def test_csv_keeps_words_and_six_digits():
    text = as_csv({"name": ["a, b"], "value": np.array([1 / 3])}).decode()
    assert text == 'name,value\n"a, b",0.333333\n'


def test_the_guide_tells_what_was_measured():
    """The stored simulation of 100,000 repetitions: RFF at every k, NRFF within 5 % from 128 on, and the table."""
    table = rows(DOCS / "measurements" / "theory" / "mse.csv")
    column = {name: np.array([float(row[name]) for row in table]).reshape(6, 1000) for name in table[0]}
    score = (column["rff_mse"] - column["rff_theory"]) / column["rff_mse_std"]
    assert np.abs(score).max() == pytest.approx(3.1, abs=0.05)
    ratio = column["nrff_mse"] / column["nrff_theory"]
    assert np.abs(ratio[:, 127:] - 1).max() < 0.05
    at = [9, 15, 127, 999]
    expected = np.stack([ratio, column["nrff_mse_std"] / column["nrff_theory"]], axis=-1)[:, at].reshape(-1, 2)
    guide = (DOCS / "guide" / "theory.rst").read_text(encoding="utf-8")
    told = [[float(a), float(b)] for a, b in re.findall(r"- ([\d.]+) ± ([\d.]+)", guide)]
    np.testing.assert_allclose(told, expected, atol=0.00051)
