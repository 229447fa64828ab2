"""``kernelsketch datasets``."""

import pytest

from kernelsketch_paper.data import names


@pytest.fixture
def run(tmp_path, monkeypatch, kernelsketch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KERNELSKETCH_DATA", raising=False)
    return lambda *arguments: kernelsketch("datasets", *arguments, columns=80)


def test_the_list(run, tmp_path):
    (tmp_path / "Car.npz").touch()
    found = run("--data-dir", tmp_path)
    assert found.status == 0, found.errors
    lines = {line.split()[0]: line.split() for line in found.output.splitlines()[1:] if line.strip()}
    assert set(names()) <= set(lines)
    assert lines["Car"] == ["Car", "864+864", "6", "4", "random", "CC", "BY", "4.0", "found"]
    assert lines["Satimage"][-1] == "fetched"
    assert lines["CTG"][-2:] == ["by", "hand"]
    assert lines["Adult"][1] == "*"
    assert max(map(len, found.output.splitlines())) <= 80


def test_one_dataset(run, tmp_path):
    (tmp_path / "Vowel.npz").touch()
    found = run("Vowel", "--data-dir", tmp_path)
    assert found.status == 0, found.errors
    for text in ("264", "random part of training", "CC BY 4.0", "ca26cd16", "vowel-context.data", "Vowel.npz"):
        assert text in found.output
    assert "the first download records it" in " ".join(run("Magic").output.split())
    assert "by hand" in run("M-Image").output


def test_an_unknown_name(run):
    found = run("Vowl")
    assert found.status == 1
    assert "Did you mean Vowel" in found.errors
