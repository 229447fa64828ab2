"""The generator: distributions, and independence over hashes, slots and seeds.

Each test draws with fixed seeds; its bound would be passed by chance less than once in a hundred thousand runs of
a perfect generator with random seeds.
"""

import numpy as np
import pytest
from scipy import stats

from kernelsketch.reference import rng
from kernelsketch.reference.arithmetic import fma

SLOTS = {
    "consecutive": np.arange(1000),
    "strided": np.arange(1000) * 4096,
    "near 2^62": 2**62 - 1000 + np.arange(1000),
    "powers and neighbours": np.unique(np.concatenate([2**e + np.arange(-2, 3) for e in range(3, 62)])),
}
LEAST = 1e-5  # p-value


@pytest.mark.parametrize("name", SLOTS)
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_distributions(name, seed):
    r, reciprocal, beta, A = rng.parameters(seed, SLOTS[name], np.arange(512))
    c = np.exp2(fma(r, 1 - beta, A).astype(np.float64))
    gamma = stats.gamma(2, scale=1 / np.log(2))
    assert stats.kstest(r.ravel(), gamma.cdf).pvalue > LEAST
    assert stats.kstest(c.ravel(), gamma.cdf).pvalue > LEAST
    assert stats.kstest(beta.ravel(), "uniform").pvalue > LEAST
    np.testing.assert_allclose(r * reciprocal, 1, rtol=2e-7)
    assert r.min() > 0


@pytest.mark.parametrize("name", SLOTS)
def test_words_are_uniform_in_every_bit(name):
    for word in rng.hash_words(rng.slot_keys(5, SLOTS[name]), np.arange(1024)):
        n = word.size
        for bit in range(32):
            ones = ((word >> np.uint32(bit)) & 1).sum()
            assert abs(ones - n / 2) < 5 * np.sqrt(n) / 2
        bytes_ = np.bincount((word >> np.uint32(24)).ravel(), minlength=256)
        assert stats.chisquare(bytes_).pvalue > LEAST


def correlations(a, b):
    """z-score of the correlation of two uniform samples."""
    return np.corrcoef(a.ravel(), b.ravel())[0, 1] * np.sqrt(a.size)


def test_neighbouring_hashes_slots_and_seeds_are_independent():
    slots, hashes = np.arange(500), np.arange(1001)
    here = np.stack(rng.uniforms(rng.hash_words(rng.slot_keys(3, slots), hashes))).astype(np.float64)
    next_seed = np.stack(rng.uniforms(rng.hash_words(rng.slot_keys(4, slots), hashes))).astype(np.float64)
    for q in range(5):
        assert abs(correlations(here[q, :, 1:], here[q, :, :-1])) < 5  # hashes
        assert abs(correlations(here[q, 1:], here[q, :-1])) < 5  # slots
        assert abs(correlations(here[q, 0::2], here[q, 1::2])) < 5  # signs of a feature
        assert abs(correlations(here[q], next_seed[q])) < 5  # seeds
        for other in range(q):
            assert abs(correlations(here[q], here[other])) < 5  # the five numbers themselves


def test_pairs_of_hashes_fill_the_square():
    """Serial test: (u_j, u_j+1) over a 16 x 16 grid."""
    u = rng.uniforms(rng.hash_words(rng.slot_keys(9, np.arange(400)), np.arange(1025)))[2]
    cells = (u[:, :-1] * 16).astype(int) * 16 + (u[:, 1:] * 16).astype(int)
    assert stats.chisquare(np.bincount(cells.ravel(), minlength=256)).pvalue > LEAST


def test_flipping_a_bit_of_the_slot_flips_half_of_the_words():
    base = rng.hash_words(rng.slot_keys(1, np.arange(200)), np.arange(64))[0]
    for bit in (0, 1, 7, 20, 40, 61):
        other = rng.hash_words(rng.slot_keys(1, np.arange(200) ^ (1 << bit)), np.arange(64))[0]
        flipped = np.bitwise_count(base ^ other).sum() if hasattr(np, "bitwise_count") else None
        if flipped is not None:
            n = base.size * 32
            assert abs(flipped - n / 2) < 5 * np.sqrt(n) / 2
