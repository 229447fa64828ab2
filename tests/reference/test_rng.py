"""The generator: distributions, and independence over hashes, slots and seeds.

Each test draws with fixed seeds; its bound would be passed by chance less than once in a hundred thousand runs of
a perfect generator with random seeds.
"""

import numpy as np
import pytest
from scipy import stats

from kernelsketch.reference import rng
from kernelsketch.reference.arithmetic import fma, to_bfloat16

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
    c = np.exp2(fma(-r, beta, A).astype(np.float64))
    gamma = stats.gamma(2, scale=1 / np.log(2))
    # r is rounded to 8 bits: spread over what rounds to it, it is continuous again.
    width = np.exp2(np.floor(np.log2(r.astype(np.float64))) - 7)
    spread = r + width * (np.random.default_rng(0).random(r.shape) - 0.5)
    assert stats.kstest(spread.ravel(), gamma.cdf).pvalue > LEAST
    assert stats.kstest(c.ravel(), gamma.cdf).pvalue > LEAST
    assert stats.kstest(beta.ravel(), "uniform").pvalue > LEAST
    np.testing.assert_allclose(r * reciprocal, 1, rtol=2e-7)
    assert r.min() > 0


def test_rounding_of_r_bends_the_kernel_by_parts_in_a_million():
    """Without rounding E max(0, 1 - x / r) = exp(-x): the chance that two weights a factor of exp(x) apart share t."""
    steps = np.concatenate([2.0**e * (1 + np.arange(128) / 128) for e in range(-30, 7)])
    r = np.asarray(steps, np.float32)
    np.testing.assert_array_equal(to_bfloat16(r), r)  # what rounding leaves
    middle = ((steps[1:] + steps[:-1]) / 2).astype(np.float32)
    np.testing.assert_array_equal(to_bfloat16(middle), r[1:])
    np.testing.assert_array_equal(to_bfloat16(np.nextafter(middle, np.float32(0))), r[:-1])
    weight = np.diff(stats.gamma(2, scale=1 / np.log(2)).cdf(np.concatenate([[0], middle, [np.inf]])))
    for x in np.geomspace(1e-4, 20, 100):
        shared = weight @ np.maximum(0, 1 - x / (steps * np.log(2)))
        assert abs(shared - np.exp(-x)) < 3e-6


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
        flipped, n = np.unpackbits((base ^ other).view(np.uint8)).sum(), base.size * 32
        assert abs(flipped - n / 2) < 5 * np.sqrt(n) / 2
