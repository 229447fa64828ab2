"""Small files of datasets, and a server on this machine."""

import hashlib
import http.server
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from kernelsketch_paper.data import _load


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    """Neither the user's cache nor the user's data."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.delenv("KERNELSKETCH_DATA", raising=False)


@pytest.fixture
def cache():
    return _load.cache_folder()


@dataclass
class Site:
    """Files by path, and how the server misbehaves."""

    files: dict = field(default_factory=dict)
    status: list = field(default_factory=list)  # answers to the next requests in place of the file
    break_after: list = field(default_factory=list)  # bytes after which the next answers stop
    ranges: bool = True
    versions: bool = True
    tell_length: bool = True
    requests: list = field(default_factory=list)
    url: str = ""

    def put(self, path, content):
        self.files[path] = content
        return f"{self.url}{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        site = self.server.site
        site.requests.append((self.path, self.headers.get("Range")))
        if site.status:
            return self.send_error(site.status.pop(0))
        if self.path not in site.files:
            return self.send_error(404)
        content = site.files[self.path]
        tag = '"' + hashlib.sha256(content).hexdigest()[:8] + '"'
        start = 0
        asked = self.headers.get("Range")
        if asked and site.ranges and self.headers.get("If-Range") == tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if site.tell_length:
            self.send_header("Content-Length", str(len(content) - start))
        if site.versions:
            self.send_header("ETag", tag)
        self.end_headers()
        end = start + site.break_after.pop(0) if site.break_after else len(content)
        self.wfile.write(content[start:end])
        return None

    def log_message(self, *args):
        pass


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.site = Site(url=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.site
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(tmp_path):
    """Write the file of a dataset into a folder, which is returned."""

    def write(name, **arrays):
        folder = tmp_path / "files"
        folder.mkdir(exist_ok=True)
        np.savez(folder / f"{name}.npz", **arrays)
        return folder

    return write
