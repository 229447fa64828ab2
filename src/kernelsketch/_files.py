"""Files that are written complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file beside the path that takes its place at the end of the block, so that a reader never meets half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".partial")
    os.close(handle)
    try:
        with open(name, "w+b") as file:  # by its name, so that the file knows its folder
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # as a file that is simply opened
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside the path and rename."""
    with atomic_file(path) as file:
        file.write(content)
