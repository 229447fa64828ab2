"""The figures as files."""

import csv

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.report import figures

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def few(make, store, tmp_path_factory):
    """Results of few datasets: drawing takes its time."""
    kept = ("Car", "Letter", "IJCNN", "PAMAP105Large", "M-Noise1", "M-Noise2", "CTG")
    rows = [r for r in make() if r.dataset in kept and (r.b in (None, 8)) and (r.k in (None, 128, 1024))]
    return store(tmp_path_factory.mktemp("few"), rows)


def test_pictures_with_their_numbers(few, tmp_path):
    calls = []
    names = figures(few, tmp_path / "new", formats=["svg"], progress=lambda *call: calls.append(call))
    assert {
        "kernels",
        "hashing-Letter",
        "hashing-more",
        "hashing-larger",
        "samples",
        "storage",
        "time",
        "noise",
    } <= set(names)
    assert {"ranks-minmax", "ranks-standard", "differences", "cost"} <= set(names)
    assert {p.name for p in (tmp_path / "new").iterdir()} == {f"{n}.{e}" for n in names for e in ("svg", "csv")}
    assert calls[-1] == (names[-1], len(names), len(names))
    with (tmp_path / "new" / "noise.csv").open(newline="") as file:
        lines = {(line["series"], line["x"]): float(line["y"]) for line in csv.DictReader(file)}
    assert lines["GMM, paper", "1"] == pytest.approx(100 - 71.38)


def test_png(few, tmp_path, make, store):
    folder = store(tmp_path / "one", [r for r in make("kernels") if r.dataset == "Car"])
    names = figures(folder, tmp_path, formats="png")
    assert all((tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in names)


def test_numbers_alone(few, tmp_path):
    names = figures(few, tmp_path, formats=[])
    assert {p.name for p in tmp_path.iterdir()} == {f"{name}.csv" for name in names}
    with (tmp_path / "differences.csv").open(newline="") as file:
        assert {"Car", "Letter"} <= {line["y"] for line in csv.DictReader(file)}


def test_what_cannot_be_drawn(few, tmp_path):
    with pytest.raises(InputError, match="formats must be among png, svg, got 'gif'"):
        figures(few, tmp_path, formats=["gif"])
