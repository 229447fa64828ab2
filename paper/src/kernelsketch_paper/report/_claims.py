"""What the paper says about each of its figures, and whether the results show it too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..experiments import Row
from ._choice import grouped, mean_of
from ._costs import geometric_mean, timed
from ._format import signed
from ._hashing import SHOWN_B, Hashed, samples_needed
from ._parts import Column, Table
from ._tables import NAMES, Accuracy

MANY = 0.9  # share of datasets that "all" and "typically" stand for
NOT_MUCH = 1.0  # points of accuracy
COMPARABLE = 3.0  # ratio of training times


@dataclass(frozen=True)
class Evidence:
    """The results that claims are compared with."""

    kernels: dict[str, Accuracy]
    hashed: dict[str, Hashed]
    times: list[Row]

    def exact(self, dataset: str, kernel: str) -> float | None:
        value = self.kernels[dataset].get(kernel) if dataset in self.kernels else None
        return None if value is None else value.mean

    def hash(self, dataset: str, method: str, k: int, b: int = SHOWN_B) -> float | None:
        found = self.hashed.get(dataset)
        value = None if found is None else found.best(method, b if method == "gcws" else None, k)
        return None if value is None else value.mean


@dataclass(frozen=True)
class Seen:
    """Whether the results show what the paper says, and by how much."""

    holds: bool
    how: str


Check = Callable[[Evidence], Seen | None]


def claims_table(kernels: dict[str, Accuracy], hashed: dict[str, Hashed], rows: Iterable[Row]) -> Table:
    """Return each statement of the paper about a figure, with what the results show."""
    evidence = Evidence(kernels, hashed, timed(rows))
    lines: list[dict[str, Any]] = []
    for figure, says, check in CLAIMS:
        seen = check(evidence)
        verdict = "not measured" if seen is None else "yes" if seen.holds else "no"
        lines.append({"figure": figure, "says": says, "seen": verdict, "how": "" if seen is None else seen.how})
    columns = (
        Column("figure", "figure of the paper"),
        Column("says", "what the paper says"),
        Column("seen", "seen here"),
        Column("how", "by how much"),
    )
    caption = (
        "Accuracies are at the best C, as in the figures, and differences are in points. Results differ little if they "
        f"differ by at most {NOT_MUCH:g} point; times are about the same up to a factor of {COMPARABLE:g}. Statements "
        "that were not measured belong to datasets without results, or to bounds that do not decide."
    )
    return Table("claims", "Statements and results", caption, columns, lines, keys=2)


def kernels_beat_linear(evidence: Evidence) -> Seen | None:
    """Both nonlinear kernels are ahead of the linear one."""
    parts, holds = [], True
    for kernel in ("gmm", "rbf"):
        pairs = [(evidence.exact(d, kernel), evidence.exact(d, "linear")) for d in evidence.kernels]
        gains = [a - b for a, b in pairs if a is not None and b is not None]
        if not gains:
            return None
        ahead = sum(gain > 0 for gain in gains)
        holds &= ahead >= MANY * len(gains)
        parts.append(f"{NAMES[kernel]} on {ahead} of {len(gains)} datasets, median {signed(median(gains))}")
    return Seen(holds, "; ".join(parts))


def noise_order(evidence: Evidence) -> Seen | None:
    """GMM is ahead of RBF at levels 1 to 5 of correlated noise, and behind at level 6, where noise is independent."""
    gaps = {}
    for level in range(1, 7):
        gmm, rbf = (evidence.exact(f"M-Noise{level}", kernel) for kernel in ("gmm", "rbf"))
        if gmm is not None and rbf is not None:
            gaps[level] = gmm - rbf
    if not gaps:
        return None
    holds = all((gap > 0) == (level < 6) for level, gap in gaps.items())
    return Seen(holds, "GMM - RBF: " + ", ".join(f"level {level} {signed(gap)}" for level, gap in gaps.items()))


def exact_order(dataset: str, better: str, worse: str) -> Check:
    """One exact kernel is ahead of another on a dataset."""

    def check(evidence: Evidence) -> Seen | None:
        a, b = evidence.exact(dataset, better), evidence.exact(dataset, worse)
        if a is None or b is None:
            return None
        return Seen(a > b, f"{NAMES[better]} {a:.2f}, {NAMES[worse]} {b:.2f}: {signed(a - b)}")

    return check


def hashed_beats_linear(dataset: str, method: str, k: int) -> Check:
    """A hash with k samples is ahead of the linear kernel."""

    def check(evidence: Evidence) -> Seen | None:
        a, b = evidence.hash(dataset, method, k), evidence.exact(dataset, "linear")
        if a is None or b is None:
            return None
        return Seen(a > b, f"{NAMES[method]} {a:.2f}, linear {b:.2f}: {signed(a - b)}")

    return check


def gcws_beats_nrff(dataset: str) -> Check:
    """GCWS is ahead of NRFF at every number of samples."""

    def check(evidence: Evidence) -> Seen | None:
        gaps = _leads(evidence, dataset)
        if not gaps:
            return None
        shown = ", ".join(f"k = {k}: {signed(gap)}" for k, gap in gaps.items())
        return Seen(all(gap > 0 for gap in gaps.values()), shown)

    return check


def nrff_needs_more(dataset: str) -> Check:
    """NRFF needs more samples than GCWS to close 90 % of the gap between linear and its exact kernel."""

    def check(evidence: Evidence) -> Seen | None:
        found = evidence.hashed.get(dataset)
        if found is None:
            return None
        gcws, nrff = samples_needed(found, "gcws", 0.9), samples_needed(found, "nrff", 0.9)
        if gcws is None or nrff is None or (gcws.bound and gcws.bound == nrff.bound):
            return None
        fewer = gcws.bound != ">" and (nrff.bound == ">" or gcws.k < nrff.k)
        return Seen(fewer, f"90 % of the gap: GCWS {gcws.text()} samples, NRFF {nrff.text()}")

    return check


def four_bits_suffice(dataset: str) -> Check:
    """Four bits per sample give about the accuracy of eight."""

    def check(evidence: Evidence) -> Seen | None:
        found = evidence.hashed.get(dataset)
        samples = [] if found is None else found.samples("gcws", 4)
        pairs = [(evidence.hash(dataset, "gcws", k, 4), evidence.hash(dataset, "gcws", k, 8)) for k in samples]
        gaps = [a - b for a, b in pairs if a is not None and b is not None]
        if not gaps:
            return None
        widest = max(gaps, key=abs)
        return Seen(
            abs(widest) <= NOT_MUCH, f"b = 4 against 8, k from {samples[0]} to {samples[-1]}: at most {signed(widest)}"
        )

    return check


def gcws_typically_ahead(larger: bool) -> Check:
    """GCWS is ahead of NRFF on most of the other datasets, at the largest number of samples that both have."""

    def check(evidence: Evidence) -> Seen | None:
        gaps = {}
        for dataset in evidence.hashed:
            leads = _leads(evidence, dataset)
            if leads and (evidence.exact(dataset, "gmm") is None) == larger:
                gaps[dataset] = leads[128] if 128 in leads else next(iter(leads.values()))
        if not gaps:
            return None
        ahead = sum(gap > 0 for gap in gaps.values())
        how = f"k = 128: GCWS on {ahead} of {len(gaps)} datasets, median {signed(median(gaps.values()))}"
        return Seen(ahead >= MANY * len(gaps), how)

    return check


def times_are_comparable(evidence: Evidence) -> Seen | None:
    """GCWS and NRFF train in about the same time at the same k, by LIBLINEAR."""
    ratios = []
    for _, group in grouped([r for r in evidence.times if r.solver == "liblinear"], lambda r: (r.dataset, r.k)).items():
        by = {m: mean_of(r.train_seconds for r in g) for m, g in grouped(group, lambda r: r.method).items()}
        if by.get("gcws") and by.get("nrff"):
            ratios.append((by["nrff"] or 0) / (by["gcws"] or 1))
    middle = geometric_mean(ratios)
    if middle is None:
        return None
    return Seen(
        1 / COMPARABLE <= middle <= COMPARABLE, f"LIBLINEAR, C = 1: NRFF takes {middle:.1f} times as long as GCWS"
    )


def bits_cost_little(evidence: Evidence) -> Seen | None:
    """A larger b takes more time, but not much."""
    own = [r for r in evidence.times if r.method == "gcws" and r.solver == "kernelsketch"]
    ratios = []
    for group in grouped(own, lambda r: (r.dataset, r.k, r.C)).values():
        by = {r.b: r.train_seconds for r in group}
        if by.get(2) and by.get(8):
            ratios.append((by[8] or 0) / (by[2] or 1))
    middle = geometric_mean(ratios)
    if middle is None:
        return None
    return Seen(middle <= COMPARABLE, f"our solver: b = 8 takes {middle:.1f} times as long as b = 2")


def _leads(evidence: Evidence, dataset: str) -> dict[int, float]:
    """Return by how much GCWS is ahead of NRFF, by the number of samples."""
    found = evidence.hashed.get(dataset)
    leads = {}
    for k in [] if found is None else found.samples("gcws", SHOWN_B):
        a, b = evidence.hash(dataset, "gcws", k), evidence.hash(dataset, "nrff", k)
        if a is not None and b is not None:
            leads[k] = a - b
    return leads


CLAIMS: tuple[tuple[str, str, Check], ...] = (
    ("Kernel SVMs over C", "Both GMM and RBF improve on the linear kernel.", kernels_beat_linear),
    ("M-Noise1 to M-Noise6", "GMM is ahead of RBF at levels 1 to 5, and behind at level 6.", noise_order),
    ("Letter", "The exact RBF kernel is slightly ahead of GMM.", exact_order("Letter", "rbf", "gmm")),
    ("Letter", "GCWS is better than NRFF, most of all with few samples.", gcws_beats_nrff("Letter")),
    ("Letter", "With k = 16, GCWS beats the linear SVM.", hashed_beats_linear("Letter", "gcws", 16)),
    ("Webspam20k", "With k = 128, GCWS beats the linear SVM.", hashed_beats_linear("Webspam20k", "gcws", 128)),
    ("Webspam20k", "GCWS is better than NRFF, most of all with few samples.", gcws_beats_nrff("Webspam20k")),
    ("Webspam20k", "Four bits suffice.", four_bits_suffice("Webspam20k")),
    ("DailySports", "The exact GMM kernel is ahead of RBF.", exact_order("DailySports", "gmm", "rbf")),
    ("DailySports", "NRFF needs substantially more samples.", nrff_needs_more("DailySports")),
    ("DailySports", "From four bits on, results differ little.", four_bits_suffice("DailySports")),
    ("RobotNavi", "The exact GMM kernel is ahead of RBF.", exact_order("RobotNavi", "gmm", "rbf")),
    ("RobotNavi", "NRFF needs substantially more samples.", nrff_needs_more("RobotNavi")),
    ("RobotNavi", "From four bits on, results differ little.", four_bits_suffice("RobotNavi")),
    ("SEMG1", "The exact RBF kernel is ahead of GMM.", exact_order("SEMG1", "rbf", "gmm")),
    ("SEMG1", "NRFF still needs more samples than GCWS.", nrff_needs_more("SEMG1")),
    ("SEMG1", "From four bits on, results differ little.", four_bits_suffice("SEMG1")),
    ("M-Rotate", "The exact RBF kernel is ahead of GMM.", exact_order("M-Rotate", "rbf", "gmm")),
    ("M-Rotate", "NRFF still needs more samples than GCWS.", nrff_needs_more("M-Rotate")),
    ("M-Rotate", "From four bits on, results differ little.", four_bits_suffice("M-Rotate")),
    ("More datasets", "NRFF typically requires more samples than GCWS.", gcws_typically_ahead(larger=False)),
    ("Larger datasets", "NRFF typically requires more samples than GCWS.", gcws_typically_ahead(larger=True)),
    ("Training time", "At the same k, GCWS and NRFF take about the same time.", times_are_comparable),
    ("Training time", "A larger b increases the time, but not much.", bits_cost_little),
)
