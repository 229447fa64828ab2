"""Chunks of repetitions: the same bits on any number of threads."""

import numpy as np
import pytest

from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch_paper.simulations import simulate_fourier, simulate_gcws, simulate_limit, simulate_rbf_from_gmm
from kernelsketch_paper.simulations._chunks import Errors, power_sums, sum_over_chunks

SIMULATIONS = {  # several chunks each, the last of them short
    "fourier": lambda **options: simulate_fourier(k_max=1000, repetitions=250, **options).nrff,
    "gcws": lambda **options: simulate_gcws(n_features=8, k_max=1000, repetitions=250, **options).full,
    "rbf": lambda **options: simulate_rbf_from_gmm(n_features=8, k_max=1000, repetitions=250, **options).errors,
    "limit": lambda **options: simulate_limit([0.5], n_features=[10, 1000], repetitions=250, **options).errors,
}


@pytest.fixture(params=SIMULATIONS)
def simulate(request):
    return SIMULATIONS[request.param]


def test_threads_change_nothing(simulate):
    one, three = simulate(seed=5, n_jobs=1), simulate(seed=5, n_jobs=3)
    for name in ("bias", "bias_std", "mse", "mse_std"):
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))


def test_seeds_change_everything(simulate):
    assert np.mean(simulate(seed=5).bias != simulate(seed=6).bias) > 0.98  # shares of hashes can be equal by chance


def test_progress_counts_repetitions(simulate):
    seen = []
    simulate(n_jobs=2, progress=lambda done, total: seen.append((done, total)))
    done, totals = zip(*seen, strict=True)
    assert list(done) == sorted(set(done))
    assert set(totals) == {done[-1]}
    assert len(seen) > 2


def test_an_interrupt_stops(simulate):
    calls = []

    def stop(done, total):
        calls.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(n_jobs=2, progress=stop)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"repetitions": 0}, InputError, "repetitions must be a whole number above 0, got 0"),
        ({"k_max": 2.0}, InputTypeError, "k_max must be a whole number above 0, got 2.0"),
        ({"k_max": 10**9}, InputError, "k_max must be at most 1000000, got 1000000000"),
        ({"seed": -1}, InputError, "seed must be a whole number from 0 on, got -1"),
        ({"seed": None}, InputTypeError, "seed must be a whole number from 0 on, got None"),
        ({"n_jobs": 0}, InputError, "n_jobs must not be 0"),
        ({"panels": [(1.5, 1.0)]}, InputError, "rho must be a number from -1 to 1"),
        ({"panels": []}, InputError, "panels must hold at least one pair"),
        ({"panels": [0.5]}, InputError, "panels must be pairs of numbers"),
        ({"panels": [(0.5, -1.0)]}, InputError, "gamma must be a finite number above 0"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        simulate_fourier(**{"k_max": 10, "repetitions": 10, **options})


def test_bad_arguments_of_the_others():
    with pytest.raises(InputError, match="similarities must be numbers above 0 and below 1, got 1"):
        simulate_gcws([1.0])
    with pytest.raises(InputError, match="similarities must hold at least one number"):
        simulate_gcws([])
    with pytest.raises(InputError, match="correlations and freedoms must hold at least one"):
        simulate_limit([])
    with pytest.raises(InputError, match="rho of each panel must be a number above -1 and below 1, got 1"):
        simulate_rbf_from_gmm([(1.0, 1.0)])
    with pytest.raises(InputError, match=r"n_features must be whole numbers in ascending order, got \[10, 5\]"):
        simulate_limit(n_features=[10, 5])
    with pytest.raises(InputError, match="freedoms must be above 1, got 1"):
        simulate_limit([0.5], [1.0])


def test_repetitions_are_drawn_once_each_and_apart():
    """Chunks of 100,000 // size repetitions, each with a stream of its own."""
    seen = []

    def task(case, count, seeds):
        seen.append((case, count, seeds.generate_state(2).tobytes()))
        return np.array([count])

    options = {"n_cases": 2, "repetitions": 25, "size": 10_000, "n_jobs": 1, "progress": None}
    sums = sum_over_chunks(task, seed=0, stream=1, **options)
    np.testing.assert_array_equal(sums, [[25], [25]])
    assert [(case, count) for case, count, _ in seen] == [(c, n) for c in range(2) for n in (10, 10, 5)]
    sum_over_chunks(task, seed=0, stream=2, **options)
    assert len({state for *_, state in seen}) == 12


def test_errors_of_known_values():
    error = np.array([[1.0], [-1.0], [3.0], [1.0]])
    sums = power_sums(error.copy())
    np.testing.assert_array_equal(sums, [[4], [12], [84]])
    found = Errors.from_sums(sums[None], 4)
    assert found.bias[0, 0] == 1
    assert found.mse[0, 0] == 3
    assert found.bias_std[0, 0] == pytest.approx(np.sqrt((3 - 1) / 4))
    assert found.mse_std[0, 0] == pytest.approx(np.sqrt((21 - 9) / 4))
    assert found.score(2.0)[0, 0] == pytest.approx(1 / np.sqrt(3))


def test_a_constant_error_agrees_or_is_infinitely_far():
    found = Errors.from_sums(power_sums(np.full((5, 1), 0.5))[None], 5)
    assert found.score(0.25)[0, 0] == 0
    assert found.score(0.3)[0, 0] == -np.inf
