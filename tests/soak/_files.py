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

from kernelsketch.exceptions import KernelsketchError
from kernelsketch.formats import DocumentStream, Fields, open_rows, write_rows

LONGEST_PAUSE, LONGEST = 2.5, 300  # seconds until a command is killed, and that it may then take to end
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


KILLED = {  # commands that are killed, the file that they write last
    "train": (["train", "rows.svm", "-k", "32", "-m"], "out.safetensors"),
    "hash": (["hash", "rows.svm", "-k", "64"], "out.safetensors"),
    "hash to text": (["hash", "rows.svm", "-k", "16"], "out.svm.gz"),
    "convert": (["convert", "rows.svm"], "out.parquet"),
    "index": (["index", "build", "rows.svm", "-i"], "out.safetensors"),
    "dedup": (["dedup", "texts.jsonl", "-o"], "out.jsonl"),
}


def soak_kills(rng: random.Random, folder: Path) -> int:
    """A command that is killed leaves the old output or the whole new one, and the next run cleans up."""
    name = rng.choice(sorted(KILLED))
    arguments, output = KILLED[name]
    home, expected = folder / f"kills of {name}", folder / f"{name}.expected"
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "kernelsketch", *arguments, output]
    if not expected.exists():
        X = np.random.default_rng(0).random((20_000, 8))
        write_rows(home / "rows.svm", [(sparse.csr_array(X), (X[:, 0] > 0.5).astype(int))])
        words = np.random.default_rng(1).integers(0, 5000, (3000, 60))
        texts = [" ".join(map(str, row)) for row in np.concatenate([words, words[::3]]).tolist()]
        (home / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        subprocess.run(command, cwd=home, check=True, capture_output=True)
        expected.write_bytes((home / output).read_bytes())
    content, old = expected.read_bytes(), rng.choice([None, b"what was there before"])
    (home / output).unlink(missing_ok=True)
    if old is not None:
        (home / output).write_bytes(old)
    process = subprocess.Popen(command, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0, LONGEST_PAUSE))
    process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]) if os.name == "posix" else 15)
    status = process.wait(LONGEST)
    found = (home / output).read_bytes() if (home / output).exists() else None
    if found not in ((content,) if status == 0 else (old, content)):
        raise AssertionError(f"{name} ended with status {status} and left {len(found or b'')} bytes")
    if rng.random() < 0.3:
        subprocess.run(command, cwd=home, check=True, capture_output=True)
        left = sorted(path.name for path in home.iterdir())
        if (home / output).read_bytes() != content or left != sorted([output, "rows.svm", "texts.jsonl"]):
            raise AssertionError(f"{name} after a kill: {left}")
    return 1
