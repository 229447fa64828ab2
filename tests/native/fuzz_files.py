"""Broken files of models, codes and indexes against their readers, for ``make fuzz``.

``python fuzz_files.py SECONDS FILES SEED OUT [_native.so]`` tries FILES files whose headers hypothesis makes, then for
SECONDS golden models, golden indexes and files of codes that are changed at random. Most changes are made to the header
or to a tensor, and the checksums are made right again: a plain change never gets past them. Only errors of ours and of
the system may come out, memory stays bounded, no file takes long, and what loads must answer. The first file of each
new message is kept in OUT, and changed further.

With a module it runs that one in place of the installed one: ``fuzz.py`` builds it with the address and
undefined-behaviour sanitizers, so what a file makes the native code do is seen too.
"""

from __future__ import annotations

import faulthandler
import hashlib
import importlib.util
import json
import random
import re
import struct
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

if __name__ == "__main__" and len(sys.argv) > 5:
    spec = importlib.util.spec_from_file_location("kernelsketch._native", sys.argv[5])
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from kernelsketch import GCWS, GCWSIndex, PackedCodes, load_model
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.formats import open_rows
from kernelsketch.serving import Predictor

HERE = Path(__file__).parent
MOST_SECONDS = 30  # of a file
MOST_BYTES = 1 << 26  # of memory, for files of some kilobytes
MOST_WIDE = 1 << 20  # features or codes of what is decided on
ZEROS = b"0" * 64
VALUES: list[Any] = [
    0,
    1,
    -1,
    2,
    8,
    16,
    17,
    2**31,
    2**40,
    2**62,
    2**64,
    -(2**63),
    0.5,
    1e308,
    5e-324,
    None,
    True,
    False,
]
VALUES += ["", "x", "numbers", "object", "str", "bool", "GCWSRegressor", "GCWSClassifierCV", [], [1], {}, {"vector": 1}]
VALUES += [{"pairs": [[1, 2]]}, "é", "\0", "F8", "U8", "F16", "kernelsketch.PackedCodes", [0, 0], [2**48, 2**48]]


