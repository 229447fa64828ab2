"""The runner: every experiment at a tiny scale, stopped and gone on, limits, and errors."""

import json
import multiprocessing
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kernelsketch.exceptions import InputError, UnavailableError
from kernelsketch_paper.drawing import Plot
from kernelsketch_paper.experiments import Selection, _run, read_results, reproduce
from kernelsketch_paper.experiments._cells import Cell
from kernelsketch_paper.experiments._protocol import TINY
from kernelsketch_paper.experiments._run import memory_of, run, versions
from kernelsketch_paper.experiments._store import Store
from kernelsketch_paper.report import write_report
from kernelsketch_paper.report._parts import Table

pytestmark = pytest.mark.slow

NAMES = ("Car", "RobotNavi", "ImageSeg", "CovertypeFull_binary")


def _tiny(out, target="all", **options):
    return reproduce(target, out, scale="tiny", datasets=NAMES, verify=False, jobs=2, **options)


@pytest.fixture(scope="module")
def everything(made_up, tmp_path_factory):
    """``kernelsketch reproduce all`` at its smallest, run once for the tests below."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELSKETCH_DATA", str(made_up))
        patch.setenv("XDG_CACHE_HOME", str(made_up / "cache"))
        found = _tiny(folder)
    return folder, found


def test_every_experiment_runs(everything):
    folder, found = everything
    assert found.state.failed == {}
    assert found.state.done == found.state.total > 50
    rows = read_results(folder)
    assert {row.experiment for row in rows} == {"kernels", "hashing", "time", "comparison", "tunable"}
    methods = {row.method for row in rows}
    exact = {"linear", "rbf", "gmm", "pgmm", "egmm", "epgmm"}
    assert methods == exact | {"gcws", "nrff", "nystroem", "trees", "lightgbm"}
    assert all(0 <= row.accuracy <= 100 for row in rows if row.accuracy is not None)
    separable = [row.accuracy for row in rows if row.dataset == "RobotNavi" and row.method == "gmm" and row.accuracy]
    assert max(separable) > 80
    about = json.loads((folder / "provenance.json").read_text())
    assert about["protocol"] == 1
    assert about["scale"] == "tiny"
    assert {"commit", "cpu", "numpy", "started", "seconds"} <= set(about)


def test_the_report_takes_the_results(everything, tmp_path):
    folder, _ = everything
    write_report(folder, tmp_path)
    page = (tmp_path / "report.html").read_text()
    for section in ("kernels", "hashing", "time", "comparison"):
        assert f'id="{section}"' in page
    assert "RobotNavi" in (tmp_path / "report.md").read_text()


def test_scales_do_not_mix(everything):
    folder, found = everything
    assert len(Store(folder, versions(120)).done) == found.state.total
    assert Store(folder, versions(None)).done == {}


def test_nothing_is_run_twice(everything, data_folder, tmp_path):
    folder, first = everything
    content = (folder / "cells.jsonl").read_bytes()
    again = _tiny(folder)
    assert again.state.done == first.state.total
    assert (folder / "cells.jsonl").read_bytes() == content


def test_a_stopped_run_goes_on(data_folder, tmp_path):
    class KilledError(Exception):
        pass

    def stop(state):
        if state.done >= 3:
            raise KilledError

    with pytest.raises(KilledError):
        reproduce("table1", tmp_path, scale="tiny", datasets=["Car"], verify=False, jobs=1, progress=stop)
    stored = (tmp_path / "cells.jsonl").read_bytes()
    assert stored.count(b"\n") >= 3
    done = reproduce("table1", tmp_path, scale="tiny", datasets=["Car"], verify=False, jobs=1)
    assert done.state.done == done.state.total
    assert (tmp_path / "cells.jsonl").read_bytes().startswith(stored)


def _forever(cell):
    time.sleep(3600)


def test_a_stopped_run_does_not_wait_for_its_cell(data_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_run, "_work", _forever)
    workers = []

    def stop(state):
        if state.running and multiprocessing.active_children():
            workers.extend(multiprocessing.active_children())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce("table1", tmp_path, scale="tiny", datasets=["Car"], verify=False, jobs=1, progress=stop)
    assert workers
    end = time.monotonic() + 60
    while any(worker.is_alive() for worker in workers):  # no join, which a thread of the pool may be in, too
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are looked up in /proc")
def test_a_killed_run_leaves_its_cells_and_no_process(data_folder, tmp_path):
    options = ["--scale", "tiny", "--datasets", "RobotNavi", "--skip-checksum", "--jobs", "1", "--out", str(tmp_path)]
    runner = subprocess.Popen([sys.executable, "-m", "kernelsketch", "reproduce", "table1", *options])
    cells = tmp_path / "cells.jsonl"
    for _ in range(600):
        if cells.exists() and cells.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.1)
    workers = _children(runner.pid)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert workers
    for _ in range(300):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.1)
    else:
        pytest.fail("workers outlive the runner")
    stored = cells.read_bytes()
    done = reproduce("table1", tmp_path, scale="tiny", datasets=["RobotNavi"], verify=False, jobs=1)
    assert done.state.done == done.state.total
    whole = stored[: stored.rfind(b"\n") + 1]
    assert whole.count(b"\n") >= 2
    assert cells.read_bytes().startswith(whole)


def _children(pid):
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return tasks.read_text().split() if tasks.exists() else []


def test_a_budget_begins_nothing_after_its_end(data_folder, tmp_path):
    found = reproduce("table1", tmp_path, scale="tiny", datasets=["Car"], verify=False, jobs=1, budget=0.0)
    assert found.state.out_of_time
    assert found.state.done == 0
    assert read_results(tmp_path) == []


def test_a_cell_beyond_the_memory_limit_is_named(data_folder, tmp_path):
    found = reproduce("table1", tmp_path, scale="tiny", datasets=["Car"], verify=False, jobs=1, memory=1000)
    assert found.state.done == 0
    assert any("GB" in reason for reason in found.not_run.values())


def test_memory_grows_with_the_square_of_the_rows():
    small, large = (Cell("kernels", name, "gmm", (1.0,)) for name in ("RobotNavi", "Covertype25k"))
    assert memory_of(large) > 8 * 25000**2
    assert memory_of(small) < memory_of(large) / 10


def test_one_failing_cell_does_not_stop_the_others(data_folder, tmp_path):
    selection = Selection({"kernels": ("Car", "Vowel")}, TINY, verified=False)  # there is no Vowel here
    store, state = run(selection, tmp_path, jobs=1)
    assert len(state.failed) > 0
    assert all("Vowel" in key for key in state.failed)
    assert {row.dataset for row in store.rows()} == {"Car"}


@pytest.fixture
def bare_machine(tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELSKETCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_machine_without_a_dataset_says_how_to_get_it(bare_machine, tmp_path):
    with pytest.raises(UnavailableError, match=r"None of the datasets Car, CTG .*KERNELSKETCH_DATA.*--download"):
        reproduce("table1", tmp_path / "out", scale="tiny", datasets=["Car", "CTG"])
    assert not (tmp_path / "out").exists()


def test_a_bare_machine_runs_everything(bare_machine, tmp_path):
    """Every experiment, table and figure has four datasets or more, and the report says what they are."""
    found = reproduce("all", tmp_path / "out", scale="tiny", jobs=2)
    assert not found.state.failed
    assert found.state.done == found.state.total
    rows = read_results(tmp_path / "out")
    for experiment in ("kernels", "hashing", "time", "comparison", "tunable"):
        assert len({row.dataset for row in rows if row.experiment == experiment}) >= 4
    report = write_report(tmp_path / "out", tmp_path / "report")
    tables = {table.key: table for table in report.all(Table)}
    for key in ("table-1", "table-2", "table-3", "table-4"):
        assert sum(bool(row["origin"]) for row in tables[key].rows) >= 4
        assert not any(column.key.endswith("paper") for column in tables[key].columns)
    assert len(tables["table-5"].columns) >= 5
    plots = {plot.key: plot for plot in report.all(Plot)}
    for key in ("kernels", "hashing", "hashing-more", "hashing-larger", "time", "samples", "storage", "cost"):
        assert len({panel.dataset for panel in plots[key].panels}) >= 4, key
    assert {point[0] for series in plots["noise"].panels[0].series for point in series.points} == set(range(1, 7))
    text = (tmp_path / "report" / "report.md").read_text()
    assert text.index("no verdict on the paper") < text.index("datasets: GMM is ahead")
    assert "agrees with the paper" not in text
    assert "generated" in text


def test_own_data_run_and_changed_files_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "mine.npz"
    np.savez(path, X=rng.gamma(2.0, size=(160, 5)), y=np.arange(160) % 2)
    options = {"scale": "tiny", "datasets": [str(path)], "jobs": 1}
    found = reproduce("table1", tmp_path / "out", **options)
    assert found.state.done == found.state.total > 10
    report = write_report(tmp_path / "out", tmp_path / "report")
    table = next(table for table in report.all(Table) if table.key == "table-own")
    assert [row["dataset"] for row in table.rows] == ["mine.npz"]
    assert not any("paper" in column.key for column in table.columns)
    np.savez(path, X=rng.gamma(2.0, size=(160, 5)), y=np.arange(160) % 2)
    with pytest.raises(InputError, match="has changed since the results"):
        reproduce("table1", tmp_path / "out", **options)
    with pytest.raises(InputError, match="label='y' is for files of your own"):
        reproduce("table1", tmp_path / "out", scale="tiny", datasets=["Car"], label="y")


def test_a_broken_file_is_reported_once_and_in_words(data_folder, tmp_path):
    found = reproduce("table1", tmp_path, scale="tiny", datasets=["Car"], jobs=1)  # the made-up file is not Car's
    assert found.state.done == 0
    assert not found.state.failed
    assert list(found.state.broken) == ["Car"]
    assert "SHA-256 expected" in found.not_run["Car"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "table9"}, "table1, table2"),
        ({"scale": "huge"}, "quick"),
        ({"datasets": ["Satimages"]}, "Satimage"),
        ({"datasets": ["Letter"]}, "none of Letter"),
    ],
)
def test_unknown_names_are_answered_with_the_list(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        reproduce(**{"target": "table1", "out": tmp_path, "scale": "tiny", **options})
