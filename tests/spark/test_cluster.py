"""A worker that dies in the middle of a job; what is shipped to workers; the missing extra."""

import os
import pickle
import signal
import subprocess
import sys

import kernelsketch
from kernelsketch.spark import GCWS, NRFF


def killer(mark):
    """A function that workers get by value: the first of them that comes here kills its executor, and leaves a mark."""

    def kill_once(batches):
        for batch in batches:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                with open(f"/proc/{os.getppid()}/stat") as file:  # of the daemon that made this worker
                    executor = int(file.read().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)
            yield batch

    return kill_once


def test_a_worker_is_killed(spark, frame, signed, tmp_path):
    hasher = GCWS(n_components=32, output="packed", outputCol="codes", n_features=30)
    before = frame.select("id", "listed")
    hashed = hasher.copy({hasher.inputCol: "listed"}).transform(before).select("id", "codes")
    found = sorted(hashed.mapInArrow(killer(str(tmp_path / "killed")), hashed.schema).collect())
    assert (tmp_path / "killed").exists()
    assert hasher.packed_codes([row.codes for row in found]) == kernelsketch.GCWS(32).fit(signed).codes(signed)


def test_workers_are_sent_parameters_and_nothing_else(spark):
    for stage in (GCWS(), GCWS(output="packed"), NRFF()):
        assert len(pickle.dumps(stage._work()[0])) < 400


def test_a_missing_extra_names_the_command():
    code = "import sys; sys.modules['pyspark'] = None; import kernelsketch.spark"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith("is not installed: run  pip install 'kernelsketch[spark]'")
