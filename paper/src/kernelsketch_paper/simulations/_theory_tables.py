"""The numbers of the theory figures: one tidy table per figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelsketch.theory import (
    gcws_variance,
    nrff_gcws_variance_ratio,
    nrff_variance_ratio,
    relative_variance,
    rff_mean,
)

from ._chunks import Array
from ._fourier import FourierSimulation
from ._gcws import GCWSSimulation
from ._limit import LimitSimulation
from ._rbf_from_gmm import RBFFromGMMSimulation

Columns = dict[str, Any]  # name of a column -> its values; all columns have the same length

GAMMAS = (0.1, 1.0, 2.0, 5.0, 10.0)
METHODS = ("gcws", "rff", "nrff")


@dataclass(frozen=True, eq=False)
class TheorySimulations:
    """All simulations that the figures show."""

    fourier: FourierSimulation
    gcws: GCWSSimulation
    rbf: RBFFromGMMSimulation
    limit: LimitSimulation
    repetitions: int


def curves(ratio: Callable[[Any, Any], Any], simulated: Array, panels: Any) -> Columns:
    """Return a theoretical ratio over rho for each gamma, and the simulated ratio of each panel."""
    rho = np.linspace(-1, 1, 401)
    found = len(simulated)
    return {
        "source": ["theory"] * (len(GAMMAS) * len(rho)) + ["simulation"] * found,
        "rho": np.concatenate([*[rho] * len(GAMMAS), [rho for rho, _ in panels]]),
        "gamma": np.concatenate([np.repeat(GAMMAS, len(rho)), [gamma for _, gamma in panels]]),
        "ratio": np.concatenate([*(ratio(rho, gamma) for gamma in GAMMAS), simulated]),
    }


def variance_ratio(s: TheorySimulations) -> Columns:
    return curves(nrff_variance_ratio, s.fourier.nrff.mse[:, -1] / s.fourier.rff.mse[:, -1], s.fourier.panels)


def variance_ratio_gcws(s: TheorySimulations) -> Columns:
    return curves(nrff_gcws_variance_ratio, s.fourier.nrff.mse[:, -1] / s.rbf.errors.mse[:, -1], s.fourier.panels)


def mse(s: TheorySimulations) -> Columns:
    f = s.fourier
    return {
        **_panel_columns(f.panels, f.k),
        "rff_mse": f.rff.mse.ravel(),
        "rff_mse_std": f.rff.mse_std.ravel(),
        "rff_theory": f.rff_theory().ravel(),
        "nrff_mse": f.nrff.mse.ravel(),
        "nrff_mse_std": f.nrff.mse_std.ravel(),
        "nrff_theory": f.nrff_theory().ravel(),
        "nrff_bias": f.nrff.bias.ravel(),
        "nrff_bias_std": f.nrff.bias_std.ravel(),
    }


def relative(s: TheorySimulations) -> Columns:
    """Return Var / E^2 of one sample by theory, and k times that of k samples by simulation."""
    e = np.geomspace(0.01, 1, 201)
    kernels = np.array([rff_mean(rho, gamma) for rho, gamma in s.fourier.panels])
    seen = kernels >= e[0]  # the smallest kernel would stretch the axis to 1e6
    found = {
        "gcws": (np.array(s.gcws.similarities), s.gcws.full.mse[:, -1] * s.gcws.k[-1]),
        "rff": (kernels[seen], s.fourier.rff.mse[seen, -1] * s.fourier.k[-1]),
        "nrff": (kernels[seen], s.fourier.nrff.mse[seen, -1] * s.fourier.k[-1]),
    }
    parts = [("theory", method, e, relative_variance(method, e)) for method in METHODS]
    parts += [("simulation", method, at, value / at**2) for method, (at, value) in found.items()]
    return {
        "source": [source for source, _, at, _ in parts for _ in at],
        "method": [method for _, method, at, _ in parts for _ in at],
        "kernel": np.concatenate([at for _, _, at, _ in parts]),
        "relative_variance": np.concatenate([value for *_, value in parts]),
    }


def gcws(s: TheorySimulations) -> Columns:
    g = s.gcws
    return {
        "similarity": np.repeat(g.similarities, len(g.k)),
        "k": np.tile(g.k, len(g.similarities)),
        "theory": np.concatenate([gcws_variance(similarity, g.k) for similarity in g.similarities]),
        "mse": g.full.mse.ravel(),
        "mse_std": g.full.mse_std.ravel(),
        "bias": g.full.bias.ravel(),
        "bias_std": g.full.bias_std.ravel(),
        "zero_bit_bias": g.zero_bit.bias.ravel(),
        "zero_bit_bias_std": g.zero_bit.bias_std.ravel(),
    }


def limit(s: TheorySimulations) -> Columns:
    found = s.limit
    return {
        "rho": np.repeat([rho for rho, _ in found.cases], len(found.n_features)),
        "df": np.repeat([df for _, df in found.cases], len(found.n_features)),
        "n_features": np.tile(found.n_features, len(found.cases)),
        "theory": found.theory().ravel(),
        "mse": found.errors.mse.ravel(),
        "mse_std": found.errors.mse_std.ravel(),
        "bias": found.errors.bias.ravel(),
        "bias_std": found.errors.bias_std.ravel(),
    }


def rbf_from_gcws(s: TheorySimulations) -> Columns:
    r = s.rbf
    return {
        **_panel_columns(r.panels, r.k),
        "mse": r.errors.mse.ravel(),
        "mse_std": r.errors.mse_std.ravel(),
        "theory": r.theory().ravel(),
        "bias": r.errors.bias.ravel(),
        "bias_std": r.errors.bias_std.ravel(),
    }


def as_csv(table: Columns) -> bytes:
    """Return a table as CSV with six significant digits, which is more than any simulation here has."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    for row in zip(*table.values(), strict=True):
        writer.writerow([value if isinstance(value, str) else f"{value:.6g}" for value in row])
    return text.getvalue().encode()


def _panel_columns(panels: Any, k: Array) -> Columns:
    return {
        "rho": np.repeat([rho for rho, _ in panels], len(k)),
        "gamma": np.repeat([gamma for _, gamma in panels], len(k)),
        "k": np.tile(k, len(panels)),
    }
