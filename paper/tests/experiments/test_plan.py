"""The plan: the paper's grids, coarse to fine, and what depends on what."""

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper import data
from kernelsketch_paper.experiments import SCALES, TARGETS, Row, Selection
from kernelsketch_paper.experiments._plan import plan
from kernelsketch_paper.experiments._protocol import COARSE_GAMMAS, GAMMAS
from kernelsketch_paper.experiments._targets import available, select, with_stand_ins

STANDARD, QUICK = SCALES["standard"], SCALES["quick"]


def test_the_paper_has_58_gammas():
    assert len(GAMMAS) == len(set(GAMMAS)) == 58
    assert set(COARSE_GAMMAS) <= set(GAMMAS)


def _gammas(cells, split=0):
    return {cell.gammas[0] for cell in cells if cell.method == "rbf" and cell.split == split and not cell.search}


def _answer(cells, peak, rows):
    """Results as if the accuracy fell with the distance from a peak among the 58 values."""
    for cell in cells:
        if cell.method == "rbf":
            for gamma in cell.gammas:
                away = abs(GAMMAS.index(gamma) - GAMMAS.index(peak))
                values = {"cv_accuracy": 90 - away} if cell.search else {"accuracy": 90.0 - away}
                rows.append(
                    Row("kernels", cell.dataset, "rbf", "libsvm", split=cell.split, gamma=gamma, C=1.0, **values)
                )


@pytest.mark.parametrize("peak", [0.001, 0.3, 1.7, 14.0, 45.0, 1000.0])
def test_gamma_is_found_coarse_to_fine(peak):
    selection, rows, seen = Selection({"kernels": ("Car",)}, STANDARD), [], set()
    for _ in range(10):
        cells = plan(selection, rows)
        new = [cell for cell in cells if cell.key not in seen]
        if not new:
            break
        seen |= {cell.key for cell in new}
        _answer(new, peak, rows)
    tried = _gammas(cells)
    assert set(COARSE_GAMMAS) <= tried
    assert len(tried) < 25
    nearest = min(tried, key=lambda gamma: abs(GAMMAS.index(gamma) - GAMMAS.index(peak)))
    assert abs(GAMMAS.index(nearest) - GAMMAS.index(peak)) <= 1
    repeated = _gammas(cells, split=1)
    assert len(repeated) <= 5
    assert nearest in repeated


def test_large_sets_are_searched_on_few_rows_first():
    selection = Selection({"kernels": ("Letter",)}, STANDARD)
    first = plan(selection, [])
    assert _gammas(first) == set()
    (search,) = [cell for cell in first if cell.search]
    rows = []
    _answer([search], 10.0, rows)
    assert 11.0 in _gammas(plan(selection, rows))  # the paper's
    assert 10.0 in _gammas(plan(selection, rows))
    assert len(_gammas(plan(selection, rows))) <= 4


def test_the_full_grid_is_there():
    cells = plan(Selection({"kernels": ("Car",)}, SCALES["full"]), [])
    assert _gammas(cells) == set(GAMMAS)
    assert {cell.split for cell in cells} == set(range(10))


def test_fourier_features_wait_for_their_gamma():
    selection, rows = Selection({"hashing": ("RobotNavi",)}, SCALES["tiny"]), []
    cells = plan(selection, rows)
    assert not [cell for cell in cells if cell.method == "nrff"]
    _answer([cell for cell in cells if cell.split == 0], 10.0, rows)
    assert {cell.gammas for cell in plan(selection, rows) if cell.method == "nrff"} == {(10.0,)}


def test_plans_do_not_repeat_and_keys_tell_all_apart():
    selection = select("all", SCALES["quick"])
    cells = plan(selection, [])
    assert len({cell.key for cell in cells}) == len(cells)
    assert {cell.experiment for cell in cells} == {"kernels", "hashing", "time", "comparison", "tunable"}
    unverified = plan(Selection(selection.experiments, selection.scale, verified=False), [])
    assert not {cell.key for cell in cells} & {cell.key for cell in unverified}


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_work(target):
    assert plan(select(target, SCALES["tiny"]), [])


def test_a_bare_machine_has_four_datasets_for_every_table_and_figure(tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELSKETCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for target in TARGETS:
        selection, not_run = available(select(target, QUICK), download=False)
        assert not_run
        found = with_stand_ins(selection, target).experiments
        assert all(len(set(names)) == len(names) >= 4 for names in found.values()), target
        assert all(data.entry(name).is_bundled for names in found.values() for name in names)
    kernels = with_stand_ins(available(select("all", QUICK), download=False)[0], "all").experiments["kernels"]
    for table in ("uci", "large", "mnist"):
        assert sum(data.entry(name).stands_for == table for name in kernels) >= 4


def test_datasets_of_the_paper_have_no_stand_ins_where_there_are_four(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("KERNELSKETCH_DATA", str(tmp_path))
    for name in ("Car", "CTG", "Dexter", "Magic"):
        (tmp_path / f"{name}.npz").touch()
    selection, _ = available(select("table1", QUICK), download=False)
    assert with_stand_ins(selection, "table1").experiments == {"kernels": ("Car", "CTG", "Dexter", "Magic")}
    (tmp_path / "Magic.npz").unlink()
    selection, _ = available(select("table1", QUICK), download=False)
    names = with_stand_ins(selection, "table1").experiments["kernels"]
    assert names == ("Car", "CTG", "Dexter", "BreastCancer", "Digits", "Iris", "Wine")
    whole, _ = available(select("table1", STANDARD), download=False)
    assert with_stand_ins(whole, "table1") == whole


def test_a_download_that_fails_leaves_out_one_dataset(tmp_path, monkeypatch):
    """A source that is out of reach, or has changed its files, does not stop the run."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KERNELSKETCH_DATA", raising=False)

    def download(found, folder, keep):
        if found.name == "Magic":
            raise InputError("the file has 3 columns")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / found.file).touch()

    monkeypatch.setattr(data._missing, "download", download)
    selection, not_run = available(select("table1", QUICK), download=True)
    assert not_run["Magic"] == "the file has 3 columns"
    assert "train_data.txt" in not_run["Parkinson"]
    assert set(not_run) == {"Magic", "Parkinson"}
    assert {"Car", "Isolet2k", "PAMAP101"} <= set(selection.experiments["kernels"])
