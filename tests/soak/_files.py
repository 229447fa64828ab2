"""Random files against every parser, and writers that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from kernelsketch import GCWSIndex, PackedCodes, load_model
from kernelsketch.exceptions import KernelsketchError
from kernelsketch.formats import DocumentStream, Fields, open_rows, write_rows

LONGEST_PAUSE = 2.5  # seconds from the start of a command until it is killed
ENDINGS = ("svm", "csv", "tsv", "parquet", "arrow", "npy", "npz", "csv.gz", "svm.xz")
BITS = [b"", b",", b"\n", b"\r", b'"', b":", b" ", b"\0", b"\xff", b"1", b"e9", b"-", b"nan", b"#", b"\xc3\xa9", b"\t"]


def written(rng: random.Random, folder: Path, ending: str) -> Path:
    path = folder / f"rows.{ending}"
    X = np.round(np.random.default_rng(rng.getrandbits(64)).normal(size=(rng.randint(1, 20), 3)), 3)
    y = np.arange(len(X)) % 2
    texts = np.array(["no", "yés"])[y]  # whose offsets and bytes are in the file
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=rng.choice([y, texts, pd.Categorical(texts)]))
    if ending.startswith(("csv", "tsv")):
        frame.to_csv(path, index=False, sep="\t" if ending.startswith("tsv") else ",")
    elif ending == "parquet":
        frame.to_parquet(path, index=False)
    elif ending == "arrow":
        frame.to_feather(path)
    elif ending == "npy":
        np.save(path, X)
    elif ending == "npz":
        np.savez(path, X=X, y=y)
    else:
        write_rows(path, [(sparse.csr_array(X), y)])
    return path


def soak_parsers(rng: random.Random, folder: Path) -> int:
    """Files that are changed in a few places: they are read, or refused by an error of ours or of the system."""
    ending = rng.choice(ENDINGS)
    content = bytearray(written(rng, folder, ending).read_bytes())
    tries = 40
    for _ in range(tries):
        changed = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(changed) + 1)
            kind = rng.random()
            if kind < 0.4:
                changed[at : at + rng.choice([0, 1, 1, 4])] = rng.choice(BITS) * rng.choice([1, 1, 3])
            elif kind < 0.7 and at < len(changed):
                changed[at] = rng.randrange(256)
            elif kind < 0.85:
                del changed[at:]
            else:
                changed[at:at] = changed[: rng.randrange(len(changed) + 1)]
        path = folder / f"changed.{ending}"
        path.write_bytes(changed)
        options: dict[str, object] = {"as_table": rng.random() < 0.4, "block_bytes": rng.choice([1, 100, 1 << 20])}
        if "npy" not in ending and "svm" not in ending:
            options["label"] = rng.choice([None, "y", -1]) if "npz" not in ending else rng.choice([None, "y"])
        try:
            with open_rows(path, **options) as stream:
                for block in stream:
                    assert block.y is None or len(block.y) == block.X.shape[0]
        except (KernelsketchError, OSError, EOFError):
            pass
        if "svm" not in ending and ending not in ("npy", "npz"):
            try:
                with DocumentStream(path, Fields(rng.choice("ay"))) as documents:
                    for _block in documents:
                        pass
            except (KernelsketchError, OSError, EOFError):
                pass
    return tries


def read_lines(path: Path, count: int) -> None:
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == count


def read_rows(path: Path, count: int) -> None:
    with open_rows(path) as stream:
        assert sum(block.X.shape[0] for block in stream) == count


def soak_kills(rng: random.Random, folder: Path) -> int:
    """A command that is killed leaves the old file or a whole new one, and the next run cleans up."""
    rows = folder / "kill.svm"
    if not rows.exists():
        X = np.random.default_rng(0).random((20_000, 8))
        write_rows(rows, [(sparse.csr_array(X), (X[:, 0] > 0.5).astype(int))])
        lines = [" ".join(f"w{rng.randrange(5000)}" for _ in range(60)) for _ in range(3000)]
        (folder / "kill.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in lines + lines[::3]))
    texts, target = folder / "kill.jsonl", folder / f"killed-{rng.choice('ab')}.safetensors"
    kept, converted = folder / "killed.jsonl", folder / "killed.svm.gz"
    command, target, read = rng.choice(
        [
            (["train", rows, "-k", "32", "-m", target], target, load_model),
            (["hash", rows, target, "-k", "64"], target, PackedCodes.load),
            (["index", "build", rows, "-i", target], target, GCWSIndex.load),
            (["dedup", texts, "-o", kept, "--threads", "1"], kept, lambda path: read_lines(path, 3000)),
            (["convert", rows, converted], converted, lambda path: read_rows(path, 20_000)),
        ]
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelsketch", *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(rng.uniform(0, LONGEST_PAUSE))
    process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]) if os.name == "posix" else 15)
    process.wait(60)
    if target.exists():
        try:
            read(target)
        except KernelsketchError as error:  # the file of another command, which was there before
            if "does not hold" not in str(error) and "holds a" not in str(error):
                raise
    return 1
