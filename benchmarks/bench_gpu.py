"""The CUDA back end on an NVIDIA GPU, compared with PyTorch on the GPU and with all cores of the processor.

It is run by itself on a machine with a GPU: ``python benchmarks/bench_gpu.py``, or with the names of some areas, whose
results then replace the earlier ones. ``KERNELSKETCH_DATA`` names a folder with MNIST.npz and CovertypeFull_binary.npz,
without which the rows of these datasets are left out. Results go to ``results/gpu.csv``, each with its commit, and the
machine to ``results/gpu.json``. Times are the best of several runs, in seconds; those of
kernels are measured by CUDA events, those of models by a clock after synchronization. Rates count pairs of rows times
features, or nonzero values times hashes. cuML and ThunderSVM are no peers here, because the machine of the measurements
cannot install them.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import cupy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from machine import RESULTS, machine
from measure_table_parts import SIZES, table

import kernelsketch as ks
from kernelsketch.backends import (
    ByteRows,
    CsrRows,
    DenseRows,
    FourierParams,
    GcwsParams,
    Ratio,
    available,
    backend_for,
    use_backend,
)
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.cuda import _linear
from kernelsketch.backends.cuda._device import current_gpu
from kernelsketch.linear._code_table import table_of
from kernelsketch.serving import stride_of

CORES = len(os.sched_getaffinity(0))
DATA = Path(os.environ.get("KERNELSKETCH_DATA", "."))
COMMIT = os.environ.get("KERNELSKETCH_COMMIT") or machine()["commit"]  # a copy of the sources may have no history
rows: list[dict[str, Any]] = []


def on_gpu(work: Callable[[], Any], rounds: int = 5) -> float:
    """Return the seconds of the fastest of several runs, by CUDA events."""
    work()
    best = np.inf
    for _ in range(rounds):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(start, end) / 1e3)
    return float(best)


def by_clock(work: Callable[[], Any], rounds: int = 2) -> float:
    best = np.inf
    for _ in range(rounds):
        cp.cuda.Device().synchronize()
        start = perf_counter()
        work()
        cp.cuda.Device().synchronize()
        best = min(best, perf_counter() - start)
    return float(best)


def note(problem: str, method: str, seconds: float, work: float = 0.0, remark: str = "") -> None:
    rate = round(work / seconds / 1e12, 4) if work else ""
    rows.append(
        {
            "problem": problem,
            "method": method,
            "seconds": round(seconds, 6),
            "rate_tera": rate,
            "remark": remark,
            "commit": COMMIT,
        }
    )
    print(*rows[-1].values(), sep=" | ", flush=True)


def gmm_matrix(d: int, n: int) -> None:
    cpu, work = CpuBackend(available()[0], CORES), float(n) * n * d
    problem = f"GMM matrix, float32, {n} x {n}, d={d}"
    a, b = (cp.random.random((n, d), dtype=np.float32) for _ in range(2))
    out, cuda = cp.empty((n, n), np.float32), backend_for(a)
    note(problem, "cuda", on_gpu(lambda: cuda.gmm(a, b, Ratio.MIN_MAX, out=out)), work)
    seconds = on_gpu(lambda: cuda.gmm(a, a, Ratio.MIN_MAX, symmetric=True, out=out))
    note(problem + ", symmetric", "cuda", seconds, work, "one half is computed, all elements are counted")
    double = a[:8192].astype(np.float64)
    seconds = on_gpu(lambda: cuda.gmm(double, double + 0, Ratio.MIN_MAX))
    note(f"GMM matrix, float64, 8192 x 8192, d={d}", "cuda", seconds, 8192.0**2 * d)
    few, share = a[:4096].get(), (4096 / n) ** 2
    seconds = by_clock(lambda: cpu.gmm(few, few + 0, Ratio.MIN_MAX)) / share
    note(problem, f"processor, {CORES} threads", seconds, work, "4096 x 4096, scaled up")
    seconds = on_gpu(lambda: torch_distances(a[:5120], b), 2) / (5120 / n)
    note(problem, "torch.cdist(p=1), the L1 distances alone", seconds, work, "5120 rows, scaled up")
    small = (a * 255).astype(np.uint8)
    norms = small.sum(axis=1).astype(np.float32)
    rows = ByteRows(small, norms)
    seconds = on_gpu(lambda: cuda.gmm(rows, rows._replace(values=small + 0), Ratio.MIN_MAX, out=out))
    note(f"GMM matrix, bytes, {n} x {n}, d={d}", "cuda", seconds, work)


def torch_distances(a: Any, b: Any) -> Any:
    import torch

    return torch.cdist(torch.from_dlpack(a), torch.from_dlpack(b), p=1)


def gcws_codes(name: str, host: Any) -> None:
    params, cpu = GcwsParams(1024, 1, 1.0, None), CpuBackend(available()[0], CORES)
    problem, work = f"GCWS codes, {name}, k=1024", float(np.count_nonzero(host.arrays[-1])) * 1024
    arrays = [cp.asarray(x) for x in host.arrays]
    placed = CsrRows(*arrays, host.n_features) if host.sparse else DenseRows(*arrays)
    cuda = backend_for(arrays[-1])
    note(problem, "cuda", on_gpu(lambda: cuda.gcws_codes(placed, params, 8, 0)), work)
    with use_backend("cuda"):
        streamed = backend_for(host.arrays[-1], threads=CORES)
        note(problem, "cuda, NumPy in and out", by_clock(lambda: streamed.gcws_codes(host, params, 8, 0)), work)
    note(problem, f"processor, {CORES} threads", by_clock(lambda: cpu.gcws_codes(host, params, 8, 0)), work)


def hashing() -> None:
    rng, cpu = np.random.default_rng(0), CpuBackend(available()[0], CORES)
    mnist = (rng.integers(1, 256, (60_000, 784)) * (rng.random((60_000, 784)) < 0.19)).astype(np.float32)
    n, d, count = 100_000, 100_000, 100
    indices = (rng.integers(0, d // count, (n, count)) + d // count * np.arange(count)).astype(np.int32)
    data = rng.random(n * count, dtype=np.float32) + np.float32(0.01)
    gcws_codes("MNIST-like", DenseRows(mnist))
    gcws_codes("Letter-like", DenseRows(rng.integers(1, 16, (500_000, 16)).astype(np.float32)))
    gcws_codes("text-like", CsrRows(np.arange(n + 1, dtype=np.int64) * count, indices.ravel(), data, d))
    x, params, work = cp.asarray(mnist), FourierParams(1024, 1.0, 1, True), 60_000.0 * 784 * 1024
    seconds = on_gpu(lambda: backend_for(x).fourier(DenseRows(x), params, 1 << 28), 3)
    note("NRFF, MNIST-like, k=1024", "cuda", seconds, work)
    seconds = by_clock(lambda: cpu.fourier(DenseRows(mnist), params, 1 << 28), 1)
    note("NRFF, MNIST-like, k=1024", f"processor, {CORES} threads", seconds, work)


def learning(name: str, k: int, most: int, scaled: bool) -> None:
    path = DATA / f"{name}.npz"
    if not path.exists():
        print(f"{path} is not there: {name} is left out")
        return
    stored = np.load(path)
    X, y = stored["X"].astype(np.float32), np.unique(stored["y"], return_inverse=True)[1]
    kept = ~stored["is_test"].astype(bool) if "is_test" in stored.files else np.ones(len(y), bool)
    X, y = X[kept][:most], y[kept][:most]
    if scaled:
        X = ((X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)).astype(np.float32)
    placed, title = cp.asarray(X), f"{name}, {len(X)} rows, k={k}"
    model, cuda, gpu = ks.GCWSClassifier(k, n_jobs=-1), backend_for(placed), current_gpu()
    params, work = GcwsParams(k, 0, 1.0, None), float(np.count_nonzero(X)) * k
    seconds = on_gpu(lambda: cuda.gcws_codes(DenseRows(placed), params, 8, 0))
    note(f"GCWS codes, {title}", "cuda", seconds, work)
    table = table_of(ks.GCWS(k).fit(placed).codes(placed))
    problems, stride = (1 if y.max() == 1 else int(y.max()) + 1), stride_of(len(table.used_codes))
    w = cp.random.standard_normal((problems, k, stride), dtype=np.float32)
    bias, beta = np.zeros(problems), cp.random.standard_normal((problems, len(X)), dtype=np.float32)
    seconds = on_gpu(lambda: cuda.linear_decide(table.codes, table.empty, 1.0, w, bias))
    note(f"decision values, {title}", "cuda", seconds)
    codes = _linear.sorted_codes(gpu, _linear.shared_rows(gpu, table.codes, table.empty, problems), stride)
    note(f"sums of a gradient, {title}", "cuda", on_gpu(lambda: codes.sums(gpu, beta)))
    for C in (1.0, 10.0, 100.0):
        model.set_params(C=C)
        fit(f"fit, hashing included, {title}, C={C:g}", model, placed, y, "cuda", 3)
        if C < 100:
            fit(f"fit, hashing included, {title}, C={C:g}", model, X, y, f"processor, {CORES} threads", 1)
    for what, params in (("t_bits=4", {"t_bits": 4}), ("hinge loss", {"loss": "hinge"})) if name == "MNIST" else ():
        other = ks.GCWSClassifier(k, n_jobs=-1, **params)
        fit(f"fit, hashing included, {title}, C=1, {what}", other, placed, y, "cuda", 2)
        fit(f"fit, hashing included, {title}, C=1, {what}", other, X, y, f"processor, {CORES} threads", 1)
    fit(f"fit of codes, {title}, C=1", model.set_params(C=1.0), ks.GCWS(k).fit(placed).codes(placed), y, "cuda", 3)
    model.fit(placed, y)
    note(f"predict, hashing included, {title}", "cuda", by_clock(lambda: model.predict(placed)))


def fit(problem: str, model: Any, X: Any, y: Any, method: str, rounds: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap is in the remark
        seconds = by_clock(lambda: model.fit(X, y), rounds)
    gap = float((model.dual_gap_ / model.objective_).max())
    note(problem, method, seconds, 0.0, f"gap {gap:.1e}, {model.n_iter_} passes")


def higgs_like(n: int = 10_000_000, d: int = 28, k: int = 512) -> None:
    """Rows of a memory-mapped file, hashed and learned on the GPU, with the memory that it takes there."""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / "kernelsketch_higgs_like.npy"
    rng = np.random.default_rng(0)
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    weights, y = rng.normal(size=(d, 8)).astype(np.float32), np.empty(n, np.int8)
    for start in range(0, n, 1 << 20):
        part = rng.standard_normal((min(1 << 20, n - start), d), dtype=np.float32)
        stored[start : start + len(part)] = part
        hidden = np.tanh(part @ weights).sum(axis=1) + rng.normal(size=len(part))
        y[start : start + len(part)] = hidden > 0
    stored.flush()
    X = np.load(path, mmap_mode="r")
    cp.get_default_memory_pool().free_all_blocks()
    free = cp.cuda.runtime.memGetInfo()[0]
    start = perf_counter()
    with use_backend("cuda"):
        model = ks.GCWSClassifier(k, n_jobs=-1).fit(X, y)
    seconds = perf_counter() - start
    taken = (free - cp.cuda.runtime.memGetInfo()[0]) / 2**30
    gap = float((model.dual_gap_ / model.objective_).max())
    remark = f"gap {gap:.1e}, {model.n_iter_} passes, {taken:.1f} GiB of the GPU"
    note(f"fit, hashing included, HIGGS-like, memory-mapped, {n} x {d}, k={k}, C=1", "cuda", seconds, 0.0, remark)
    path.unlink()


def index(n: int = 1_000_000, d: int = 64, asked: int = 10_000, k: int = 10) -> None:
    """Neighbours of 10,000 queries among a million rows in clusters, dense and positive."""
    rng = np.random.default_rng(0)
    middles = rng.gamma(1.0, size=(n // 100, d)).astype(np.float32)
    rows_, queries = (
        middles[rng.integers(len(middles), size=count)] * rng.gamma(2.0, 0.5, (count, d)).astype(np.float32)
        for count in (n, asked)
    )
    placed, title = cp.asarray(queries), f"{k} neighbours of {asked} queries, {n} x {d}"
    index = ks.GCWSIndex(k, n_tables=0, n_components=128, n_jobs=-1)
    note(f"fit of an index, {n} x {d}, 128 codes", "cuda, CuPy in", by_clock(lambda: index.fit(cp.asarray(rows_))))
    note(f"fit of an index, {n} x {d}, 128 codes", f"processor, {CORES} threads", by_clock(lambda: index.fit(rows_)))
    index.set_params(n_rerank=n)
    work = float(n) * asked * d
    exact = index.kneighbors(placed)[1].get()
    seconds = by_clock(lambda: index.kneighbors(placed))
    note(f"{title}, exact", "cuda", seconds, work)
    few = queries[:100]
    scaled_up = by_clock(lambda: index.kneighbors(few), 1) * asked / len(few)
    note(f"{title}, exact", f"processor, {CORES} threads", scaled_up, work, "100 queries, scaled up")
    base, some = cp.asarray(rows_), placed[:256]
    scaled_up = on_gpu(lambda: torch_nearest(some, base, k), 2) * asked / len(some)
    note(f"{title}, exact", "torch.cdist(p=1) and topk", scaled_up, work, "256 queries, scaled up; L1 distances")

    def recall(found: Any) -> str:
        return f"recall {np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, exact, strict=True)]):.3f}"

    index.set_params(n_rerank=100)
    seconds = by_clock(lambda: index.kneighbors(placed))
    note(f"{title}, by 128 codes", "cuda", seconds, 0.0, recall(index.kneighbors(placed)[1].get()))
    with use_backend("cuda"):
        note(f"{title}, by 128 codes", "cuda, NumPy in and out", by_clock(lambda: index.kneighbors(queries)))
    scaled_up = by_clock(lambda: index.kneighbors(queries[:2000]), 1) * asked / 2000
    note(f"{title}, by 128 codes", f"processor, {CORES} threads", scaled_up, 0.0, "2000 queries, scaled up")
    tables = ks.GCWSIndex(k, n_jobs=-1).fit(rows_)
    seconds = by_clock(lambda: tables.kneighbors(queries))
    note(
        f"{title}, by 32 LSH tables", f"processor, {CORES} threads", seconds, 0.0, recall(tables.kneighbors(queries)[1])
    )
    tables.kneighbors(placed)
    note(f"{title}, by 32 LSH tables", "cuda", by_clock(lambda: tables.kneighbors(placed)))


def torch_nearest(a: Any, b: Any, k: int) -> Any:
    import torch

    return torch.topk(torch.cdist(torch.from_dlpack(a), torch.from_dlpack(b), p=1), k, largest=False)


def save() -> None:
    RESULTS.mkdir(exist_ok=True)
    path, new = RESULTS / "gpu.csv", {(row["problem"], row["method"]) for row in rows}
    before = list(csv.DictReader(path.open(newline=""))) if path.exists() else []
    kept = [row for row in before if (row["problem"], row["method"]) not in new]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows([*kept, *rows])
    gpu = cp.cuda.runtime.getDeviceProperties(0)
    about = {
        **machine(),
        "commit": COMMIT,
        "gpu": gpu["name"].decode(),
        "gpu_memory_gib": round(gpu["totalGlobalMem"] / 2**30, 1),
        "driver_cuda": cp.cuda.runtime.driverGetVersion(),
        "cupy": cp.__version__,
    }
    (RESULTS / "gpu.json").write_text(json.dumps(about, indent=2) + "\n")


def tables() -> None:
    """Fits of models of tables of NumPy values: on the processor, and with hashing and linear models on the GPU."""
    for effort in ("default", "quick"):
        for n in SIZES:
            X, y = table(n)
            model, title = ks.GCWSTabularClassifier(effort, n_jobs=-1), f"fit of a table, effort={effort}, {n} rows"
            seconds = by_clock(lambda: model.fit(X, y > 0), 1)  # noqa: B023
            note(title, f"processor, {CORES} threads", seconds, 0.0, f"held out {model.held_out_score_:.4f}")
            with use_backend("cuda"):
                seconds = by_clock(lambda: model.fit(X, y > 0), 2)  # noqa: B023
            note(title, "cuda, NumPy in and out", seconds, 0.0, f"held out {model.held_out_score_:.4f}")


AREAS: dict[str, Callable[[], None]] = {
    "matrices": lambda: gmm_matrix(784, 20480),
    "short rows": lambda: gmm_matrix(64, 32768),
    "hashing": hashing,
    "MNIST": lambda: learning("MNIST", 1024, 60_000, False),
    "Covertype": lambda: learning("CovertypeFull_binary", 512, 500_000, True),
    "index": index,
    "HIGGS-like": higgs_like,
    "tables": tables,
}

if __name__ == "__main__":
    for area in sys.argv[1:] or AREAS:
        AREAS[area]()
        save()
