"""An executor or a Python worker that is killed in a stage of an operation: the result is the undisturbed one."""

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from kernelsketch.spark import (
    NRFF,
    GCWSClassifier,
    _components,
    _dedup,
    approx_nearest_neighbors,
    approx_similarity_join,
    dedup,
    pack_rows,
)
from kernelsketch.text import Shingles

LOOK = 0.002  # seconds between two looks at the stages that run
LONGEST = 120  # seconds until a lost executor must have been replaced
MOST_RUNS = 5  # of an operation, until a process was there to be killed


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    """Rows of three classes in files, so that a task that is run again reads them again; some are close to others."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = rng.normal(size=(3, 12))[y] + rng.normal(scale=0.7, size=(600, 12))
    X[300:] = X[:300] * rng.uniform(0.9, 1.1, (300, 12))
    folder = str(tmp_path_factory.mktemp("rows") / "rows")
    listed = [(i, x.tolist(), int(label)) for i, (x, label) in enumerate(zip(X, y, strict=True))]
    spark.createDataFrame(listed, "id long, features array<double>, label long").repartition(4).write.parquet(folder)
    return spark.read.parquet(folder)


@pytest.fixture(scope="module")
def texts(spark, tmp_path_factory):
    """Texts and edited copies of them, in files."""
    rng = np.random.default_rng(1)
    made = []
    for number in range(150):
        words = made[rng.integers(number)].split() if number > 9 and rng.random() < 0.6 else rng.integers(0, 99, 30)
        words = [str(word) for word in words]
        words[rng.integers(30)] = str(rng.integers(0, 99))
        made.append(" ".join(words))
    folder = str(tmp_path_factory.mktemp("texts") / "texts")
    spark.createDataFrame(list(enumerate(made)), "id long, text string").repartition(3).write.parquet(folder)
    return spark.read.parquet(folder)


def collected(frame):
    return sorted(tuple(str(value) for value in row) for row in frame.collect())


def learned(model):
    local = model.to_local()
    return local.code_weights_.tobytes(), local.intercept_.tobytes(), model.n_skipped


OPERATIONS = {
    "NRFF": lambda rows, texts: collected(NRFF(n_components=32, outputCol="z").transform(rows).select("id", "z")),
    "pack_rows": lambda rows, texts: collected(pack_rows(rows, 12).select("id", "rows")),
    "averages": lambda rows, texts: learned(GCWSClassifier(n_components=16, n_partitions=9, n_rounds=2).fit(rows)),
    "join": lambda rows, texts: collected(approx_similarity_join(rows.where("id < 300"), rows, 0.9)),
    "self-join": lambda rows, texts: collected(approx_similarity_join(rows, None, 0.9)),
    "neighbours": lambda rows, texts: collected(approx_nearest_neighbors(rows, rows.where("id < 40"), 3)),
    "dedup": lambda rows, texts: collected(dedup(texts, threshold=0.5, shingles=Shingles(2))),
    "dedup, stars": lambda rows, texts: collected(dedup(texts, threshold=0.5, shingles=Shingles(2), how="star")),
    "dedup, idf": lambda rows, texts: collected(
        dedup(texts, threshold=0.5, shingles=Shingles(2, weight="idf"), keep="longest")
    ),
}


class Stages(threading.Thread):
    """Looks which stages run, and kills one process when a stage runs that began so many stages after the start."""

    def __init__(self, spark, kind=None, after=0, seed=0):
        super().__init__(daemon=True)
        self.tracker, self.kind, self.after = spark.sparkContext.statusTracker(), kind, after
        self.first, self.seen, self.killed, self.ended = next_stage(spark), set(), [], threading.Event()
        self.choice = random.Random(seed)

    def run(self):
        while not self.ended.wait(LOOK):
            active = [stage - self.first for stage in self.tracker.getActiveStageIds()]
            self.seen.update(active)
            if self.kind and not self.killed and max(active, default=-1) >= self.after:
                found = PROCESSES[self.kind]()
                if found:
                    number = self.choice.choice(found)
                    os.kill(number, signal.SIGKILL)
                    self.killed.append(number)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.join()


def next_stage(spark):
    """Run a stage of no work, and return the number of the stage that comes after it."""
    context = spark.sparkContext
    context.setJobGroup("number", "the number of a stage")
    context.parallelize([0], 1).count()
    jobs = context.statusTracker().getJobIdsForGroup("number")
    context.setLocalProperty("spark.jobGroup.id", None)
    return 1 + max(max(context.statusTracker().getJobInfo(job).stageIds) for job in jobs)


def descendants():
    """Yield the processes that come from this one, with their parents and commands."""
    parents, mine = {}, {os.getpid()}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
        except OSError:  # it has ended
            continue
        if state != "Z":
            parents[int(name)] = int(parent)
    for number in sorted(parents):
        above = [number]
        while above[-1] in parents and above[-1] not in mine:
            above.append(parents[above[-1]])
        if above[-1] in mine and number not in mine:
            try:
                with open(f"/proc/{number}/cmdline") as file:
                    yield number, parents[number], file.read()
            except OSError:
                continue


def executors():
    return [number for number, _, command in descendants() if "CoarseGrainedExecutorBackend" in command]


def python_workers():
    found = [(number, parent) for number, parent, command in descendants() if "pyspark.daemon" in command]
    daemons = {number for number, _ in found}
    return [number for number, parent in found if parent in daemons]


PROCESSES = {"executor": executors, "Python worker": python_workers}


def wait_for_executors(spark):
    """Wait until there are two: without a checkpoint folder dedup keeps its rows on two executors, if it has them."""
    deadline = time.monotonic() + LONGEST
    status = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    while len(executors()) < 2 or status().size() < 3:  # the driver counts too
        assert time.monotonic() < deadline, "a lost executor was not replaced"
        time.sleep(0.1)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
@pytest.mark.filterwarnings("ignore:a worker was lost with rows that were kept nowhere else:RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_those_of_an_undisturbed_run(spark, rows, texts, name):
    operation, rng = OPERATIONS[name], random.Random(name)
    wait_for_executors(spark)
    with Stages(spark) as undisturbed:
        expected = operation(rows, texts)
    assert expected
    early = sorted(undisturbed.seen)[: max(1, len(undisturbed.seen) * 3 // 4)]  # later ones may end unseen
    for kind in ("executor", "Python worker", "executor"):
        for _ in range(MOST_RUNS):
            wait_for_executors(spark)
            with Stages(spark, kind, rng.choice(early), rng.random()) as disturbed:
                found = operation(rows, texts)
            assert found == expected, kind
            if disturbed.killed:
                break
        assert disturbed.killed, kind


COLUMNS = {"pairs": {"a", "b", "similarity"}, "links": {"node", "root", "similarity"}}  # of what dedup keeps


def kill_executors():
    for number in executors():
        os.kill(number, signal.SIGKILL)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
@pytest.mark.parametrize("place", ["pairs", "links"])
def test_all_executors_are_lost_with_what_dedup_has_kept(spark, texts, monkeypatch, place):
    """Without a checkpoint folder the work begins again; what it returns does not need what was lost."""
    kept, calls = _dedup.kept, []

    def killing_kept(frame):
        """Keep rows, then lose them with all that was kept before, once."""
        found = kept(frame)
        calls.append(set(frame.columns))
        if calls.count(calls[-1]) == 1 and calls[-1] == COLUMNS[place]:
            kill_executors()
        return found

    expected = OPERATIONS["dedup"](None, texts)
    monkeypatch.setattr(_components, "_has_checkpoints", lambda frame: False)
    monkeypatch.setattr(_dedup, "kept", killing_kept)
    wait_for_executors(spark)
    with pytest.warns(
        RuntimeWarning, match=r"a worker was lost .*: the work begins again\. .*setCheckpointDir\(folder\)"
    ):
        found = OPERATIONS["dedup"](None, texts)
    assert found == expected
    assert calls.count(COLUMNS[place]) == 2


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_executors_are_lost_again_and_again(spark, texts, monkeypatch):
    step = _components._large_step

    def killing_step(edges):
        kill_executors()
        return step(edges)

    monkeypatch.setattr(_components, "MOST_TRIES", 1)
    monkeypatch.setattr(_components, "_has_checkpoints", lambda frame: False)
    monkeypatch.setattr(_components, "_large_step", killing_step)
    wait_for_executors(spark)
    with pytest.raises(Exception, match="CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND") as caught:
        dedup(texts, threshold=0.5, shingles=Shingles(2))
    assert "Workers were lost with rows that were kept nowhere else, 1 times." in caught.value.__notes__[0]
    assert "setCheckpointDir(folder)" in caught.value.__notes__[0]
