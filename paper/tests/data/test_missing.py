"""Download all datasets that are not on this machine."""

import dataclasses
import socket
import urllib.request

import pytest

from kernelsketch_paper.data import _entry, _missing, download_missing, entry, is_here, load, missing, names
from kernelsketch_paper.data._download import Patience
from kernelsketch_paper.data._remote import download

from .packing import zipped

QUICK = Patience(timeout=5, attempts=2, pause=0.001)


def rows(n):
    return "".join(f"{k} {k % 5} {'ab'[k % 2]}\n" for k in range(n)).encode()


@pytest.fixture
def registry(site, monkeypatch):
    """One, Two and TwoPart are in one archive, Three is a file, Four cannot be had."""
    base = _entry.Entry("", "A toy", "other", False, "random", n_train=5, n_test=5, n_features=2, n_classes=2, page="p")
    archive = site.put("/a.zip", zipped({"one.txt": rows(10), "two.txt": rows(20)}))
    remotes = {
        "One": _entry.Remote(train=(f"{archive}#one.txt",), size=700, rows=10),
        "Two": _entry.Remote(train=(f"{archive}#two.txt",), size=700),
        "Three": _entry.Remote(train=(site.put("/three", rows(10)),), size=80),
    }
    found = {name: dataclasses.replace(base, name=name, remote=remote) for name, remote in remotes.items()}
    found["TwoPart"] = dataclasses.replace(found["Two"], name="TwoPart", part_of="Two")
    found["Four"] = dataclasses.replace(base, name="Four", by_hand="Ask.")
    monkeypatch.setattr(_entry, "_registry", lambda: found)
    monkeypatch.setattr(_missing, "download", lambda one, folder, keep: download(one, folder, QUICK, keep))
    return found


def test_what_is_missing(registry, store):
    found = missing(names())
    assert [one.name for one in found.to_download] == ["One", "Two", "Three"]
    assert [one.name for one in found.by_hand] == ["Four"]
    assert found.size == 780  # the archive counts once
    folder = store("Three", X=[[1.0]], y=[0])
    assert [one.name for one in missing(["Three", "TwoPart"], folder=folder).to_download] == ["Two"]


def test_an_archive_of_several_datasets_is_downloaded_once(registry, site, cache):
    started = []
    assert download_missing(missing(names()), lambda one: started.append(one.name)) == {}
    assert started == ["One", "Two", "Three"]
    assert [path for path, _ in site.requests] == ["/a.zip", "/three"]
    assert all(is_here(name) for name in ("One", "Two", "TwoPart", "Three"))
    assert list((cache / "downloads").iterdir()) == []
    assert load("TwoPart", download=False).X.shape == (20, 2)
    assert missing(names()).to_download == ()


def test_a_failure_does_not_stop_the_others(registry, site):
    registry["One"] = dataclasses.replace(registry["One"], remote=dataclasses.replace(registry["One"].remote, rows=11))
    failed = download_missing(missing(names()))
    assert list(failed) == ["One"]
    assert "there are 10 rows, not 11. Nothing was stored" in failed["One"]
    assert is_here("Two")
    assert is_here("Three")


def test_an_archive_out_of_reach_is_tried_once(registry, site):
    del site.files["/a.zip"]
    failed = download_missing(missing(names()))
    assert list(failed) == ["One", "Two"]
    assert failed["One"] == failed["Two"]
    assert [path for path, _ in site.requests] == ["/a.zip", "/three"]


def test_a_stop_is_continued(registry, site, cache):
    """What has arrived of one dataset, and the archive that further datasets need, are there for the next call."""

    def stop(one):
        if one.name == "Two":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download_missing(missing(names()), stop)
    assert is_here("One")
    assert download_missing(missing(names())) == {}
    assert [path for path, _ in site.requests] == ["/a.zip", "/three"]


def test_a_kept_archive_that_has_changed_is_downloaded_again(registry, site, cache):
    download_missing(missing(["One"]))
    (cache / "One.npz").unlink()
    good = site.files["/a.zip"]
    kept = cache / "downloads"
    download(entry("One"), cache, QUICK, keep={f"{site.url}/a.zip"})
    (cache / "One.npz").unlink()
    next(kept.iterdir()).write_bytes(good[:-1] + b"x")
    assert download_missing(missing(["One"])) == {}
    assert is_here("One")


def test_a_server_out_of_reach_is_tried_once(registry, site, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{free.getsockname()[1]}"
    for name in ("One", "Two", "Three"):
        remote = registry[name].remote
        train = tuple(url.replace(site.url, away) for url in remote.train)
        registry[name] = dataclasses.replace(registry[name], remote=dataclasses.replace(remote, train=train))
    tried = []
    monkeypatch.setattr("urllib.request.urlopen", _counted(tried))
    failed = download_missing(missing(names()))
    assert list(failed) == ["One", "Two", "Three"]
    assert "refused" in failed["One"]
    assert f"{away.removeprefix('http://')} was out of reach for One and was not tried again." == failed["Three"]
    assert len(tried) == QUICK.attempts


def test_a_connection_that_breaks_off_does_not_stop_the_other_files_of_a_server(registry, site):
    site.break_after = [10] * QUICK.attempts
    failed = download_missing(missing(names()))
    assert list(failed) == ["One", "Two"]
    assert is_here("Three")


def _counted(tried):
    plain = urllib.request.urlopen

    def call(request, **options):
        tried.append(request.full_url)
        return plain(request, **options)

    return call