WORDS = ["format", "format_version", "hash", "version", "n_components", "estimator", "parameters", "labels", "training"]
WORDS += [
    "n_iter",
    "bits",
    "t_bits",
    "p",
    "gamma",
    "seed",
    "n_features",
    "hash_version",
    "dtype",
    "shape",
    "data_offsets",
]
JSON = st.recursive(
    st.one_of(st.sampled_from(VALUES), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=20,
)
HEADERS = st.dictionaries(st.sampled_from([*WORDS, "sha256"]), JSON, max_size=8)
TENSORS = st.dictionaries(st.sampled_from(["weights", "packed", "empty", "used_codes", "x"]), JSON, max_size=4)
FORMATS = st.sampled_from(
    [{}, {"format": "kernelsketch.model"}, {"format": "kernelsketch.PackedCodes"}, {"format": "kernelsketch.GCWSIndex"}]
)


def check_headers(count: int, out: Path) -> str:
    """Files with headers of hypothesis; a report."""

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(FORMATS, HEADERS, TENSORS, st.binary(max_size=40))
    def check(kind: dict[str, str], header: dict[str, Any], tensors: dict[str, Any], data: bytes) -> None:
        text = json.dumps({"sha256": ZEROS.decode(), "header_sha256": ZEROS.decode(), **header, **kind})
        path = out / "crash"
        path.write_bytes(_joined({"__metadata__": {"kernelsketch": text}, **tensors}, data))
        attempt(path)

    check()
    return f"{count} headers of hypothesis"


def seeds() -> list[bytes]:
    """Files that can be read."""
    found = [path.read_bytes() for path in sorted((HERE.parent / "golden").glob("*.safetensors"))]
    X = np.random.default_rng(0).normal(size=(5, 3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.safetensors"
        for bits, center, y in [
            (8, None, None),
            (5, "mean", np.arange(5)),
            (16, None, np.array(["a", "b", "a", "c", "é"])),
        ]:
            GCWS(7, bits=bits, center=center).fit(X).codes(X).save(path, y)
            found.append(path.read_bytes())
    return found


def kept() -> list[bytes]:
    """What fuzzing has found worth keeping."""
    return [path.read_bytes() for path in sorted((HERE / "corpus" / "tensors").iterdir())]


def changed(rng: random.Random, content: bytes) -> bytes:
    """A file with a few changes: in its bytes, or with a right checksum in its header or its tensors."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        try:
            content = rng.choice([_bytes, _header, _header, _header, _tensor, _tensor])(rng, content)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            content = _bytes(rng, content)  # a header that was broken before
    return content


def _bytes(rng: random.Random, content: bytes) -> bytes:
    at, new = rng.randrange(len(content) + 1), bytearray(content)
    new[at : at + rng.choice([0, 1, 1, 8, 100])] = rng.choice([b"", rng.randbytes(1), rng.randbytes(8), b"[" * 3000])
    return bytes(new[: rng.choice([len(new)] * 4 + [at])])


def _header(rng: random.Random, content: bytes) -> bytes:
    """A value of the header, or of an entry of a tensor, is another one, missing or new."""
    entries, data = _taken_apart(content)
    header = json.loads(entries["__metadata__"]["kernelsketch"])
    place: Any = rng.choice([header, header, entries])
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = rng.choice(keys)
        if not isinstance(place[key], (dict, list)) or not place[key] or rng.random() < 0.2:
            break
        place = place[key]
    if key in ("__metadata__", "sha256", "header_sha256"):
        key = "format"
    action = rng.random()
    if action < 0.15:
        del place[key]
    elif action < 0.3 and isinstance(place, dict):
        place[rng.choice(["x", "center", "duals", "names", "gamma", "labels", "loss"])] = rng.choice(VALUES)
    elif action < 0.5 and isinstance(place[key], int):
        place[key] += rng.choice([-1, 1, 8, -8])
    else:
        place[key] = rng.choice(VALUES)
    entries["__metadata__"]["kernelsketch"] = json.dumps(header)
    return _joined(entries, data)


def _tensor(rng: random.Random, content: bytes) -> bytes:
    """Numbers that a writer would not write, or rows more or less than the header says."""
    entries, data = _taken_apart(content)
    value = rng.choice([float("nan"), float("inf"), -1.0, 1e30])
    new = rng.choice([struct.pack("<d", value), struct.pack("<f", value), b"\xff" * 8, bytes(8), rng.randbytes(4)])
    if rng.random() < 0.8 and data:
        at = rng.randrange(len(data)) // len(new) * len(new)
        data = (data[:at] + new + data[at + len(new) :])[: len(data)]
    else:
        data = data[: rng.randrange(len(data) + 1)] + bytes(rng.choice([0, 1, 64]))
    return _joined(entries, data)


def _taken_apart(content: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def _joined(entries: dict[str, Any], data: bytes) -> bytes:
    """A file whose two checksums are right: that of the header is filled in first, then that of the whole file."""
    text = json.dumps(entries, separators=(",", ":")).encode()
    for found in re.findall(rb"sha256\\\\?\": \\\\?\"([0-9a-f]{64})", text):
        text = text.replace(found, ZEROS, 1)
    text += b" " * (-len(text) % 8)
    length = len(text).to_bytes(8, "little")
    before, zeros, after = text.partition(ZEROS)
    text = before + zeros + after.replace(ZEROS, hashlib.sha256(length + text).hexdigest().encode(), 1)
    content = length + text + data
    return content.replace(ZEROS, hashlib.sha256(content).hexdigest().encode(), 1)


def attempt(path: Path) -> list[str]:
    """What the readers say of a file; that it was read, where it was. Anything else than our errors is raised."""
    return [_said(read, path) for read in (_model, _predictor, _codes, _mapped, _rows, _index, _mapped_index)]


def _said(read: Any, path: Path) -> str:
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
    tracemalloc.start()
    try:
        with warnings.catch_warnings(action="ignore"):  # features without names
            said = read(path)
    except (InputError, InputTypeError, OSError) as error:
        said = str(error).replace(str(path), "")
    finally:
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        faulthandler.cancel_dump_traceback_later()
    if used > MOST_BYTES:
        raise AssertionError(f"{read.__name__} took {used} bytes for a file of {path.stat().st_size}: {said}")
    return f"{read.__name__}: {said}"


def _model(path: Path) -> str:
    model = load_model(path)
    if model.n_features_in_ > MOST_WIDE or model.hasher_.n_components > MOST_WIDE:
        return "a wide model"
    X = np.zeros((2, model.n_features_in_))
    X[0, :2] = 1
    given = X if model.hasher_.center_ is not None else sparse.csr_array(X)
    try:
        assert len(model.predict(given)) == 2
    except ValueError as error:  # of scikit-learn: no features
        return f"a model that says {error}"
    return "a model"


def _predictor(path: Path) -> str:
    predictor = Predictor.load(path)
    if predictor.n_features_in_ > MOST_WIDE:
        return "a wide predictor"
    predictor.predict(np.ones((2, predictor.n_features_in_)))
    return "a predictor"


def _codes(path: Path, mmap: bool = False) -> str:
    codes = PackedCodes.load(path, mmap=mmap)
    if codes.n_components > MOST_WIDE or len(codes) > 100 or codes.width > 16:
        return "wide codes"
    codes.unpack()
    codes.match_counts()
    codes.to_csr()
    return "codes"


def _mapped(path: Path) -> str:
    return _codes(path, mmap=True)


def _index(path: Path, mmap: bool = False) -> str:
    index = GCWSIndex.load(path, mmap=mmap)
    if index.n_features_in_ > MOST_WIDE:
        return "a wide index"
    X = np.ones((2, index.n_features_in_))
    try:
        index.kneighbors(X if index.hasher_.center_ is not None else sparse.csr_array(X), 1)
        index.query_pairs(0.5)
    except ValueError as error:  # of scikit-learn too: no features
        return f"an index that says {error}"
    return "an index"


def _mapped_index(path: Path) -> str:
    return _index(path, mmap=True)


def _rows(path: Path) -> str:
    with open_rows(path, format="codes") as stream:
        return f"rows{[rows.y is not None for rows in stream]}"


def fuzz(seconds: float, seed: int, out: Path, most: int | None = None) -> str:
    """Change files for some time; a report. A file that does what it should not stays in ``out/crash``."""
    rng, whole, count = random.Random(seed), seeds() + kept(), 0
    pool, messages = list(whole), set[str]()
    path, end = out / "crash", time.monotonic() + seconds
    while time.monotonic() < end and count != most:
        content = whole[count] if count < len(whole) else changed(rng, rng.choice(pool))
        path.write_bytes(content)
        said = {re.sub(r"[0-9]+|'[^']*'", "0", text)[:60] for text in attempt(path)}
        count += 1
        if not said <= messages and len(content) < 20_000:
            messages |= said
            pool.append(content)
            (out / hashlib.sha256(content).hexdigest()[:12]).write_bytes(content)
    path.unlink(missing_ok=True)
    return f"{count} files of models, codes and indexes, {len(messages)} different answers"


if __name__ == "__main__":
    print(check_headers(int(sys.argv[2]), Path(sys.argv[4])))
    print(fuzz(float(sys.argv[1]), int(sys.argv[3]), Path(sys.argv[4])))
