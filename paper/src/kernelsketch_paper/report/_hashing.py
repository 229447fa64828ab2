"""Hashing: accuracy by number of samples, the samples needed to approach the exact kernel, and storage.

The accuracy of a hash is the mean over its repetitions and splits. C, and gamma of NRFF, are those with the best mean
on the test rows, as in the figures of the paper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..experiments import Row, published
from ._choice import accuracy, grouped, score_of_repetitions, usable
from ._parts import Column, Score, Table
from ._tables import NAMES, Accuracy, accuracies

FRACTIONS = (0.5, 0.9, 0.99)
SHOWN_B, SHOWN_K = 8, 1024
NRFF_BITS = 32
SOLVERS = ("kernelsketch", "newton", "liblinear")  # settles ties between solvers with equally many rows
Curve = dict[float, Score]  # by C


@dataclass(frozen=True)
class Hashed:
    """Hashing results of a dataset: curves over C by method, bits and samples, and the exact kernels."""

    dataset: str
    curves: dict[tuple[str, int | None, int], Curve]
    solvers: dict[str, str]
    exact: Accuracy | None

    def best(self, method: str, b: int | None, k: int) -> Score | None:
        curve = self.curves.get((method, b, k))
        return max(curve.values(), key=lambda m: m.mean) if curve else None

    def samples(self, method: str, b: int | None) -> list[int]:
        return sorted(k for name, bits, k in self.curves if (name, bits) == (method, b))

    def bits(self) -> list[int]:
        return sorted({b for name, b, _ in self.curves if name == "gcws" and b is not None})

    def exact_mean(self, kernel: str) -> float | None:
        value = None if self.exact is None else self.exact.get(kernel)
        return None if value is None else value.mean


def main_solver(rows: list[Row]) -> str:
    """Return the solver with the most rows, since accuracies of different solvers must not be mixed."""
    counts = Counter(r.solver for r in rows)
    order = {name: at for at, name in enumerate(SOLVERS)}
    return min(counts, key=lambda name: (-counts[name], order.get(name, len(order)), name))


def curve(rows: list[Row]) -> Curve:
    """Return the accuracy over C: the mean over repetitions and splits, at the best gamma for each C."""
    found: Curve = {}
    for C, group in sorted(grouped([r for r in rows if r.C is not None], lambda r: r.C or 0.0).items()):
        settings = {
            gamma: score_of_repetitions([accuracy(r) for r in g])
            for gamma, g in grouped(group, lambda r: r.gamma).items()
        }
        gamma = max(settings, key=lambda g: settings[g].mean)
        value = settings[gamma]
        found[C] = Score(value.mean, value.sd, value.n, gamma, None, C)
    return found


def hashed(rows: Iterable[Row]) -> dict[str, Hashed]:
    """Return hashing results by dataset, in the order of the paper."""
    rows = list(rows)
    found = {}
    for dataset, own in grouped(usable(rows, "hashing"), lambda r: r.dataset).items():
        curves: dict[tuple[str, int | None, int], Curve] = {}
        solvers = {}
        for method, group in grouped([r for r in own if r.k is not None], lambda r: r.method).items():
            solvers[method] = main_solver(group)
            kept = [r for r in group if r.solver == solvers[method]]
            for (b, k), cell in grouped(kept, lambda r: (r.b, r.k or 0)).items():
                values = curve(cell)
                if values:
                    curves[method, b if method == "gcws" else None, k] = values
        exact = [r for r in rows if r.dataset == dataset]
        same = accuracies(exact, {r.split or 0 for r in own}).get(dataset)  # only the splits that were hashed
        found[dataset] = Hashed(dataset, curves, solvers, same or accuracies(exact).get(dataset))
    order = {name: at for at, name in enumerate(published())}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


def against_exact(found: dict[str, Hashed]) -> Table:
    """Compare GCWS with b = 8 and k = 1024 with the exact GMM kernel, and with NRFF of as many samples."""
    lines: list[dict[str, Any]] = []
    for dataset, h in found.items():
        gcws, nrff = h.best("gcws", SHOWN_B, SHOWN_K), h.best("nrff", None, SHOWN_K)
        if gcws is None and nrff is None:
            continue
        gmm, rbf = h.exact_mean("gmm"), h.exact_mean("rbf")
        lines.append(
            {
                "dataset": dataset,
                "linear": h.exact_mean("linear"),
                "gcws": gcws,
                "gmm": gmm,
                "gcws_gap": None if gcws is None or gmm is None else gcws.mean - gmm,
                "nrff": nrff,
                "rbf": rbf,
                "nrff_gap": None if nrff is None or rbf is None else nrff.mean - rbf,
                "lead": None if gcws is None or nrff is None else gcws.mean - nrff.mean,
            }
        )
    columns = (
        Column("dataset", "dataset"),
        Column("linear", "linear", "percent"),
        Column("gcws", "hashed", "score", "GCWS and GMM"),
        Column("gmm", "exact", "percent", "GCWS and GMM"),
        Column("gcws_gap", "hashed - exact", "points", "GCWS and GMM"),
        Column("nrff", "hashed", "score", "NRFF and RBF"),
        Column("rbf", "exact", "percent", "NRFF and RBF"),
        Column("nrff_gap", "hashed - exact", "points", "NRFF and RBF"),
        Column("lead", "GCWS - NRFF", "points"),
    )
    title = f"{SHOWN_K} samples: GCWS (b = {SHOWN_B}) and NRFF compared with their exact kernels"
    caption = (
        "Accuracy in percent; ± is the standard deviation over repetitions of the hash. Differences are in points."
    )
    best = [_leader(line) for line in lines]
    return Table("hashing-exact", title, caption, columns, lines, best=best)


def _leader(line: dict[str, Any]) -> frozenset[str]:
    return frozenset() if line["lead"] is None else frozenset({"gcws" if line["lead"] >= 0 else "nrff"})


@dataclass(frozen=True)
class Needed:
    """Number of samples that reaches a target, or a bound where the target lies outside the measured range."""

    k: float
    bound: str = ""  # "", "<=" or ">"

    def text(self, each: float = 1.0) -> str:
        sign = {"": "", "<=": "≤ ", ">": "> "}[self.bound]
        return f"{sign}{self.k * each:,.0f}"


def needed(values: dict[int, float], target: float) -> Needed | None:
    """Return the samples needed for an accuracy, interpolated in log k; None without measurements."""
    before: tuple[int, float] | None = None
    for k, value in sorted(values.items()):
        if value >= target:
            if before is None:
                return Needed(float(k), "<=")
            share = (target - before[1]) / (value - before[1])
            return Needed(math.exp(math.log(before[0]) + share * math.log(k / before[0])))
        before = (k, value)
    return Needed(float(before[0]), ">") if before else None


def samples_needed(h: Hashed, method: str, fraction: float) -> Needed | None:
    """Return the samples that close a fraction of the gap from linear to exact; None if there is no gap."""
    linear, exact = h.exact_mean("linear"), h.exact_mean({"gcws": "gmm", "nrff": "rbf"}[method])
    if linear is None or exact is None or exact <= linear:
        return None
    bits = SHOWN_B if method == "gcws" else None
    values = {k: best.mean for k in h.samples(method, bits) if (best := h.best(method, bits, k)) is not None}
    return needed(values, linear + fraction * (exact - linear))


def needed_table(found: dict[str, Hashed]) -> Table:
    """Return the samples and bytes that GCWS and NRFF need to approach their exact kernels."""
    lines: list[dict[str, Any]] = []
    for dataset, h in found.items():
        cells: dict[str, Any] = {"dataset": dataset}
        for method, bits in (("gcws", SHOWN_B), ("nrff", NRFF_BITS)):
            for fraction in FRACTIONS:
                value = samples_needed(h, method, fraction)
                cells[f"{method}_{fraction:g}"] = None if value is None else value.text()
                if fraction == 0.9:
                    cells[f"{method}_bytes"] = None if value is None else value.text(bits / 8)
        if any(cells[key] is not None for key in cells if key != "dataset"):
            lines.append(cells)
    columns = [Column("dataset", "dataset")]
    for method in ("gcws", "nrff"):
        kernel = {"gcws": "GMM", "nrff": "RBF"}[method]
        heading = f"{NAMES[method]}, of the gap to {kernel}"
        columns += [Column(f"{method}_{f:g}", f"{100 * f:g} %", "samples", heading) for f in FRACTIONS]
    columns += [Column(f"{m}_bytes", NAMES[m], "samples", "bytes per row at 90 %") for m in ("gcws", "nrff")]
    caption = (
        "Samples k that reach the accuracy of the linear kernel plus 50, 90 and 99 % of the gap to the exact kernel, "
        f"interpolated in log k. GCWS takes b = {SHOWN_B} bits per sample, NRFF {NRFF_BITS}. The sign > means that the "
        "largest measured k does not reach it, and ≤ that the smallest does."
    )
    return Table("samples-needed", "Samples needed to approach the exact kernel", caption, tuple(columns), lines)


def fewer_samples(found: dict[str, Hashed], fraction: float = 0.9) -> tuple[int, int]:
    """Count the datasets on which GCWS needs fewer samples than NRFF, and the datasets that can be compared."""
    wins = of = 0
    for h in found.values():
        gcws, nrff = samples_needed(h, "gcws", fraction), samples_needed(h, "nrff", fraction)
        if gcws is None or nrff is None or (gcws.bound and gcws.bound == nrff.bound):
            continue  # two equal bounds do not show which value is smaller
        of += 1
        wins += gcws.bound != ">" and (nrff.bound == ">" or gcws.k < nrff.k)
    return wins, of


def storage_table(found: dict[str, Hashed]) -> Table:
    """Return the bytes per row, by samples and bits."""
    samples = sorted({k for h in found.values() for _, _, k in h.curves})
    bits = sorted({b for h in found.values() for b in h.bits()})
    lines = [{"k": k, **{f"b{b}": math.ceil(k * b / 8) for b in bits}, "nrff": k * NRFF_BITS // 8} for k in samples]
    columns = (
        Column("k", "samples k", "count"),
        *(Column(f"b{b}", f"b = {b}", "count", "GCWS") for b in bits),
        Column("nrff", f"{NRFF_BITS} bits", "count", "NRFF"),
    )
    caption = f"Bytes per hashed row: k b / 8 for GCWS, {NRFF_BITS // 8} k for NRFF."
    return Table("storage", "Storage of hashed rows", caption, columns, lines)


def solver_table(rows: Iterable[Row]) -> Table:
    """Return how far two solvers differ in accuracy on the same hash with the same settings."""
    lines: list[dict[str, Any]] = []
    groups = grouped(usable(rows, "hashing"), lambda r: (r.dataset, r.method))
    for (dataset, method), group in groups.items():
        cells = grouped(group, lambda r: (r.split, r.repetition, r.k, r.b, r.gamma, r.C))
        both: dict[tuple[str, str], list[float]] = {}
        for same in cells.values():
            by = {r.solver: accuracy(r) for r in same}
            names = sorted(by)
            for at, one in enumerate(names):
                for other in names[at + 1 :]:
                    both.setdefault((one, other), []).append(by[one] - by[other])
        for (one, other), gaps in both.items():
            lines.append(
                {
                    "dataset": dataset,
                    "method": NAMES.get(method, method),
                    "solvers": f"{one} - {other}",
                    "mean": sum(gaps) / len(gaps),
                    "largest": max(map(abs, gaps)),
                    "settings": len(gaps),
                }
            )
    columns = (
        Column("dataset", "dataset"),
        Column("method", "method"),
        Column("solvers", "solvers"),
        Column("mean", "mean difference", "points"),
        Column("largest", "largest absolute difference", "percent"),
        Column("settings", "settings", "count"),
    )
    caption = "Differences of accuracy in points, over the settings that both solvers have."
    return Table("solvers", "Do solvers agree?", caption, columns, lines, keys=3)
