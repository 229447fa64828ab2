"""Hash version 1, held by golden vectors: a changed code is a new version. `pytest --overwrite-golden` renews them."""

import json
from pathlib import Path

import numpy as np

from kernelsketch.hashing._hasher import poisson_counts
from kernelsketch.reference import gcws, rng

GOLDEN = Path(__file__).parents[1] / "golden" / "gcws-v1.json"


def generate():
    """Rows of every kind: signed, tiny, huge, denormal, ids up to 2^62 - 1; several p and seeds."""
    features = [0, 1, 2, 77, 2**31, 2**62 - 1]
    rows = [
        [1.0, -1.0, 0.5, 3.25, -1e-3, 7.0],
        [1e-300, -1e300, 5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 1.0],
        [1.0000001, 1.00000001, 16777217.0, -0.1, 1 / 3, 255.0],
    ]
    cases = []
    for seed in (0, 1, 2**64 - 1):
        for p in (1.0, 0.1, 80.0):
            for values in rows:
                x = np.array(values)
                slots = gcws.slots_of(np.array(features), x)
                i, t = gcws.sample(slots, gcws.log_weights(x, p), seed, np.arange(20))
                cases.append({"seed": seed, "p": p, "values": values, "i": i.tolist(), "t": t.tolist()})
    r, _, beta, A = rng.parameters(7, np.array([0, 1, 2**63 - 1]), np.array([0, 1, 1000]))
    parameters = [[float(v).hex() for v in part.ravel()] for part in (r, beta, A)]
    counts = poisson_counts(3, 2.0, 30).tolist()
    return {
        "hash_version": rng.HASH_VERSION,
        "features": features,
        "cases": cases,
        "parameters": parameters,
        "counts": counts,
    }


def test_golden_vectors(request):
    found = json.loads(json.dumps(generate()))
    if request.config.getoption("--overwrite-golden"):
        GOLDEN.write_text(json.dumps(found, indent=None) + "\n")
    assert found == json.loads(GOLDEN.read_text())


def test_equal_t_gives_equal_a():
    """What makes samples consistent: a depends on the weight through t alone."""
    slots = np.array([4])
    for weight in (0.9, 1.0, 1.1):
        i, _ = gcws.sample(slots, np.float32([np.log2(weight)]), 0, np.arange(64))
        assert (i == 4).all()


def test_an_empty_row():
    i, t = gcws.sample(np.array([], np.int64), np.array([], np.float32), 0, np.arange(5))
    assert (i == -1).all()
    assert (t == 0).all()


def test_poisson_counts():
    for gamma in (0.1, 2.0, 5.0, 50.0):
        counts = poisson_counts(1, gamma, 4096)
        # By the golden ratio shares are far closer to the distribution than independent draws would be.
        assert abs(counts.mean() - gamma) < 0.01 * max(1, np.sqrt(gamma))
        np.testing.assert_array_equal(counts[:100], poisson_counts(1, gamma, 100))
