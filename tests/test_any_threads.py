"""Results do not depend on the number of threads, bit for bit, for everything that has ``n_jobs``.

The rows are few but enough that many threads get work: learning takes a thread for each 131,072 codes.
"""

import inspect
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import kernelsketch
from kernelsketch import (
    GCWS,
    NRFF,
    RFF,
    DocumentCollection,
    GCWSClassifier,
    GCWSClassifierCV,
    GCWSIndex,
    GCWSNeighborsTransformer,
    GCWSRegressor,
    GCWSRegressorCV,
    GCWSTabularClassifier,
    GCWSTabularRegressor,
    GMMNystroem,
    NearDuplicates,
    dedup,
    iter_kernel_blocks,
)
from kernelsketch.formats import open_rows
from kernelsketch.text import Shingles

K = 256  # hashes


@cache
def rows():
    """8192 rows of a few clusters, with numbers of both signs, and their classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 8192)
    X = rng.normal(size=(5, 12))[y] + rng.normal(scale=0.7, size=(8192, 12))
    X[rng.random(8192) < 0.01] = 0
    return X.astype(np.float32), y


@cache
def words():
    rng = np.random.default_rng(1)
    return [" ".join(map(str, rng.integers(0, 40, rng.integers(5, 40)))) for _ in range(400)]


@cache
def codes():
    return GCWS(K).fit(rows()[0]).codes(rows()[0])


def few(n):
    return rows()[0][:n], rows()[1][:n]


def in_csr(X):
    return sparse.csr_array(np.where(np.abs(X) > 1, X, 0))


def kernel(name, convert=lambda X: X):
    function = getattr(kernelsketch, name)
    return lambda n_jobs: [function(convert(few(500)[0]), convert(few(700)[0]), n_jobs=n_jobs)]


def transformed(made, X=lambda: rows()[0]):
    return lambda n_jobs: [made.set_params(n_jobs=n_jobs).fit(X()).transform(X())]


def hashed(n_jobs):
    model = GCWS(K, gamma=2.0, n_jobs=n_jobs).fit(few(700)[0])
    return [*model.signatures(few(700)[0]), model.codes(in_csr(few(700)[0])).packed]


def learned(made, targets=lambda: rows()[1]):
    def work(n_jobs):
        model = made.set_params(n_jobs=n_jobs).fit(codes(), targets())
        return [model.code_weights_, model.intercept_, model.dual_gap_, model.n_iter_]

    return work


def chosen(made, targets=lambda: few(2000)[1]):
    def work(n_jobs):
        model = made.set_params(n_jobs=n_jobs).fit(few(2000)[0], targets())
        return [model.code_weights_, model.C_, model.predict(few(300)[0])]

    return work


def streamed(n_jobs):
    X, y = rows()
    model = GCWSClassifier(K, n_jobs=n_jobs)
    for part in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[part], y[part], classes=np.arange(5))
    return [model.code_weights_, model.decision_function(X)]


def tabular(made, y):
    def work(n_jobs):
        model = made.set_params(n_jobs=n_jobs).fit(few(300)[0], y())
        return [model.predict(few(300)[0])]

    return work


def found(n_jobs):
    index = GCWSIndex(n_jobs=n_jobs).fit(rows()[0][:3000])
    return [
        *index.kneighbors(rows()[0][3000:3300]),
        *map(np.concatenate, index.neighbors_above(rows()[0][:200], threshold=0.3)),
    ]


def read(folder, n_jobs):
    path = folder / "rows.svm"
    if not path.exists():
        path.write_text("".join(f"{i % 3} 1:{i} {2 + i % 7}:0.5\n" for i in range(60_000)))
    with open_rows(path, n_jobs=n_jobs) as stream:
        blocks = list(stream)
    return [np.concatenate([block.X.toarray() for block in blocks]), np.concatenate([block.y for block in blocks])]


def is_third():
    return rows()[1] == 3


def numbers():
    return rows()[0][:, 0].astype(float) + rows()[1]


def collected(n_jobs):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.integers(40, size=12)) for _ in range(3000)]
    with tempfile.TemporaryDirectory() as folder:
        known = DocumentCollection.create(f"{folder}/known", threshold=0.3, shingles=Shingles(1), n_jobs=n_jobs)
        known.add(texts[:1500])
        (segment,) = Path(folder, "known").glob("segment-*")
        found = known.match(texts[1500:])
        return [[-1 if one is None else one for one in found.ids], found.similarity, np.fromfile(segment, np.uint8)]


WORK = {
    "gmm_kernel": kernel("gmm_kernel"),
    "gmm_kernel of bytes": kernel("gmm_kernel", lambda X: np.abs(X * 20).astype(np.uint8).astype(np.float32)),
    "gmm_kernel of CSR": kernel("gmm_kernel", in_csr),
    "egmm_kernel": kernel("egmm_kernel"),
    "ngmm_kernel": kernel("ngmm_kernel"),
    "intersection_kernel": kernel("intersection_kernel"),
    "iter_kernel_blocks": lambda n_jobs: [B for _, B in iter_kernel_blocks(few(700)[0], block_size=300, n_jobs=n_jobs)],
    "GMMNystroem": transformed(GMMNystroem(n_components=50, random_state=0), lambda: few(700)[0]),
    "GCWS": transformed(GCWS(K, sparse_output=False, bits=4), lambda: few(2000)[0]),
    "GCWS, samples and CSR": hashed,
    "RFF": transformed(RFF(K)),
    "NRFF": transformed(NRFF(K)),
    "PackedCodes.match_counts": lambda n_jobs: [codes()[:600].match_counts(codes()[:900], n_jobs=n_jobs)],
    "PackedCodes.estimate_kernel": lambda n_jobs: [codes()[:600].estimate_kernel(n_jobs=n_jobs)],
    "GCWSClassifier": learned(GCWSClassifier(K)),
    "GCWSClassifier, 2 classes": learned(GCWSClassifier(K), is_third),
    "GCWSClassifier, hinge": learned(GCWSClassifier(K, loss="hinge", C=10), is_third),
    "GCWSClassifier, log_loss": learned(GCWSClassifier(K, loss="log_loss", tol=0.01), is_third),
    "GCWSClassifier, float64": learned(GCWSClassifier(K, tol=1e-6), is_third),
    "GCWSClassifier.partial_fit": streamed,
    "GCWSClassifierCV": chosen(GCWSClassifierCV(64, Cs=(0.1, 1))),
    "GCWSRegressor": learned(GCWSRegressor(K), numbers),
    "GCWSRegressor, huber": learned(GCWSRegressor(K, loss="huber"), numbers),
    "GCWSRegressorCV": chosen(GCWSRegressorCV(64, Cs=(0.1, 1)), lambda: numbers()[:2000]),
    "GCWSTabularClassifier": tabular(GCWSTabularClassifier("quick"), lambda: few(300)[1] == 3),
    "GCWSTabularRegressor": tabular(GCWSTabularRegressor("quick"), lambda: numbers()[:300]),
    "GCWSIndex": found,
    "GCWSNeighborsTransformer": transformed(GCWSNeighborsTransformer(5), lambda: few(1000)[0]),
    "NearDuplicates": lambda n_jobs: [NearDuplicates(0.6, n_jobs=n_jobs).fit(np.abs(few(1500)[0])).labels_],
    "DocumentCollection": collected,
    "dedup": lambda n_jobs: [*dedup(np.abs(few(1500)[0]), threshold=0.6, n_jobs=n_jobs)],
    "Shingles": lambda n_jobs: [Shingles(n_jobs=n_jobs).fit_transform(words())],
}


def bits(parts):
    parts = [part.tocsr() if sparse.issparse(part) else np.asarray(part) for part in parts]
    flat = [a for part in parts for a in ((part.data, part.indices, part.indptr) if sparse.issparse(part) else (part,))]
    return [(a.shape, a.dtype, a.tobytes()) for a in flat]


@cache
def of_one_thread(name):
    return bits(WORK[name](1))


@pytest.mark.parametrize("threads", [2, 3, 7, 16])
@pytest.mark.parametrize("name", WORK)
def test_results_are_those_of_one_thread(name, threads):
    assert bits(WORK[name](threads)) == of_one_thread(name)


@pytest.mark.parametrize("threads", [2, 3, 7, 16])
def test_files_are_read_as_by_one_thread(tmp_path, threads):
    assert bits(read(tmp_path, threads)) == bits(read(tmp_path, 1))


def test_everything_with_n_jobs_is_here():
    def takes(of):
        return "n_jobs" in inspect.signature(of).parameters

    public = {name: getattr(kernelsketch, name) for name in kernelsketch.__all__}
    methods = inspect.getmembers(kernelsketch.PackedCodes, inspect.isfunction)
    public |= {f"PackedCodes.{name}": of for name, of in methods if not name.startswith("_")}
    expected = {name for name, of in public.items() if callable(of) and takes(of)}
    assert {"gmm_kernel", "GCWS", "PackedCodes.match_counts"} < expected
    assert expected <= {name.split(",")[0].split(" of ")[0] for name in WORK}
