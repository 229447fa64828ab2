"""The scalar functions of native/core equal the reference bit for bit: as C99, as C++20 and as nvcc's host code."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kernelsketch._core import INCLUDE
from kernelsketch._mix import mix64
from kernelsketch.backends import CsrRows, GcwsParams, available
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.reference import arithmetic, fourier, gcws, gmm, index, pack, rng

HERE = Path(__file__).parent
SOURCE = HERE / "scalar.c"
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror"]
OF_NVCC = [f"-D__{word}__={meaning}" for word, meaning in (("host", ""), ("device", ""), ("forceinline", "inline"))]
LANGUAGES = {
    "C99": ("cc", ["-std=c99", "-x", "c"]),
    "C++20": ("c++", ["-std=c++20", "-x", "c++"]),
    "CUDA": ("c++", ["-std=c++17", "-x", "c++", "-D__CUDACC__", *OF_NVCC]),
}
MANY = 1_000_000  # inputs of a function; other languages than the first get fewer


class Library:
    """Functions by name: arrays become pointers, the others 64-bit integers and doubles."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))

    def __getattr__(self, name):
        return lambda *args: getattr(self._library, name)(*map(_as_c, args))


def _as_c(value):
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.ctypes.data_as(ctypes.c_void_p)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(np.int64(np.uint64(value % 2**64)))


@pytest.fixture(scope="module", params=LANGUAGES)
def core(request, tmp_path_factory):
    compiler, options = LANGUAGES[request.param]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    path = tmp_path_factory.mktemp("scalar") / "scalar.so"
    options = [
        *WARNINGS,
        "-ffp-contract=off",
        "-O2",
        *options,
        f"-I{INCLUDE}",
        str(SOURCE),
        "-shared",
        "-fPIC",
        "-o",
        str(path),
        "-lm",
    ]
    subprocess.run([compiler, *options], check=True)
    library = Library(path)
    library.has_pairs = request.param != "C99"
    library.many = MANY if request.param == "C99" else MANY // 20
    return library


def floats(dtype, many):
    """Positive numbers of all sizes: powers of two and their neighbours, the largest, the least, and random bits."""
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp, info.maxexp)
    powers = np.ldexp(dtype(1), exponents)
    near = np.concatenate([powers, np.nextafter(powers, dtype(0)), np.nextafter(powers, dtype(np.inf))])
    roots = powers[powers < info.max / 2] * dtype(np.sqrt(0.5)) * 2
    near = np.concatenate([near, roots, np.nextafter(roots, dtype(0)), np.nextafter(roots, dtype(np.inf))])
    unsigned = np.uint32 if dtype == np.float32 else np.uint64
    bits = np.random.default_rng(0).integers(1, np.array(info.max).view(unsigned), many, unsigned, endpoint=True)
    return np.concatenate([near, [info.max, info.tiny], bits.view(dtype)]).astype(dtype)


def subnormals():
    bits = np.random.default_rng(1).integers(1, 2**52, 10_000, np.uint64)
    return np.concatenate([bits.view(np.float64), [5e-324, 1e-323, np.nextafter(2.0**-1022, 0)]])


def filled(function, shape, dtype, *args):
    out = np.empty(shape, dtype)
    function(*args, out)
    return out


