"""``kernelsketch datasets``."""

import json

import pytest

from kernelsketch.exceptions import UnavailableError
from kernelsketch_paper.data import _missing, names


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
    assert lines["Satimage"][-2:] == ["0.8", "MB"]
    assert lines["PAMAP101"][-2:] == ["656", "MB"]
    assert lines["YoutubeHOG10k"][-2:] == ["4.0", "GB"]
    assert lines["Parkinson"][-2:] == ["by", "hand"]
    assert lines["Adult"][1] == "*"
    assert max(map(len, found.output.splitlines())) <= 80


def test_one_dataset(run, tmp_path):
    (tmp_path / "Vowel.npz").touch()
    found = run("Vowel", "--data-dir", tmp_path)
    assert found.status == 0, found.errors
    for text in ("264", "random part of training", "CC BY 4.0", "ca26cd16", "vowel-context.data", "Vowel.npz"):
        assert text in found.output
    output = " ".join(run("DailySports").output.split())
    for text in ("the first download records it", "about 163 MB", "segments"):
        assert text in output
    output = run("Parkinson").output
    assert "by hand" in output
    assert "[:, 1:27]" in output.replace("\n", "")  # brackets are text and no markup


def test_an_unknown_name(run):
    found = run("Vowl")
    assert found.status == 1
    assert "Did you mean Vowel" in found.errors


@pytest.fixture
def server(monkeypatch):
    """A server that has all datasets but RCV1, and counts the requests."""
    asked = []

    def download(found, folder, keep):
        asked.append(found.name)
        if found.name == "RCV1":
            raise UnavailableError("the server answered 404")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / found.file).touch()

    monkeypatch.setattr(_missing, "download", download)
    return asked


def test_download_gets_all_and_says_what_is_left(run, server, tmp_path):
    (tmp_path / "Car.npz").touch()
    found = run("--download", "--data-dir", tmp_path)
    assert found.status == 1
    lines = found.output.splitlines()
    count = len(server)
    assert count > 50
    assert len(set(server)) == count
    assert "Car" not in server
    assert lines[0].startswith(f"{count} datasets to download, about 6.")
    assert " GB. The downloads go to " in lines[0]
    assert f"1/{count} {server[0]}, about " in lines[1]
    assert f"{count - 1} datasets downloaded, 1 failed." in lines
    assert "failed: RCV1: the server answered 404" in lines
    assert any(line.startswith("Parkinson: https://") and "Parkinson.npz" in line for line in lines)
    again = run("--download", "--data-dir", tmp_path)
    assert server[count:] == ["RCV1"]
    assert again.status == 1
    assert again.output.startswith("1 dataset to download, about 450 MB")


def test_download_one(run, server):
    found = run("Webspam20k", "--download")
    assert found.status == 0, found.errors
    assert server == ["Webspam"]
    assert "1/1 Webspam, about 80 MB" in found.output
    sentence = "There is nothing to download: these datasets are on this machine.\n"
    assert run("Webspam", "--download").output == sentence
    assert run("Iris", "--download").status == 0
    assert run("RCV1", "--download").status == 1
    by_hand = run("Parkinson", "--download")
    assert by_hand.status == 1
    assert "train_data.txt" in by_hand.output
    assert "--skip-checksum" in by_hand.output
    assert "nothing to download" not in by_hand.output
    assert server == ["Webspam", "RCV1"]


def test_an_interrupted_download(run, monkeypatch):
    def interrupt(found, folder, keep):
        raise KeyboardInterrupt

    monkeypatch.setattr(_missing, "download", interrupt)
    found = run("Car", "--download")
    assert found.status == 130
    assert "the same command continues" in found.output


def test_json(run, server, tmp_path):
    (tmp_path / "Car.npz").touch()
    found = {one["name"]: one for one in json.loads(run("--json", "--data-dir", tmp_path).output)}
    assert set(found) == set(names())
    assert found["Car"]["here"]
    assert not found["Vowel"]["here"]
    assert found["Car"]["training_rows"] == 864
    one = json.loads(run("Webspam20k", "--download", "--json").output)
    assert (one["downloaded"], one["failed"]) == (["Webspam"], {})
    failed = run("RCV1", "--download", "--json")
    assert failed.status == 1
    assert json.loads(failed.output)["failed"] == {"RCV1": "the server answered 404"}
