"""Libraries that work with our estimators, which `make test-clients` installs, and a table for their tests."""

from types import ModuleType

import numpy as np
import pytest


def client(name: str) -> ModuleType:
    """Import a library, or skip the tests of a module and say how to install it."""
    return pytest.importorskip(
        name, reason=f"{name} is not installed: pip install 'kernelsketch[clients]'", exc_type=ImportError
    )


def customers(n=300, seed=0):
    """A table with numbers, gaps, categories and text, whether each customer leaves, and what each one pays."""
    pandas = client("pandas")
    rng = np.random.default_rng(seed)
    plan, months = rng.choice(["basic", "family", "business"], n, p=[0.5, 0.3, 0.2]), rng.uniform(1, 60, n)
    calls = rng.poisson(2.0, n).astype(float)
    said = rng.choice(["invoice wrong again", "all is fine", "very slow line", "thanks for the help"], n)
    X = pandas.DataFrame(
        {
            "months": months,
            "spent": rng.lognormal(size=n),
            "calls": np.where(rng.random(n) < 0.1, np.nan, calls),
            "plan": pandas.Series(plan).where(rng.random(n) > 0.1, None),
            "region": pandas.Categorical(rng.choice(["north", "south", "east"], n)),
            "comment": [f"{text}, ticket {i}" for i, text in enumerate(said)],
        }
    )
    risk = calls - 0.05 * months + 2.0 * (said == "invoice wrong again") + 0.3 * rng.normal(size=n)
    leaves = np.where(risk > np.quantile(risk, 0.6), "leaves", "stays")
    pays = 20.0 + 15 * (plan == "family") + 40 * (plan == "business") + 0.2 * months + rng.normal(size=n)
    return X, leaves, pays
