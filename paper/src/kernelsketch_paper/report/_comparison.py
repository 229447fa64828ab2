"""The comparison with other methods: scaled features, settings by cross-validation, rank tests, and losses of GMM."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from ..drawing import Ranking
from ..experiments import Row
from ._choice import grouped, score_of, usable
from ._parts import Column, Score, Table
from ._tables import NAMES, Accuracy

METHODS = ("linear", "rbf", "gmm", "gcws", "nrff", "nystroem", "trees", "lightgbm")
SCALE_FREE = ("trees", "lightgbm")  # these methods use only the order of the values of a feature
SCALINGS = {
    "minmax": "features scaled to an interval",
    "standard": "features standardized",
    "paper": "features as they are",
}
TUNABLE = ("gmm", "pgmm", "egmm", "epgmm")
Scores = dict[str, dict[str, Score]]  # by dataset and method


def scalings(rows: Iterable[Row]) -> list[str]:
    """Return the scalings under which methods that depend on scaling were run."""
    found = {r.scaling for r in usable(rows, "comparison") if r.method not in SCALE_FREE}
    order = [*SCALINGS, *sorted(found - set(SCALINGS))]
    return [name for name in order if name in found]


def scores(rows: Iterable[Row], scaling: str) -> Scores:
    """Return accuracies with settings by cross-validation. Trees count under every scaling."""
    found: Scores = {}
    for (dataset, method), group in grouped(usable(rows, "comparison"), lambda r: (r.dataset, r.method)).items():
        kept = [r for r in group if r.scaling == scaling]
        value = score_of(kept or (group if method in SCALE_FREE else []), "cv")
        if value is not None:
            found.setdefault(dataset, {})[method] = value
    return found


def methods_of(found: Scores) -> tuple[str, ...]:
    """Return the methods that have a score, in the order of METHODS."""
    names = {method for by in found.values() for method in by}
    return (*(m for m in METHODS if m in names), *sorted(names - set(METHODS)))


def comparison_table(found: Scores, scaling: str) -> Table:
    """Return the accuracies of all methods, one dataset per row."""
    methods = methods_of(found)
    lines: list[dict[str, Any]] = [{"dataset": name, **found[name]} for name in sorted(found)]
    best = []
    for line in lines:
        top = max(round(line[m].mean, 2) for m in methods if m in line)
        best.append(frozenset(m for m in methods if m in line and round(line[m].mean, 2) == top))
    columns = (Column("dataset", "dataset"), *(Column(m, NAMES.get(m, m), "score") for m in methods))
    title = f"Comparison, {SCALINGS.get(scaling, scaling)}"
    caption = (
        "Accuracy in percent, settings by cross-validation: mean ± standard deviation over splits. The best is bold."
    )
    return Table(f"comparison-{scaling}", title, caption, columns, lines, best=best)


def complete(found: Scores) -> tuple[tuple[str, ...], list[str]]:
    """Return the methods that at least half of the datasets have, and the datasets that have all of these methods."""
    half = len(found) / 2
    methods = tuple(m for m in methods_of(found) if sum(m in by for by in found.values()) >= half)
    return methods, sorted(d for d, by in found.items() if all(m in by for m in methods))


def ranking(found: Scores, scaling: str) -> Ranking | None:
    """Return the ranks of the methods on the datasets that are complete; None if there are too few."""
    methods, datasets = complete(found)
    values = np.array([[found[d][m].mean for m in methods] for d in datasets])
    names = tuple(NAMES.get(m, m) for m in methods)
    return rank_tests(f"ranks-{scaling}", f"Average ranks, {SCALINGS.get(scaling, scaling)}", names, values)


def rank_tests(
    key: str, title: str, methods: tuple[str, ...], values: np.ndarray, level: float = 0.05
) -> Ranking | None:
    """Apply Friedman's test and Nemenyi's critical difference; None with less than three methods or two datasets.

    ``values`` has one dataset per row and one method per column. More is better.
    """
    if len(methods) < 3 or len(values) < 2:
        return None
    mean_ranks = rankdata(-values, axis=1).mean(axis=0)
    if (values == values[:, :1]).all():
        statistic, p_value = 0.0, 1.0  # all scores are equal, where the test would divide by zero
    else:
        statistic, p_value = map(float, friedmanchisquare(*values.T))
    n = len(methods)
    # Nemenyi's quantile is that of the studentized range with infinitely many degrees of freedom, over the root of 2.
    quantile = float(studentized_range.ppf(1 - level, n, np.inf)) / math.sqrt(2)
    critical = quantile * math.sqrt(n * (n + 1) / (6 * len(values)))
    order = np.argsort(mean_ranks, kind="stable")
    ranks = tuple(float(mean_ranks[i]) for i in order)
    verdict = "the methods differ" if p_value < level else "no difference between the methods is shown"
    caption = (
        f"Average rank over {len(values)} datasets; 1 is best. Friedman's test (chi-square {statistic:.1f}, "
        f"p = {p_value:.2g}): {verdict} at the {100 * level:g} % level. By Nemenyi's test, methods whose ranks are "
        f"less than {critical:.2f} apart do not differ significantly; bars join them."
    )
    groups = cliques(ranks, critical)
    ordered = tuple(methods[i] for i in order)
    return Ranking(key, title, caption, ordered, ranks, len(values), statistic, p_value, critical, groups)


def cliques(ranks: tuple[float, ...], critical: float) -> tuple[tuple[int, int], ...]:
    """Return the longest runs of at least two sorted ranks that span no more than the critical difference."""
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] <= critical)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(found)


def losses(kernels: dict[str, Accuracy], compared: dict[str, Scores]) -> Table:
    """Return where another method beats GMM: linear or RBF in the paper's protocol, any method in the comparison."""
    lines: list[dict[str, Any]] = []
    for dataset, found in kernels.items():
        gmm = found.get("gmm")
        others = {m: v for m in ("linear", "rbf") if (v := found.get(m)) is not None}
        _add_loss(lines, dataset, "the paper's protocol", gmm, others)
    for scaling, by_dataset in compared.items():
        for dataset, by in by_dataset.items():
            own = by.get("gmm") or by.get("gcws")
            others = {m: v for m, v in by.items() if m not in ("gmm", "gcws")}
            _add_loss(lines, dataset, SCALINGS.get(scaling, scaling), own, others)
    lines.sort(key=lambda line: line["lead"])
    columns = (
        Column("dataset", "dataset"),
        Column("where", "features"),
        Column("gmm", "GMM", "score"),
        Column("winner", "best other method"),
        Column("accuracy", "its accuracy", "score"),
        Column("lead", "GMM - other", "points"),
    )
    caption = "Datasets where the best other method is ahead of GMM, the largest losses first."
    return Table("losses", "Datasets on which another method is ahead", caption, columns, lines, keys=2)


