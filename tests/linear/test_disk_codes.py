"""Codes in a file: the same passes as in memory, bit for bit; nothing left behind; full disks."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.solver import solve
from kernelsketch import PackedCodes, backends
from kernelsketch._losses import LOSSES, loss_named
from kernelsketch.backends import LINEAR_SEGMENT as SEGMENT
from kernelsketch.backends import LinearObjective
from kernelsketch.exceptions import InputError
from kernelsketch.hashing import Hasher
from kernelsketch.linear import _disk_codes
from kernelsketch.linear._code_table import CodeTable, table_of
from kernelsketch.linear._disk_codes import DiskCodeTable, MemoryBoundError, TemporaryCodes, solver_bytes
from kernelsketch.linear._problem import Stop, Targets
from kernelsketch.reference.pack import code_dtype, pack

HINGE = loss_named("hinge")


def packed(n, k, bits, t_bits=0, size=None, seed=0):
    rng = np.random.default_rng(seed)
    used_codes = np.sort(rng.permutation(1 << (bits + t_bits))[: size or 1 << (bits + t_bits)])
    codes = used_codes[rng.integers(0, len(used_codes), (n, k))].astype(np.uint32)
    empty = rng.random(n) < 0.05
    return PackedCodes(pack(codes, bits + t_bits), empty, Hasher(k, 0, bits, t_bits))


def stored_table(codes, resident=False, step=1000):
    """The table of codes that came in blocks."""
    shape, size = (len(codes), codes.n_components), len(np.unique(codes.unpack()))
    bound = solver_bytes(shape, size, 1, HINGE, 4, np.dtype(code_dtype(codes.width)).itemsize, 1)
    with TemporaryCodes(None, 1 << 40 if resident else bound, HINGE, np.float32, 1) as stored:
        for start in range(0, len(codes), step):
            stored.add(codes[start : start + step])
        return stored.table(1)


@settings(max_examples=30)
@given(
    n=st.integers(1, 40),
    k=st.integers(1, 9),
    bits=st.integers(1, 16),
    t_bits=st.integers(0, 8),
    size=st.integers(1, 300),
    step=st.integers(1, 50),
    resident=st.booleans(),
)
def test_numbers_are_those_in_memory(n, k, bits, t_bits, size, step, resident):
    codes = packed(n, k, bits, t_bits, min(size, 1 << (bits + t_bits)))
    table, expected = stored_table(codes, resident, step), table_of(codes)
    assert type(table) is (CodeTable if resident else DiskCodeTable)
    assert table.shape == expected.shape
    np.testing.assert_array_equal(table.part(slice(0, n)), expected.codes)
    assert table.part(slice(0, n)).dtype == expected.codes.dtype
    np.testing.assert_array_equal(table.empty, expected.empty)
    np.testing.assert_array_equal(table.used_codes, expected.used_codes)


def test_codes_in_steps(monkeypatch):
    codes = packed(500, 7, 12, size=40)
    monkeypatch.setattr(_disk_codes, "STEP_BYTES", 8 * 7 * 13)
    np.testing.assert_array_equal(stored_table(codes).part(slice(0, 500)), table_of(codes).codes)


def targets_of(name, n, problems):
    rng = np.random.default_rng(1)
    cost = rng.random(n, np.float32) * (rng.random(n) < 0.97)
    if loss_named(name).is_regression:
        values = rng.normal(size=n).astype(np.float32)
        return Targets(None, values, cost, np.zeros(1, np.int32), np.ones((1, 2), np.float32))
    labels = rng.integers(0, problems, n).astype(np.int32)
    return Targets(labels, None, cost, np.arange(problems, dtype=np.int32), np.ones((problems, 2), np.float32))


@pytest.mark.parametrize(("name", "tol"), [*((name, 1e-2) for name in LOSSES), ("hinge", 1e-5), ("huber", 1e-5)])
def test_solutions_are_those_in_memory(name, tol):
    n = SEGMENT + 1234
    codes, targets = packed(n, 6, 8, size=20), targets_of(name, n, 3)
    tables = table_of(codes), stored_table(codes, step=5000)
    task, stop = LinearObjective(LOSSES.index(name), 0.75, 0.5), Stop(tol, 17, warn=False)
    one, two = (solve(table, targets, task, stop, seed=3) for table in tables)
    for field in ("w", "bias", "beta", "objective", "gap", "passes"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field), field)
    again = [solve(table, targets, task, stop, start=one.beta.copy(), threads=2) for table in tables]  # warm
    np.testing.assert_array_equal(again[0].w, again[1].w)


def test_the_reference_goes_the_same_way():
    n = SEGMENT + 300
    codes, targets = packed(n, 2, 2), targets_of("hinge", n, 2)
    targets = targets._replace(cost=targets.cost * (np.arange(n) % 40 == 0))  # it is slow
    task, stop = LinearObjective(LOSSES.index("hinge"), 1.0), Stop(1e-2, 2, warn=False)
    with backends.use_backend("reference"):
        one, two = (solve(table, targets, task, stop) for table in (table_of(codes), stored_table(codes)))
    native = solve(table_of(codes), targets, task, stop)
    np.testing.assert_array_equal(one.w, two.w)
    np.testing.assert_array_equal(one.gap, two.gap)
    np.testing.assert_array_equal(one.w, native.w)


class TestBounds:
    def test_a_bound_without_room_for_the_duals(self):
        bound = solver_bytes((50, 4), 256, 1, HINGE, 4, 1, 1)
        with TemporaryCodes(None, bound, HINGE, np.float32, 1) as stored:
            stored.add(packed(50, 4, 8))
            with pytest.raises(InputError, match=rf"memory={bound} is too small: 50 rows and 3 tables"):
                stored.table(3)

    def test_it_is_told_as_soon_as_it_is_known(self):
        """Not after hours of hashing."""
        with TemporaryCodes(None, solver_bytes((50, 4), 256, 1, HINGE, 4, 1, 1), HINGE, np.float32, 1) as stored:
            stored.add(packed(50, 4, 8))
            with pytest.raises(MemoryBoundError, match="rows and 1 tables") as found:
                stored.add(packed(50_000, 4, 8))
            assert found.value.rows == 50_050

    @pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error"])
    def test_the_bound_counts_what_grows(self, loss):
        def bound(problems, real_bytes, threads=1):
            return solver_bytes((10**6, 256), 256, problems, loss_named(loss), real_bytes, 1, threads)

        base = bound(1, 4)
        assert bound(10, 4) - base > 9 * 10**6 * 4
        assert bound(1, 8) - base > 10**6 * 4
        assert bound(1, 4, threads=8) > base
        assert base < (100 << 20 if loss == "hinge" else 320 << 20)


class TestFiles:
    def test_nothing_has_a_name(self, tmp_path):
        with TemporaryCodes(tmp_path, 1 << 40, HINGE, np.float32, 1) as stored:
            stored.add(packed(50, 4, 8))
            assert sys.platform == "win32" or os.listdir(tmp_path) == []
        assert os.listdir(tmp_path) == []

    def test_a_full_disk(self, tmp_path, monkeypatch):
        with TemporaryCodes(tmp_path, 1 << 40, HINGE, np.float32, 1) as stored:

            class Full:
                def write(self, _):
                    raise OSError(errno.ENOSPC, "No space left on device")

                def close(self):
                    pass

            stored._file.close()
            monkeypatch.setattr(stored, "_file", Full())
            with pytest.raises(OSError, match=r"No space left on device: a temporary file there.*temp_dir=") as found:
                stored.add(packed(5, 4, 8))
            assert found.value.errno == errno.ENOSPC

    def test_a_directory_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="temp_dir="):
            TemporaryCodes(tmp_path / "none", 1 << 40, HINGE, np.float32, 1)

    @pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
    def test_a_killed_process_leaves_nothing(self, tmp_path):
        program = (
            "import os, signal, sys, numpy as np\n"
            "from kernelsketch import GCWSClassifier\n"
            "def blocks():\n"
            "    yield np.ones((9, 3)), np.arange(9) % 2\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "GCWSClassifier(8).fit_blocks(blocks(), temp_dir=sys.argv[1])\n"
        )
        found = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
        assert found.returncode == -9
        assert os.listdir(tmp_path) == []
