"""Commands in processes of their own, forked from one that has imported everything: a start takes milliseconds."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from kernelsketch.storage import PARTIAL_SUFFIX

if sys.platform != "win32":
    import fcntl
    import termios

LONGEST = 300  # seconds: what takes longer hangs, also on a machine that does much else

SERVER = """
import importlib, json, os, resource, signal, sys, time
import kernelsketch.cli
import kernelsketch.cli._main
import kernelsketch.cli._options
from importlib import import_module
kernelsketch.cli._options.LEAST_BLOCK = 1 << 16  # with a small --memory, small files have several blocks
for entry in kernelsketch.cli._main.COMMANDS:  # loaded once, for many commands
    for part in ("commands", "work"):
        importlib.import_module(f"kernelsketch.cli.{part}.{entry.name}")
CHANGES = ("os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "fcntl.flock")

def kill_before(step):
    def count(event, arguments):
        nonlocal step
        if event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            step -= 1
            if step < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)

# A shell or nohup may have started the tests with some of these ignored, and a parent may have blocked them.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

for line in sys.stdin:
    asked = json.loads(line)
    if "wait" in asked:
        end = time.monotonic() + float(sys.argv[1])
        while not (found := os.waitpid(asked["wait"], os.WNOHANG))[0]:
            time.sleep(0.001)
            if time.monotonic() > end:
                os.kill(asked["wait"], 9)
        print(os.waitstatus_to_exitcode(found[1]), flush=True)
        continue
    child = os.fork()
    if child:
        print(child, flush=True)
        continue
    streams = [(asked["stdin"], os.O_RDONLY), (asked["stdout"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)]
    streams.append((asked["stderr"], streams[1][1]))
    for number, (path, flags) in enumerate(streams):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    if asked["limit"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["limit"], asked["limit"]))
    if asked["killed_before"] is not None:
        kill_before(asked["killed_before"])
    sys.stdin = open(0, closefd=False)
    sys.argv = ["kernelsketch", *asked["args"]]
    try:
        kernelsketch.cli.main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        import traceback
        traceback.print_exc()
        status = 99
    os._exit(status)
"""


class Command:
    """A command at work."""

    def __init__(self, server, log, args, **options):
        self._server, self._log, self._status = server, log, None
        self.pid = server.ask(args=list(map(str, args)), stderr=str(log), **options)

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """The exit status; that of a killed one is negative."""
        if self._status is None:
            self._status = self._server.ask(wait=self.pid)
        return self._status

    @property
    def stderr(self):
        return self._log.read_text()

    def fails(self, *words, status=1):
        """It ends with a status and one line, which has these words."""
        assert self.wait() == status, self.stderr
        lines = [line for line in self.stderr.splitlines() if not line.startswith(("hashing:", "learning:"))]
        assert len(lines) == 1, self.stderr
        assert lines[0].startswith("kernelsketch: "), self.stderr
        for word in words:
            assert word in lines[0]


class Server:
    """Starts commands."""

    def __init__(self, folder):
        self._folder, self._count = folder, 0
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(LONGEST)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, **request):
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, *args, stdin=os.devnull, stdout=os.devnull, limit=None, killed_before=None):
        """Streams are paths; ``limit`` is the length that a file may have.

        With ``killed_before`` the command is killed before its change of this number to files.
        """
        self._count += 1
        log = self._folder / f"log-{self._count}"
        log.touch()
        options = {"stdin": str(stdin), "stdout": str(stdout), "limit": limit, "killed_before": killed_before}
        return Command(self, log, args, **options)

    def run(self, *args, **options):
        """A command that succeeds."""
        command = self.start(*args, **options)
        assert command.wait() == 0, command.stderr

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    if sys.platform == "win32":
        pytest.skip("forks")
    server = Server(tmp_path_factory.mktemp("commands"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory, commands):
    """Rows as text, and a model and codes of them; not to be changed."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(2000):
        ids = np.sort(rng.choice(100, 20, replace=False))
        values = rng.normal(size=20).round(3)
        label = 1 if values.sum() > 0 else -1
        lines.append(f"{label} " + " ".join(f"{i + 1}:{v}" for i, v in zip(ids, values, strict=True)) + "\n")
    (folder / "rows.svm").write_text("".join(lines))
    commands.run("train", folder / "rows.svm", "-m", folder / "model.safetensors", "-k", 64)
    commands.run("hash", folder / "rows.svm", folder / "codes.safetensors", "-k", 64)
    return folder


class Feed:
    """A pipe that a command reads its rows from, fed in pieces."""

    def __init__(self, folder, text, pieces):
        self.path = folder / "feed"
        os.mkfifo(self.path)
        size = -(-len(text) // pieces)
        self._pieces = [text[start : start + size] for start in range(0, len(text), size)]
        self._handle = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)  # also a reader: the command need not be there yet

    def give(self, count):
        """The next pieces, as far as they are taken within a while."""
        for piece in self._pieces[:count]:
            left = memoryview(piece)
            end = time.monotonic() + LONGEST
            while left and time.monotonic() < end:
                try:
                    left = left[os.write(self._handle, left) :]
                except BlockingIOError:
                    time.sleep(0.001)
            assert not left, "the command does not read"
        del self._pieces[:count]

    def end(self):
        """Close it, once the command has taken what was given."""
        wait_for(lambda: not int.from_bytes(fcntl.ioctl(self._handle, termios.FIONREAD, bytes(4)), sys.byteorder))
        os.close(self._handle)
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._handle is not None:
            os.close(self._handle)
        self.path.unlink()


@pytest.fixture
def feed(tmp_path_factory, files):
    """``with feed(pieces) as pipe``: the rows of ``files``."""
    text = (files / "rows.svm").read_bytes()
    return lambda pieces: Feed(tmp_path_factory.mktemp("feed"), text, pieces)


def partial_files(folder):
    return [path for path in folder.iterdir() if path.name.endswith(PARTIAL_SUFFIX)]


def wait_for(condition):
    """Until it holds, for ``LONGEST`` seconds at most."""
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)