def _add_loss(
    lines: list[dict[str, Any]], dataset: str, where: str, gmm: Score | None, others: dict[str, Score]
) -> None:
    if gmm is None or not others:
        return
    winner = max(others, key=lambda m: others[m].mean)
    lead = gmm.mean - others[winner].mean
    if lead < 0:
        name = NAMES.get(winner, winner)
        cells = {"gmm": gmm, "winner": name, "accuracy": others[winner], "lead": lead}
        lines.append({"dataset": dataset, "where": where, **cells})


def tunable_table(rows: Iterable[Row]) -> Table:
    """Return the accuracies of GMM with a power, an exponential or both, with settings by cross-validation."""
    lines: list[dict[str, Any]] = []
    best = []
    for dataset, own in grouped(usable(rows, "tunable"), lambda r: r.dataset).items():
        cells: dict[str, Any] = {"dataset": dataset}
        for method, group in grouped(own, lambda r: r.method).items():
            value = score_of(group, "cv")
            if value is not None:
                cells |= {method: value, f"{method}_setting": _setting(value)}
        known = {m: cells[m].mean for m in TUNABLE if m in cells}
        if not known:
            continue
        top = max(known.values())
        best.append(frozenset(m for m, v in known.items() if v == top))
        cells["gain"] = known["epgmm"] - known["gmm"] if {"gmm", "epgmm"} <= set(known) else None
        lines.append(cells)
    columns = [Column("dataset", "dataset")]
    for method in TUNABLE:
        columns.append(Column(method, "accuracy", "score", NAMES[method]))
        if method != "gmm":
            columns.append(Column(f"{method}_setting", "setting", "text", NAMES[method]))
    columns.append(Column("gain", "epGMM - GMM", "points"))
    caption = (
        "Accuracy in percent. Cross-validation within the training rows chooses p, gamma and C; the table shows the "
        "values chosen most often."
    )
    return Table("tunable", "What parameters add", caption, tuple(columns), lines, best=best)


def _setting(value: Score) -> str:
    parts = [f"{name} = {v:g}" for name, v in (("p", value.p), ("gamma", value.gamma)) if v is not None]
    return ", ".join(parts)
