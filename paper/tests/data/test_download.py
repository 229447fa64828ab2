"""One file from a server that misbehaves."""

import hashlib
import socket

import numpy as np
import pytest

from kernelsketch.exceptions import InputError, UnavailableError
from kernelsketch_paper.data import _download
from kernelsketch_paper.data._download import Patience, fetch

CONTENT = np.random.default_rng(0).bytes(1 << 20)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(timeout=5, attempts=3, pause=0.001)


@pytest.fixture
def get(site, tmp_path):
    """Fetch /file of the site; returns the checksum found."""
    url = site.put("/file", CONTENT)

    def call(sha256=None, url=url, report=lambda done, total: None):
        return fetch(url, tmp_path / "new" / "file", sha256, report, QUICK)

    call.path = tmp_path / "new" / "file"
    call.left = lambda: sorted(path.name for path in call.path.parent.iterdir()) if call.path.parent.exists() else []
    return call


def test_a_file(get, site):
    seen = []
    assert get(SHA256, report=lambda done, total: seen.append((done, total))) == SHA256
    assert get.path.read_bytes() == CONTENT
    assert get.left() == ["file"]
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert site.requests == [("/file", None)]


def test_a_broken_connection_is_continued(get, site):
    site.break_after = [300_000, 200_000]
    assert get(SHA256) == SHA256
    assert [asked for _, asked in site.requests] == [None, "bytes=300000-", "bytes=500000-"]
    assert get.left() == ["file"]


def test_a_later_call_continues(get, site):
    site.break_after = [1000, 1000, 1000]
    with pytest.raises(
        UnavailableError, match=r"broke off after 3000 of 1048576 bytes, after 3 attempts.*kept and continued"
    ):
        get(SHA256)
    assert not get.path.exists()
    assert get.left() == ["file.partial", "file.partial.version"]
    get(SHA256)
    assert site.requests[-1] == ("/file", "bytes=3000-")
    assert get.left() == ["file"]


@pytest.mark.parametrize("lack", ["ranges", "versions"])
def test_without_ranges_or_versions_it_starts_again(get, site, lack):
    setattr(site, lack, False)
    site.break_after = [1000, 2000]
    assert get(SHA256) == SHA256
    assert len(site.requests) == 3


def test_a_file_that_changed_meanwhile_is_not_mixed(get, site):
    site.break_after = [1000] * 3
    with pytest.raises(UnavailableError):
        get()
    site.files["/file"] = CONTENT[::-1]
    get()
    assert get.path.read_bytes() == CONTENT[::-1]


def test_a_part_that_is_longer_than_the_file(get, site):
    site.break_after = [5000] * 3
    with pytest.raises(UnavailableError):
        get()
    partial = get.path.with_name("file.partial")
    partial.write_bytes(CONTENT + b"more")
    assert get(SHA256) == SHA256
    assert get.path.read_bytes() == CONTENT


def test_without_a_length(get, site):
    site.tell_length = False
    seen = []
    assert get(SHA256, report=lambda done, total: seen.append(total)) == SHA256
    assert set(seen) == {None}


def test_a_wrong_checksum_keeps_nothing(get):
    with pytest.raises(InputError, match=f"SHA-256 expected {'0' * 64}, found {SHA256}. Nothing was kept"):
        get("0" * 64)
    assert get.left() == []


def test_answers_that_pass(get, site):
    site.status = [500, 503]
    assert get(SHA256) == SHA256
    site.status = [500, 502, 504]
    with pytest.raises(
        UnavailableError, match=r"/file cannot be downloaded: the server answered 504 \(.*after 3 attempts"
    ):
        get()


@pytest.mark.parametrize("status", [403, 404, 410])
def test_answers_that_do_not(get, site, status):
    site.status = [status]
    with pytest.raises(UnavailableError, match=rf"the server answered {status} \(.*may have moved"):
        get()
    assert len(site.requests) == 1


def test_offline(get):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        UnavailableError, match=rf"http://127\.0\.0\.1:{port}/x cannot be downloaded: .*refused.*Without a"
    ):
        get(url=f"http://127.0.0.1:{port}/x")


def test_a_server_that_does_not_answer(tmp_path):
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/x"
        with pytest.raises(UnavailableError, match="the server did not answer in time, after 1 attempts"):
            fetch(url, tmp_path / "x", None, lambda done, total: None, Patience(0.05, 1, 0))


def test_only_the_web(tmp_path):
    with pytest.raises(InputError, match="is not a web address"):
        fetch("file:///etc/passwd", tmp_path / "x", None, lambda done, total: None)


def test_a_full_disk_leaves_nothing(get, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def write(self, block):
            self.file.write(block[:100])
            raise OSError(28, "No space left on device")

    opened = _download._Partial.open
    monkeypatch.setattr(_download._Partial, "open", lambda self, *args, **options: Full(opened(self, *args, **options)))
    with pytest.raises(
        UnavailableError, match=r"cannot be stored in .*: no space is left on the disk. Free some space"
    ):
        get()
    assert get.left() == []


def test_a_place_that_cannot_be_written(site, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match="cannot be stored in"):
        fetch(site.put("/a", b"1"), tmp_path / "file" / "under", None, lambda done, total: None, QUICK)


def test_pauses_double(get, site, monkeypatch):
    pauses = []
    monkeypatch.setattr("time.sleep", pauses.append)
    site.status = [500, 500]
    get()
    assert pauses == [0.001, 0.002]