def equal(found, expected):
    """Equal bits, also those of zeros."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.view(f"u{found.itemsize}"), expected.view(f"u{found.itemsize}"))


def test_logarithms(core):
    x = floats(np.float32, core.many)
    x = x[x >= np.finfo(np.float32).tiny]
    equal(filled(core.log2f_of, len(x), np.float32, x, len(x)), arithmetic.log2_float32(x))
    x = np.concatenate([floats(np.float64, core.many), subnormals()])
    equal(filled(core.log2_of, len(x), np.float64, x, len(x)), arithmetic.log2_value(x))
    for p in (1.0, 0.3, 2.5):
        equal(filled(core.log_weights, len(x), np.float32, -x, p, len(x)), gcws.log_weights(-x, p))


def slots_of_all_sizes(count):
    powers = np.concatenate([2**e + np.arange(-2, 3) for e in range(3, 62)])
    spread = np.random.default_rng(0).integers(0, 2**62, count - len(powers) - 100)
    return np.unique(np.concatenate([np.arange(100), powers, spread]))


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_random_numbers_and_parameters(core, seed):
    x = np.random.default_rng(0).integers(0, 2**64, core.many, np.uint64)
    equal(filled(core.mixes, len(x), np.uint64, x, len(x)), mix64(x))
    slots = slots_of_all_sizes(500 + core.many // 1000).astype(np.uint64)
    found = filled(core.parameters, (len(slots), 512, 4), np.float32, seed, slots, len(slots), 512)
    expected = rng.parameters(seed, slots, np.arange(512))
    equal(found, np.stack([expected.r, expected.reciprocal, np.float32(1) + expected.beta, expected.A], axis=2))


def test_samples_and_what_becomes_of_them(core):
    x = np.concatenate([subnormals()[:100], np.random.default_rng(2).choice(floats(np.float64, core.many), 900)])
    x[::3] *= -1
    slots = gcws.slots_of(np.sort(np.random.default_rng(3).choice(2**40, len(x), replace=False)), x)
    winner, t = np.empty(1024, np.int64), np.empty(1024, np.int64)
    core.samples(7, slots, x, 0.5, len(x), 1024, winner, t)
    expected = gcws.sample(slots, gcws.log_weights(x, 0.5), 7, np.arange(1024))
    np.testing.assert_array_equal((winner, t), expected)
    n = core.many // 4
    slots, t = np.random.default_rng(4).integers(0, 2**62, n), np.random.default_rng(5).integers(-(2**31), 2**31, n)
    for bits, t_bits in ((1, 0), (8, 0), (3, 5), (12, 12), (24, 0)):
        codes, marks = np.empty(n, np.uint32), np.empty(n, np.uint8)
        core.codes_of(slots, t, n, 100, bits, t_bits, codes, marks)
        equal(codes, pack.encode(slots, t, bits, t_bits).astype(np.uint32))
    equal(marks, index.fingerprints(slots.reshape(-1, 100), t.reshape(-1, 100)).ravel())
    counts = np.array([0, 1, 3, 6])
    found = filled(core.signatures, (n // 10, 4), np.int64, slots, t, n // 10, counts, 4)
    equal(found, gcws.concatenate(slots.reshape(-1, 10), t.reshape(-1, 10), counts))
    for size, bits in ((1, 0), (3, 17), (8, 30)):
        bands = np.random.default_rng(6).integers(0, 256, (n, size), np.uint8)
        found = filled(core.buckets, n, np.int64, bands, n, size, 0, bits)
        equal(found, index.buckets(bands, size, 0, bits))


def test_fourier_features(core):
    for dtype, function in ((np.float32, core.cosines32), (np.float64, core.cosines64)):
        turns = np.random.default_rng(0).uniform(-40, 40, core.many // 2).astype(dtype)
        turns[:200] = np.arange(-100, 100) / 4  # also halves, which are rounded to even numbers
        equal(filled(function, len(turns), dtype, turns, len(turns)), arithmetic.cos_turns(turns))
    features = slots_of_all_sizes(500 + core.many // 2000).astype(np.uint64)
    found = filled(core.normals, (len(features), 512), np.float32, 3, features, len(features), 512)
    equal(found, fourier.normals(3, features, np.arange(512)))
    equal(filled(core.phases, 4096, np.float32, 3, 4096), fourier.phases(3, np.arange(4096)))


def test_similarities_of_pairs(core):
    if not core.has_pairs:
        pytest.skip("templates")
    draw = np.random.default_rng(0)
    norms, share = np.exp(draw.uniform(-20, 20, (2, MANY // 4))), draw.uniform(0, 1, MANY // 4)
    share[:1000], share[1000:2000] = 1, 0
    total, minima = norms.sum(axis=0), norms.min(axis=0) * share
    minima[2000:3000] *= 1 + draw.uniform(-1e-15, 1e-15, 1000)
    total[3000:3010] = minima[3000:3010] = 0
    for ratio in (gmm.MIN_MAX, gmm.INTERSECTION):
        found = filled(core.of_minima, len(total), np.float64, minima, total, ratio, len(total))
        equal(found, gmm.of_minima(minima, total, ratio))
        for dtype, function in ((np.float32, core.of_distance32), (np.float64, core.of_distance64)):
            whole = total[total > 0].astype(dtype)
            distance = (whole * draw.uniform(-1e-6, 1 + 1e-6, len(whole))).astype(dtype)
            expected = gmm.of_distance(whole, distance, ratio) + dtype(0)
            found = filled(function, len(whole), dtype, whole, distance, ratio, len(whole))
            equal(found + dtype(0), expected)
    for dtype, function in ((np.float32, core.shared32), (np.float64, core.shared64)):
        a, b = draw.normal(size=(2, MANY // 4)).astype(dtype)
        a[:100], b[50:150] = 0, 0
        found = filled(function, (len(a), 2), dtype, a, b, len(a))
        for column in found.T:
            np.testing.assert_array_equal(column, np.where(a * b > 0, np.minimum(abs(a), abs(b)), 0))
    shared, total = minima.astype(np.float32), total.astype(np.float32)
    expected = index.level_of(gmm.of_minima(shared, total))
    np.testing.assert_array_equal(filled(core.levels, len(shared), np.int64, shared, total, len(shared)), expected)


@pytest.mark.parametrize("core", ["C++20"], indirect=True)
def test_lanes_of_every_instruction_set_equal_the_core(core):
    """Two values per row: the sample depends on log2 of the values, and on the parameters of both slots."""
    n, hashes = 2000, 64
    x = np.random.default_rng(0).choice(np.concatenate([floats(np.float64, core.many), subnormals()]), (n, 2))
    x *= np.random.default_rng(1).choice([-1, 1], x.shape)
    x = np.clip(x, -1e300, 1e300)
    near, far = (np.sort(np.random.default_rng(2).choice(top, (n, 2)), axis=1) for top in (50, 2**40))
    for features in (near, far):
        features[:, 1] += features[:, 0] == features[:, 1]
        rows = CsrRows(np.arange(0, 2 * n + 1, 2), features.ravel(), x.ravel(), int(features.max()) + 1)
        expected = np.empty((2, n, hashes), np.int64)
        for i in range(n):
            core.samples(9, gcws.slots_of(features[i], x[i]), x[i], 0.7, 2, hashes, expected[0, i], expected[1, i])
        for name in available():
            if name != "reference":
                found = CpuBackend(name, 2).gcws_samples(rows, GcwsParams(hashes, 9, 0.7, None))
                np.testing.assert_array_equal(found[:2], expected)


CONSTANTS = {
    "the hash": [
        "9E3779B97F4A7C15",
        "BF58476D1CE4E5B9",
        "94D049BB133111EB",
        "9E3779B1[^0-9A-F]",
        "21F0AAAD",
        "735A2D97",
    ],
    "log2": ["3F3504F3", r"0\.20619104", r"1\.44270157", r"0\.70710678", r"0\.69314718"],
    "cos and normal": [r"6\.5277061", r"0\.00335967", r"26\.4262562", r"1\.3862944"],
}
REFERENCE = {"_mix.py", "reference/arithmetic.py", "reference/rng.py", "reference/fourier.py"}
CORE = {"core/rng.h", "core/log2.h", "core/fourier.h"}
LANES = {"include/kernelsketch/rng_lanes.h"}
OPERATORS = {"serving/_onnx_hash.py"}  # a graph, whose test compares it with the model


@pytest.mark.parametrize("formula", CONSTANTS)
def test_a_formula_is_written_twice(formula):
    """In the reference and in native/core; the hash and log2 also in lanes."""
    library, native = HERE.parents[1] / "src" / "kernelsketch", HERE.parents[1] / "native"
    found = set()
    for root in (library, native):
        for path in root.rglob("*"):
            if path.suffix in (".py", ".h", ".cpp", ".cu", ".c"):
                text = path.read_text(encoding="utf-8")
                if any(re.search(constant, text, re.IGNORECASE) for constant in CONSTANTS[formula]):
                    found.add(str(path.relative_to(root)))
    assert found - REFERENCE - CORE - (LANES if formula != "cos and normal" else set()) - OPERATORS == set()
    assert len(found & CORE) == 1
