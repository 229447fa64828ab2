"""The theory figures drawn: theory dashed, simulation solid, and a sentence of what to see under each.

Figures are made without pyplot, so drawing leaves no state behind and needs no display.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ._theory_tables import GAMMAS, METHODS, Table, TheorySimulations

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by readers of any colour vision; ordered ones from the map viridis.
COLORS = {"rff": "#D55E00", "nrff": "#0072B2", "gcws": "#009E73"}
NAMES = {"rff": "RFF", "nrff": "NRFF", "gcws": "GCWS"}
DISTRIBUTIONS = {math.inf: ("normal", "#0072B2"), 3.0: ("t, 3 degrees of freedom", "#E69F00")}
THEORY: dict[str, Any] = {"linestyle": (0, (5, 2)), "linewidth": 1.3}
FOUND: dict[str, Any] = {"linestyle": "-", "linewidth": 1.8, "alpha": 0.75}
WIDE: dict[str, Any] = {"linestyle": "-", "linewidth": 4.5, "alpha": 0.6}  # seen under a line that lies on it


def new_figure(
    rows: int, columns: int, size: tuple[float, float], title: str, sentence: str, **options: Any
) -> tuple[Figure, Any]:
    """A figure with its axes, a title above and a sentence below."""
    from matplotlib.figure import Figure  # an extra, which theory_figures has checked

    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=12, fontweight="bold")
    lines = math.ceil(len(sentence) / (12 * size[0]))
    figure.supxlabel(textwrap.fill(sentence, len(sentence) // lines + 8), fontsize=9.5, color="0.25")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.grid(color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.tick_params(labelsize=9)
    return figure, axes


def draw_variance_ratio(table: Table, s: TheorySimulations, sentence: str) -> Figure:
    figure, axes = new_figure(1, 1, (7, 4.8), "What normalization gains: variance of NRFF over RFF", sentence)
    ax = axes[0, 0]
    _draw_curves(ax, table, s)
    ax.set_ylim(0, 1.04)
    ax.set_ylabel(r"$V_n / V$ (same number of features)")
    return figure


def draw_variance_ratio_gcws(table: Table, s: TheorySimulations, sentence: str) -> Figure:
    title = "Estimating the RBF kernel: variance of NRFF over GCWS"
    figure, axes = new_figure(1, 1, (7, 4.8), title, sentence)
    ax = axes[0, 0]
    _draw_curves(ax, table, s)
    ax.axhline(1, color="0.3", linewidth=0.8)
    ax.text(-0.98, 0.93, "below: NRFF is better", fontsize=8.5, va="top", color="0.3")
    ax.text(-0.98, 1.08, "above: GCWS is better", fontsize=8.5, va="bottom", color="0.3")
    ax.set_yscale("log")
    ax.set_ylim(0.05, 1e6)
    ax.set_ylabel(r"$V_n / V_g$ (same number of samples)")
    return figure


def draw_relative(table: Table, s: TheorySimulations, sentence: str) -> Figure:
    figure, axes = new_figure(1, 1, (7, 4.8), "Variance relative to what is estimated", sentence)
    ax = axes[0, 0]
    source, method = np.array(table["source"]), np.array(table["method"])
    for name in METHODS:
        chosen = (source == "theory") & (method == name)
        values = table["relative_variance"][chosen]
        ax.plot(table["kernel"][chosen], values, color=COLORS[name], label=NAMES[name], **THEORY)
        found = (source == "simulation") & (method == name)
        ax.plot(table["kernel"][found], table["relative_variance"][found], "o", color=COLORS[name], markersize=5)
    ax.plot([], [], "o", color="0.4", markersize=5, label=f"simulated, k = {s.fourier.k[-1]:.0f}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks([0.01, 0.03, 0.1, 0.3, 1], ["0.01", "0.03", "0.1", "0.3", "1"])
    ax.set_ylim(5e-3, 2e4)
    ax.set_xlabel("kernel E that is estimated (GMM by GCWS, RBF by the others)")
    ax.set_ylabel(r"Var / E$^2$ of one sample")
    ax.legend(fontsize=9)
    return figure


def draw_mse(table: Table, s: TheorySimulations, sentence: str) -> Figure:
    title = f"Error of random Fourier features, {s.repetitions:,} repetitions at each k"
    figure, axes = new_figure(2, 3, (10, 6.4), title, sentence, sharex=True, sharey=True)
    f = s.fourier
    lines = [("rff", f.rff.mse, f.rff_theory(), "V / k"), ("nrff", f.nrff.mse, f.nrff_theory(), r"V$_n$ / k")]
    _draw_panels(axes, f.panels, f.k, lines)
    return figure


def draw_rbf_from_gcws(table: Table, s: TheorySimulations, sentence: str) -> Figure:
    title = f"Error of the RBF kernel estimated from GCWS and by NRFF, {s.repetitions:,} repetitions at each k"
    figure, axes = new_figure(2, 3, (10, 6.4), title, sentence, sharex=True, sharey=True)
    f, r = s.fourier, s.rbf
    lines = [("nrff", f.nrff.mse, f.nrff_theory(), r"V$_n$ / k"), ("gcws", r.errors.mse, r.theory(), r"V$_g$ / k")]
    _draw_panels(axes, r.panels, r.k, lines)
    return figure


def draw_gcws(table: Table, s: TheorySimulations, sentence: str) -> Figure:
    title = f"GCWS as an estimate of GMM, {s.repetitions:,} repetitions at each k"
    figure, axes = new_figure(1, 2, (10, 4.6), title, sentence)
    left, right = axes[0]
    g = s.gcws
    at = _thinned(g.k)
    late = at[g.k[at] >= min(10, g.k[-1])]  # the bias of a few hashes is lost in their spread
    for row, (similarity, color) in enumerate(zip(g.similarities, _ordered(len(g.similarities)), strict=True)):
        left.plot(g.k[at], g.full.mse[row, at], color=color, label=f"GMM = {similarity:g}", **FOUND)
        left.plot(g.k[at], g.theory()[row, at], color="0.1", **THEORY)
        right.plot(g.k[late], 1e3 * g.full.bias[row, late], color=color, **FOUND)
        right.plot(g.k[late], 1e3 * g.zero_bit.bias[row, late], color=color, linestyle=":", linewidth=1.8)
    left.plot([], [], color="0.1", label="theory, GMM (1 - GMM) / k", **THEORY)
    left.set_yscale("log")
    left.set_ylabel("mean squared error")
    left.legend(fontsize=8.5)
    right.axhline(0, color="0.1", **THEORY)
    right.plot([], [], color="0.4", label="full samples (i*, t*)", **FOUND)
    right.plot([], [], color="0.4", linestyle=":", linewidth=1.8, label="0-bit: i* alone, 64 features")
    right.plot([], [], color="0.1", label="theory, full samples", **THEORY)
    right.set_ylabel("bias, in thousandths")
    low, high = right.get_ylim()
    right.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
    right.legend(fontsize=8.5, loc="upper right")
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlabel("number of hashes k")
    return figure


def draw_limit(table: Table, s: TheorySimulations, sentence: str) -> Figure:
    found = s.limit
    correlations = list(dict.fromkeys(rho for rho, _ in found.cases))
    figure, axes = new_figure(
        1, len(correlations), (10, 4.2), r"GMM of random rows tends to g($\rho$)", sentence, sharex=True, sharey=True
    )
    for row, (rho, df) in enumerate(found.cases):
        ax = axes[0, correlations.index(rho)]
        name, color = DISTRIBUTIONS.get(df, (f"t, {df:g} degrees of freedom", "#CC79A7"))
        ax.plot(found.n_features, np.sqrt(found.errors.mse[row]), "o", color=color, label=name, **{**FOUND, "ms": 4})
        if np.isfinite(found.theory()[row]).all():
            ax.plot(found.n_features, np.sqrt(found.theory()[row]), color="0.1", **THEORY)
    for ax, rho in zip(axes[0], correlations, strict=True):
        ax.set_title(rf"$\rho$ = {rho:g}", fontsize=10)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("features D")
    axes[0, 0].plot([], [], color="0.1", label="theory", **THEORY)
    axes[0, 0].set_ylabel(r"root mean square of GMM - g($\rho$)")
    axes[0, 0].legend(fontsize=8.5)
    return figure


def _draw_curves(ax: Axes, table: Table, s: TheorySimulations) -> None:
    source = np.array(table["source"])
    colors = dict(zip(GAMMAS, _ordered(len(GAMMAS)), strict=True))
    for gamma, color in colors.items():
        chosen = (source == "theory") & (table["gamma"] == gamma)
        ax.plot(table["rho"][chosen], table["ratio"][chosen], color=color, label=rf"$\gamma$ = {gamma:g}", **THEORY)
        found = (source == "simulation") & (table["gamma"] == gamma)
        ax.plot(table["rho"][found], table["ratio"][found], "o", color=color, markersize=6)
    ax.plot([], [], "o", color="0.4", markersize=6, label=f"simulated, k = {s.fourier.k[-1]:.0f}")
    ax.set_xlim(-1.02, 1.02)
    ax.set_xlabel(r"correlation $\rho$ of the two rows")
    ax.legend(fontsize=9)


def _draw_panels(axes: Any, panels: Any, k: Any, lines: Any) -> None:
    """Mean squared errors over k, one panel a pair (rho, gamma)."""
    at = _thinned(k)
    for row, (ax, (rho, gamma)) in enumerate(zip(axes.flat, panels, strict=False)):
        for (name, found, theory, formula), style in zip(lines, (WIDE, FOUND), strict=True):
            ax.plot(k[at], found[row, at], color=COLORS[name], label=f"{NAMES[name]}, simulated", **style)
            dashes = {**THEORY, "linestyle": (0, (5, 2)) if style is WIDE else (0, (2, 2))}
            ax.plot(k[at], theory[row, at], color="0.1", label=f"{NAMES[name]}, theory: {formula}", **dashes)
        kernel = math.exp(-gamma * (1 - rho))
        ax.set_title(rf"$\rho$ = {rho:g}, $\gamma$ = {gamma:g}: kernel {kernel:.2g}", fontsize=10)
        ax.set_xscale("log")
        ax.set_yscale("log")
    axes[1, 0].legend(fontsize=8.5, loc="lower left")
    for ax in axes[:, 0]:
        ax.set_ylabel("mean squared error")
    for ax in axes[-1]:
        ax.set_xlabel("number of samples k")


def _thinned(k: Any) -> Any:
    """Positions of some values of k, evenly spaced on a logarithmic axis: all would make large files."""
    return np.unique(np.round(np.geomspace(1, len(k), 120)).astype(int)) - 1


def _ordered(n: int) -> Any:
    import matplotlib

    return matplotlib.colormaps["viridis"](np.linspace(0, 0.88, n))
