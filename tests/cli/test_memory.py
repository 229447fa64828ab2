"""``--memory``: its default, the value that an error names, and the peak of the process."""

import re
import subprocess
import sys

import numpy as np
import pytest

from kernelsketch.cli import _memory
from kernelsketch.cli._memory import group_limits, memory_of, size_text
from kernelsketch.cli._options import RunOptions

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory by its rules")
RUN = """
import sys
from kernelsketch.cli import main
from kernelsketch.cli._memory import peak_bytes
status = 0
try:
    main()
except SystemExit as end:
    status = end.code or 0
print(peak_bytes(), file=sys.stderr)
sys.exit(status)
"""


def group_of(tmp_path, text, **limits):
    (tmp_path / "cgroup").write_text(text)
    for place, limit in limits.items():
        path = tmp_path / "fs" / place.replace("__", "/")
        path.mkdir(parents=True, exist_ok=True)
        name = "memory.limit_in_bytes" if place.startswith("memory") else "memory.max"
        (path / name).write_text(limit)
    return list(group_limits(tmp_path / "fs", tmp_path / "cgroup"))


class TestDefault:
    def test_half_of_the_memory(self, monkeypatch):
        monkeypatch.setattr(_memory, "available_memory", lambda: 7_000_000_001)
        assert RunOptions().bytes == memory_of("half") == 3_500_000_000

    def test_the_machine(self):
        assert 10**8 < _memory.available_memory() <= (_memory._machine_bytes() or 10**15)

    def test_a_group_of_version_2(self, tmp_path):
        assert group_of(tmp_path, "0::/a/b\n", a__b="1000\n") == [1000]

    def test_the_limit_of_an_outer_group_counts(self, tmp_path):
        assert sorted(group_of(tmp_path, "0::/a/b\n", a__b="max\n", a="500\n", other="1")) == [500]

    def test_a_group_of_version_1(self, tmp_path):
        text = "9:name=systemd:/\n4:cpu,memory:/a\n0::/\n"
        assert group_of(tmp_path, text, memory__a="9223372036854771712\n", memory="300\n")[1:] == [300]

    def test_a_container_that_shows_the_path_outside_of_it(self, tmp_path):
        assert group_of(tmp_path, "0::/docker/123\n", **{".": "700\n"}) == [700]

    def test_no_groups(self, tmp_path):
        assert list(group_limits(tmp_path, tmp_path / "nothing")) == []
        assert group_of(tmp_path, "nonsense\n5\n") == []

    def test_the_smallest_limit_counts(self, monkeypatch):
        monkeypatch.setattr(_memory, "group_limits", lambda *_: iter([10**9, 10**8, 10**18]))
        assert _memory.available_memory.__wrapped__() == 10**8

    def test_help_says_so(self, command):
        shown = " ".join(re.sub("[│╭╮─]", " ", command("train", "--help").stdout).split())
        assert "[default: half]" in shown


@pytest.mark.parametrize("reading", [True, False])
@pytest.mark.parametrize("needed", [1e6, 5e7, 1e9, 3e10])
def test_the_value_that_is_named_leaves_what_is_needed(monkeypatch, needed, reading):
    monkeypatch.setattr(_memory, "_resident_bytes", lambda: 180_000_000)
    running = RunOptions(memory="260MB")
    left = _memory.memory_left(running, reading=reading)
    named = _memory.enough_memory(running, left, needed, reading=reading)
    assert _memory.memory_left(RunOptions(memory=named), reading=reading) >= needed
    assert memory_of(named) < 1.2 * (180e6 + needed) + 3e7


def test_sizes_as_text():
    assert [size_text(size) for size in (1, 1e7, 1.01e7, 999e6, 1.5e9, 1.501e9)] == [
        *("10MB", "10MB", "20MB", "1000MB", "1.5GB", "1.51GB")
    ]


def run(*args):
    """Return the status, what the command says, and its peak in bytes."""
    found = subprocess.run([sys.executable, "-c", RUN, *map(str, args)], capture_output=True, text=True, check=False)
    *lines, peak = found.stderr.splitlines()
    return found.returncode, "\n".join(lines), int(peak)


def check_named(*args):
    """The value that the error names works, and keeps to itself; so does or stops at once a fifth less of it."""
    status, said, _ = run(*args, "--memory", "1MB")
    assert status == 1
    for _ in range(3):  # what the libraries need, then what the data need
        named = re.search(r"--memory (\S+[MG]B) or more", said)[1]
        status, said, peak = run(*args, "--memory", named)
        assert peak <= memory_of(named)
        if status == 0:
            break
    assert status == 0, said
    less = int(0.8 * memory_of(named))
    status, said, small = run(*args, "--memory", less)
    assert small <= less if status == 0 else "or more" in said
    return memory_of(named), peak


