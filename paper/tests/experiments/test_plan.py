"""The plan: the paper's grids, coarse to fine, and what depends on what."""

import pytest

from kernelsketch_paper.experiments import SCALES, TARGETS, Row, Selection
from kernelsketch_paper.experiments._plan import plan
from kernelsketch_paper.experiments._protocol import COARSE_GAMMAS, GAMMAS
from kernelsketch_paper.experiments._targets import select

STANDARD = SCALES["standard"]


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
