"""From an address to a file in the cache."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest

from kernelsketch.exceptions import InputError, UnavailableError
from kernelsketch_paper.data import _entry, _load, entry, load, where
from kernelsketch_paper.data._download import Patience
from kernelsketch_paper.data._remote import download

QUICK = Patience(timeout=5, attempts=2, pause=0.001)
LINES = "".join(f"{k} {k % 7} {'ab'[k % 2]}\n" for k in range(20))


@pytest.fixture
def toy(site, monkeypatch):
    """A dataset of two files on the site, in the registry."""
    remote = _entry.Remote(train=(site.put("/toy.trn", LINES.encode()),), test=(site.put("/toy.tst", b"1 1 a\n"),))
    made = _entry.Entry(
        "Toy", "A toy", "other", False, "official", n_train=20, n_test=1, n_features=2, n_classes=2, remote=remote
    )
    registry = {**_entry._registry(), "Toy": made}
    monkeypatch.setattr(_entry, "_registry", lambda: registry)
    monkeypatch.setattr(_load, "fetch_dataset", lambda found, folder: download(found, folder, QUICK))

    def change(**fields):
        registry["Toy"] = dataclasses.replace(registry["Toy"], **fields)

    return change


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_load_downloads_once(toy, site, cache, capsys):
    data = load("Toy")
    assert data.X_train.shape == (20, 2)
    assert data.split == "official"
    assert files(cache) == ["Toy.json", "Toy.npz"]
    assert "toy.trn: 0.0 of 0.0 MB" in capsys.readouterr().err
    about = json.loads((cache / "Toy.json").read_text())
    assert about["sha256"] == hashlib.sha256((cache / "Toy.npz").read_bytes()).hexdigest()
    assert about["downloads"][f"{site.url}/toy.trn"] == hashlib.sha256(LINES.encode()).hexdigest()
    count = len(site.requests)
    np.testing.assert_array_equal(load("Toy").X, data.X)
    assert len(site.requests) == count
    assert where("Toy") == cache / "Toy.npz"


def test_a_damaged_cache_is_noticed(toy, cache):
    load("Toy")
    content = bytearray((cache / "Toy.npz").read_bytes())
    content[60] ^= 1
    (cache / "Toy.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"SHA-256 expected [0-9a-f]{64}, found [0-9a-f]{64}"):
        load("Toy")


def test_a_download_is_held_to_the_first(toy, site, cache):
    load("Toy")
    (cache / "Toy.npz").unlink()
    load("Toy")
    (cache / "Toy.npz").unlink()
    site.put("/toy.tst", b"2 2 b\n")
    with pytest.raises(InputError, match="is not the expected file"):
        load("Toy")
    assert not (cache / "Toy.npz").exists()


def test_a_wrong_checksum_caches_nothing(toy, cache, site):
    toy(remote=dataclasses.replace(entry("Toy").remote, sha256=("0" * 64, "")))
    with pytest.raises(InputError, match=f"expected {'0' * 64}, found"):
        load("Toy")
    assert files(cache) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"<html></html>", "cannot be used: No line has 2 numbers and a label.* Nothing was stored"),
        (LINES[:48].encode(), r"cannot be used: Toy has 20 \+ 1 rows, but its file has"),
        (b"1 nan a\n", "NaN"),
        (LINES.replace("b", "c", 1).encode(), r"cannot be used: there are 3 classes, not 2\. Nothing was stored"),
    ],
)
def test_what_cannot_be_used_is_not_stored(toy, site, cache, content, sentence):
    site.put("/toy.trn", content)
    with pytest.raises(InputError, match=sentence):
        load("Toy")
    assert files(cache) == []


def test_a_damaged_archive(toy, site, cache):
    toy(remote=_entry.Remote(train=(site.put("/a.zip", b"PK..."),), test=(site.put("/b.bz2", b"BZh9"),)))
    with pytest.raises(InputError, match=r"a\.zip.*cannot be used"):
        load("Toy")
    toy(remote=_entry.Remote(train=(f"{site.url}/a.zip#x.csv",), test=(f"{site.url}/b.bz2",)))
    with pytest.raises(InputError, match="cannot be used"):
        load("Toy")
    assert files(cache) == []


def test_what_has_arrived_stays_for_the_next_call(toy, site, cache):
    del site.files["/toy.tst"]
    with pytest.raises(UnavailableError, match=r"toy\.tst cannot be downloaded: the server answered 404"):
        load("Toy")
    site.put("/toy.tst", b"1 1 a\n")
    site.requests.clear()
    load("Toy")
    assert [path for path, _ in site.requests] == ["/toy.tst"]
    assert files(cache) == ["Toy.json", "Toy.npz"]


def test_openml_tells_the_address(toy, site, cache):
    url = site.put("/data/v1/d.arff", b"@relation r\n@data\n" + LINES.replace(" ", ",").encode())
    about = site.put("/api/v1/json/data/7", json.dumps({"data_set_description": {"url": url}}).encode())
    toy(remote=_entry.Remote(train=(about,), format="openml"), split="random", n_train=10, n_test=10)
    assert load("Toy").X.shape == (20, 2)
    assert files(cache) == ["Toy.json", "Toy.npz"]
    (cache / "Toy.npz").unlink()
    (cache / "Toy.json").unlink()
    site.put("/api/v1/json/data/7", b"busy")
    with pytest.raises(UnavailableError, match="did not answer with OpenML's description of a dataset"):
        load("Toy")
    assert files(cache) == []


@pytest.mark.parametrize("kind", [".npz", ".json"])
def test_a_full_disk_leaves_nothing(toy, cache, monkeypatch, kind):
    from kernelsketch_paper.data import _remote

    def full(path, content):
        if path.suffix == kind:
            raise OSError(28, "No space left on device")
        path.write_bytes(content)

    monkeypatch.setattr(_remote, "write_atomically", full)
    with pytest.raises(
        UnavailableError, match=r"Toy was downloaded but cannot be stored in .*: No space left on device"
    ):
        load("Toy")
    assert files(cache) == []


def test_download_false(toy, site):
    with pytest.raises(UnavailableError, match=r"Pass download=True to get it from http://127.*toy\.trn"):
        load("Toy", download=False)
    assert site.requests == []