@linux
@pytest.mark.slow
@pytest.mark.parametrize("n", [2_000, 700_000])
@pytest.mark.parametrize("classes", [2, 12])
@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss"])
def test_train_names_a_value_that_works(tmp_path, n, classes, loss):
    rng = np.random.default_rng(0)
    X = rng.random((n, 4), np.float32)
    np.save(tmp_path / "rows.npy", np.column_stack([np.floor(X[:, 0] * classes), X]).astype(np.float32))
    hashing = ("-k", 32, "--loss", loss, "--max-iter", 2, "-q")  # log_loss reaches Newton's method
    named, peak = check_named("train", tmp_path / "rows.npy", "--label", 0, "-m", tmp_path / "m.safetensors", *hashing)
    assert named < 1.2 * peak


@linux
@pytest.mark.slow
@pytest.mark.parametrize("n", [2_000, 400_000])
def test_dedup_names_a_value_that_works(tmp_path, n):
    lines = (f'{{"text": "document {i} has words of its own {7 * i} {13 * i}"}}\n' for i in range(n))
    (tmp_path / "texts.jsonl").write_text("".join(lines))
    named, peak = check_named("dedup", tmp_path / "texts.jsonl", "-o", tmp_path / "out.jsonl", "-q")
    assert named < max(1.2 * peak, peak + 6e7)  # few documents are not worth an estimate of their own


@linux
@pytest.mark.slow
def test_kernel_and_index_name_a_value_that_works(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).random((20_000, 300)))
    check_named("index", "build", tmp_path / "rows.npy", "-i", tmp_path / "i.safetensors", "-q")
    other = tmp_path / "other.npy"
    np.save(other, np.ones((5, 300)))
    check_named("kernel", other, tmp_path / "rows.npy", "-o", tmp_path / "k.npy", "-q")


@linux
def test_rows_that_do_not_fit_are_refused_at_the_first_block(tmp_path):
    """Not after minutes of hashing."""
    with open(tmp_path / "rows.svm", "w") as file:
        for _ in range(40):
            file.write("".join(f"{i % 2} 1:{i} 2:1\n" for i in range(1, 20_001)))
    train = ("train", tmp_path / "rows.svm", "-m", tmp_path / "m.safetensors", "-k", 16, "--memory")
    status, said, _ = run(*train, "1MB")  # less than the libraries need; the error counts the rows all the same
    assert status == 1
    about = int(re.search(r"of about ([\d,]+) rows", said)[1].replace(",", ""))
    assert 700_000 < about < 900_000


@linux
def test_train_counts_all_rows_and_categories_of_a_table_that_fits_in_a_buffer(tmp_path):
    lines = (f"{i / 7:.3f},word {i % 50},{i % 2}\n" for i in range(60_000))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(lines))
    train = ("train", tmp_path / "rows.csv", "--label", "y", "--effort", "quick", "-m", tmp_path / "m.safetensors")
    status, said, _ = run(*train, "-q", "--memory", "350MB")
    assert status == 1
    assert "is too small to train on 60,000 rows: pass --memory" in said
    assert "--effort" not in said


@linux
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_sample_of_parts_that_do_not_fit(tmp_path, kind):
    """Of 400,000 rows with categories and gaps in four files, which need more memory than there is."""
    pandas, rng, n = pytest.importorskip("pandas"), np.random.default_rng(0), 100_000
    (tmp_path / "parts").mkdir()
    for number in range(4):
        frame = pandas.DataFrame({f"x{j}": rng.normal(size=n).round(3) for j in range(5)})
        frame["city"] = rng.choice(["Paris", "Rome", "Oslo", None], n)
        frame["y"] = np.where(frame["x0"] + (frame["city"] == "Rome") > 0.3, "yes", "no")
        path = tmp_path / "parts" / f"part-{number}.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path, index=False)
    train = ("train", tmp_path / "parts", "--label", "y", "--effort", "quick", "-m", tmp_path / "m.safetensors", "-q")
    status, said, _ = run(*train, "--memory", "450MB")
    assert status == 1
    assert "--sample " in said
    status, said, peak = run(*train, "--memory", "450MB", "--sample", 3000)
    assert (status, said) == (0, "")
    assert peak <= 450_000_000
