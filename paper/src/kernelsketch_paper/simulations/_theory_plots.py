"""The theory figures as plots: dashed lines are theory, solid lines and dots are simulation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..drawing import Panel, Plot, Points, Series
from ._theory_tables import GAMMAS, METHODS, Columns, TheorySimulations

# Okabe and Ito's colours, which readers of any colour vision can distinguish; ordered colours from the map viridis.
COLORS = {"rff": "#D55E00", "nrff": "#0072B2", "gcws": "#009E73"}
ORDERED = ("#440154", "#3e4989", "#26828e", "#32b67a", "#b0dd2f")
NAMES = {"rff": "RFF", "nrff": "NRFF", "gcws": "GCWS"}
DISTRIBUTIONS = {math.inf: ("normal", "#0072B2"), 3.0: ("t, 3 degrees of freedom", "#E69F00")}
BLACK, GREY = "#1a1a1a", "#666666"
POINTS_PER_LINE = 120  # enough for a smooth line; all values of k would make large files


def variance_ratio(table: Columns, s: TheorySimulations, caption: str) -> Plot:
    title = "What normalization gains: variance of NRFF over RFF"
    y = r"$V_n / V$ (same number of features)"
    return _ratio_plot("variance-ratio", title, caption, y, table, s, y_limits=(0, 1.04))


def variance_ratio_gcws(table: Columns, s: TheorySimulations, caption: str) -> Plot:
    title = "Estimating the RBF kernel: variance of NRFF over GCWS"
    equal = Series(
        "equal: below, NRFF is better;\nabove, GCWS is better", BLACK, _points([-1, 1], [1, 1]), "solid", "none"
    )
    y = r"$V_n / V_g$ (same number of samples)"
    options: dict[str, Any] = {"y_limits": (0.05, 1e6), "y_log": True}
    return _ratio_plot("variance-ratio-gcws", title, caption, y, table, s, equal, **options)


def _ratio_plot(
    key: str, title: str, caption: str, y: str, table: Columns, s: TheorySimulations, *more: Series, **options: Any
) -> Plot:
    """Plot a ratio over rho, one line per gamma."""
    series = []
    for gamma, color in zip(GAMMAS, ORDERED, strict=True):
        of_gamma = np.asarray(table["gamma"]) == gamma
        series += _both(table, "rho", "ratio", of_gamma, rf"$\gamma$ = {gamma:g}", color)
    panel = Panel("", "", (*series, _simulated(s), *more))
    return Plot(key, title, caption, r"correlation $\rho$ of the two rows", y, (panel,), x_log=False, **options)


def relative_variance(table: Columns, s: TheorySimulations, caption: str) -> Plot:
    series = []
    for name in METHODS:
        of_method = np.asarray(table["method"]) == name
        series += _both(table, "kernel", "relative_variance", of_method, NAMES[name], COLORS[name])
    return Plot(
        "relative-variance",
        "Variance relative to what is estimated",
        caption,
        "kernel E that is estimated (GMM by GCWS, RBF by the others)",
        r"Var / E$^2$ of one sample",
        (Panel("", "", (*series, _simulated(s))),),
        y_log=True,
        y_limits=(5e-3, 2e4),
    )


def _both(table: Columns, x: str, y: str, chosen: Any, name: str, color: str) -> list[Series]:
    """Return theory as a dashed line with a name, and simulation as dots without one."""
    source, xs, ys = (np.asarray(table[column]) for column in ("source", x, y))
    theory, found = chosen & (source == "theory"), chosen & (source == "simulation")
    return [
        Series(name, color, _points(xs[theory], ys[theory]), "dashed", "none"),
        Series("", color, _points(xs[found], ys[found]), "none", "circle"),
    ]


def _simulated(s: TheorySimulations) -> Series:
    return Series(f"simulated, k = {s.fourier.k[-1]:.0f}", GREY, (), "none", "circle")


def mse(table: Columns, s: TheorySimulations, caption: str) -> Plot:
    f = s.fourier
    title = f"Error of random Fourier features, {s.repetitions:,} repetitions at each k"
    lines = [("rff", f.rff.mse, f.rff_theory(), "V / k"), ("nrff", f.nrff.mse, f.nrff_theory(), r"V$_n$ / k")]
    return _errors_plot("mse", title, caption, f.panels, f.k, lines)


def rbf_from_gcws(table: Columns, s: TheorySimulations, caption: str) -> Plot:
    f, r = s.fourier, s.rbf
    title = f"Error of the RBF kernel estimated from GCWS and by NRFF, {s.repetitions:,} repetitions at each k"
    lines = [("nrff", f.nrff.mse, f.nrff_theory(), r"V$_n$ / k"), ("gcws", r.errors.mse, r.theory(), r"V$_g$ / k")]
    return _errors_plot("rbf-from-gcws", title, caption, r.panels, r.k, lines)


def _errors_plot(key: str, title: str, caption: str, panels: Any, k: Any, lines: Any) -> Plot:
    """Plot mean squared errors over k, one panel per pair (rho, gamma)."""
    at = _thinned(k)
    made = []
    for row, (rho, gamma) in enumerate(panels):
        series = []
        for (name, found, theory, formula), (line, dashes) in zip(
            lines, (("thick", "dashed"), ("solid", "dotted")), strict=True
        ):
            measured = _points(k[at], found[row, at])
            expected = _points(k[at], theory[row, at])
            series.append(Series(f"{NAMES[name]}, simulated", COLORS[name], measured, line, "none"))
            series.append(Series(f"{NAMES[name]}, theory: {formula}", BLACK, expected, dashes, "none"))
        kernel = math.exp(-gamma * (1 - rho))
        made.append(Panel(rf"$\rho$ = {rho:g}, $\gamma$ = {gamma:g}: kernel {kernel:.2g}", "", tuple(series)))
    axes = ("number of samples k", "mean squared error")
    return Plot(key, title, caption, *axes, tuple(made), y_log=True, shared=True)


def gcws(table: Columns, s: TheorySimulations, caption: str) -> Plot:
    g = s.gcws
    at = _thinned(g.k)
    late = at[g.k[at] >= min(10, g.k[-1])]  # the bias of a few hashes is lost in their spread
    theory = g.theory()
    errors, biases = [], []
    for row, (similarity, color) in enumerate(zip(g.similarities, ORDERED, strict=True)):
        errors.append(Series(f"GMM = {similarity:g}", color, _points(g.k[at], g.full.mse[row, at]), "solid", "none"))
        name = "theory for (i*, t*)" if row == 0 else ""
        errors.append(Series(name, BLACK, _points(g.k[at], theory[row, at]), "dashed", "none"))
        biases.append(Series("", color, _points(g.k[late], 1e3 * g.full.bias[row, late]), "solid", "none"))
        biases.append(Series("", color, _points(g.k[late], 1e3 * g.zero_bit.bias[row, late]), "dotted", "none"))
    biases += [
        Series("samples (i*, t*)", GREY, (), "solid", "none"),
        Series("0-bit: i* alone, 64 features", GREY, (), "dotted", "none"),
        Series("", BLACK, _points(g.k[late][[0, -1]], [0, 0]), "dashed", "none"),
    ]
    title = f"GCWS as an estimate of GMM, {s.repetitions:,} repetitions at each k"
    panels = (
        Panel("error", "", tuple(errors), y="mean squared error", y_log=True),
        Panel("bias", "", tuple(biases), y="bias, in thousandths"),
    )
    return Plot("gcws", title, caption, "number of hashes k", "", panels, columns=2)


def limit(table: Columns, s: TheorySimulations, caption: str) -> Plot:
    found = s.limit
    theory = found.theory()
    panels = []
    for rho in dict.fromkeys(rho for rho, _ in found.cases):
        series = []
        for row, (_, df) in enumerate(found.cases):
            if found.cases[row][0] != rho:
                continue
            name, color = DISTRIBUTIONS.get(df, (f"t, {df:g} degrees of freedom", "#CC79A7"))
            series.append(Series(name, color, _points(found.n_features, np.sqrt(found.errors.mse[row]))))
            if np.isfinite(theory[row]).all():
                expected = _points(found.n_features, np.sqrt(theory[row]))
                series.append(Series("theory", BLACK, expected, "dashed", "none"))
        panels.append(Panel(rf"$\rho$ = {rho:g}", "", tuple(series)))
    title = r"GMM of random rows tends to g($\rho$)"
    axes = ("number of features D", r"root mean square of GMM - g($\rho$)")
    return Plot("limit", title, caption, *axes, tuple(panels), y_log=True, shared=True)


def _points(x: Iterable[float], y: Iterable[float]) -> Points:
    return tuple((float(a), float(b), None) for a, b in zip(x, y, strict=True))


def _thinned(k: Any) -> Any:
    """Return positions of some values of k that are evenly spaced on a logarithmic axis."""
    return np.unique(np.round(np.geomspace(1, len(k), POINTS_PER_LINE)).astype(int)) - 1
