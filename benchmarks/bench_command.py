"""The command line on a generated file of LIBSVM text: 1,000,000 x 100, k = 256, two classes.

``train`` is compared with the same work in Python with all rows in memory; the difference is that of the weights: 0.
``predict`` is compared with hashing and deciding on rows that are already in memory; its time includes the start of
the process and the output of the labels. The memory of a command is the peak of its process, including the libraries.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_blocks import FEATURES, HASHES, ROWS, blocks
from harness import Method, Problem
from sklearn.datasets import load_svmlight_file

from kernelsketch import GCWSClassifier, load_model
from kernelsketch.formats import open_rows, write_rows


@dataclass
class Result:
    """What came out, and the peak of the process where it was another one's."""

    values: Any
    peak_mib: float | None = None
    nbytes: int = 0


def difference(a: Result, b: Result) -> float:
    return float(np.abs(a.values - b.values).max())


def rounded() -> Iterator[tuple[Any, Any]]:
    """With three decimals, as such files have them."""
    for X, y in blocks():
        yield np.round(X.astype(np.float64), 3), y


def run(*command: Any) -> tuple[str, float]:
    """Output and peak in MiB of a command."""
    peak = 0.0
    with (
        tempfile.TemporaryFile() as out,
        subprocess.Popen([sys.executable, "-m", "kernelsketch", *map(str, command)], stdout=out) as child,
    ):
        while child.poll() is None:  # the peak of wait() includes this process before it became that one
            with contextlib.suppress(OSError, TypeError):
                found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{child.pid}/status").read_text())
                peak = max(peak, int(found[1]) / 1024)  # type: ignore[index]
            time.sleep(0.05)
        if child.returncode:
            raise RuntimeError(f"{command}: status {child.returncode}")
        out.seek(0)
        return out.read().decode(), peak


def problems() -> Any:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, model = folder / "rows.svm", folder / "model.safetensors"
        write_rows(rows, rounded())

        def in_python() -> Result:
            X, y = load_svmlight_file(str(rows))
            return Result(GCWSClassifier(HASHES, n_jobs=2).fit(X, y).fitted_.weights)

        def train(memory: str) -> Result:
            text, peak = run("train", rows, "-m", model, "-k", HASHES, "--memory", memory, "--json")
            assert json.loads(text)["rows"] == ROWS
            return Result(load_model(model).fitted_.weights, peak)

        size = f"{ROWS} x {FEATURES}, k={HASHES}, {rows.stat().st_size / 1e6:.0f} MB"
        methods = [
            Method("load_svmlight_file, fit", in_python, threads=2, rounds=1),
            *(
                Method(f"kernelsketch train --memory {memory}", lambda memory=memory: train(memory), 2, rounds=1)
                for memory in ("2GB", "500MB")
            ),
        ]
        yield Problem(f"train: {size}", methods, float(ROWS) * HASHES, difference)

        fitted = load_model(model)
        with open_rows(rows, n_features=FEATURES, n_jobs=2) as stream:
            X = [part.X for part in stream]

        def in_memory() -> Result:
            fitted.n_jobs = fitted.hasher_.n_jobs = 2
            return Result(np.concatenate([fitted.predict(part) for part in X]))

        array = folder / "rows.npy"
        np.save(array, np.concatenate([part.toarray() for part in X]))

        def predict(path: Path) -> Result:
            text, peak = run("predict", path, "-m", model, "--memory", "500MB")
            return Result(np.array(text.split(), float), peak)

        methods = [
            Method("hash and decide, rows in memory", in_memory, threads=2, rounds=2),
            Method("kernelsketch predict, LIBSVM text", lambda: predict(rows), threads=2, rounds=2),
            Method("kernelsketch predict, NPY", lambda: predict(array), threads=2, rounds=2),
        ]
        yield Problem(f"predict: {size}", methods, float(ROWS) * HASHES, difference)
