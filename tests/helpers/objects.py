"""Object files that stay from one run of the tests to the next, until what they are made of changes."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def compile_objects(jobs: Sequence[tuple[str, list[str], Path]], headers: Sequence[Path], folder: Path) -> list[Path]:
    """Compile each (name, command, source) unless ``folder`` has its object already; the objects, in that order.

    An object's file name has the checksum of the compiler's version, the command, the source and all headers in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shared = hashlib.sha256()
    for compiler in sorted({command[0] for _, command, _ in jobs}):
        shared.update(subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout)
    for header in sorted(headers):
        shared.update(header.read_bytes())

    def compiled(job: tuple[str, list[str], Path]) -> Path:
        name, command, source = job
        key = shared.copy()
        key.update("\0".join(command).encode() + source.read_bytes())
        target = folder / f"{name}-{key.hexdigest()[:16]}.o"
        if not target.exists():
            for old in folder.glob(f"{name}-{'[0-9a-f]' * 16}.o"):
                old.unlink(missing_ok=True)
            partial = target.with_suffix(f".{os.getpid()}.partial")
            done = subprocess.run(
                [*command, "-c", str(source), "-o", str(partial)], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            partial.replace(target)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compiled, jobs))
