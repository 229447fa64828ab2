"""Plan the cells to run, given the results so far.

A plan is a pure function of the known rows. Values of gamma are chosen from coarse to fine, and NRFF takes the gamma
that was best for the RBF kernel, so the plan grows as results come in. The runner makes a new plan when they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from .. import data
from . import _protocol as protocol
from ._cells import Cell
from ._protocol import GAMMAS, Scale
from ._results import Row, published
from ._targets import Selection

FINE_ROUNDS = 2


class ResultsSoFar:
    """Results of the RBF kernel so far, which later cells depend on."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.accuracy: dict[tuple[str, int], dict[float, float]] = defaultdict(
            dict
        )  # (dataset, split): best accuracy by gamma
        self.searched: dict[str, dict[float, float]] = defaultdict(dict)
        self.at: dict[tuple[str, int], tuple[float, float]] = {}  # (dataset, split): best accuracy and minus its C
        for row in rows:
            if row.experiment != "kernels" or row.method != "rbf" or row.gamma is None:
                continue
            if row.accuracy is not None:
                found = self.accuracy[row.dataset, row.split]
                found[row.gamma] = max(found.get(row.gamma, 0.0), row.accuracy)
                so_far = self.at.get((row.dataset, row.split), (0.0, 0.0))
                self.at[row.dataset, row.split] = max(so_far, (row.accuracy, -(row.C or 0)))
            elif row.cv_accuracy is not None:
                best = self.searched[row.dataset]
                best[row.gamma] = max(best.get(row.gamma, 0.0), row.cv_accuracy)


def plan(selection: Selection, rows: Iterable[Row]) -> list[Cell]:
    """Return all cells that the results so far call for, finished ones included, in the order to run them."""
    known = ResultsSoFar(rows)
    makers = {
        "kernels": _kernels,
        "hashing": _hashing,
        "comparison": _comparison,
        "tunable": _tunable,
        "time": _time,
    }
    cells: dict[str, Cell] = {}
    for experiment, names in selection.experiments.items():
        for name in sorted(names, key=lambda name: train_rows(name, selection.scale)):  # small ones first
            for cell in makers[experiment](name, selection.scale, known):
                cell = replace(cell, verified=selection.verified)
                cells.setdefault(cell.key, cell)
    return list(cells.values())


def sizes(name: str) -> tuple[int, int, int]:
    """Return the numbers of training rows, test rows and features in the registry."""
    entry = data.entry(name)
    return entry.n_train or 0, entry.n_test or 0, entry.n_features or 0


def train_rows(name: str, scale: Scale) -> int:
    """Return the number of training rows at a scale."""
    size = sizes(name)[0]
    return size if scale.rows is None else min(size, scale.rows)


def splits_of(name: str, scale: Scale) -> range:
    """Return the numbers of the splits: one for official splits and generated datasets, several for random splits."""
    entry = data.entry(name)
    if entry.recipe is not None or not entry.split.startswith("random"):
        return range(1)
    size = train_rows(name, scale)
    return range(scale.splits[0 if size <= 1500 else 1 if size <= protocol.LARGE else 2])


def _cs(name: str, scale: Scale) -> tuple[float, ...]:
    if scale.cs is not None:
        return scale.cs
    size = train_rows(name, scale)
    if size > protocol.LARGEST and not scale.full:
        return tuple(C for C in protocol.FEWER_CS if C <= 100)
    return protocol.FEWER_CS if size > protocol.LARGE else protocol.ALL_CS


def _linear_cs(name: str, scale: Scale) -> tuple[float, ...]:
    if scale.cs is not None:
        return scale.cs
    return protocol.HASHING_CS if train_rows(name, scale) > protocol.LARGE else protocol.LINEAR_CS


def _kernels(name: str, scale: Scale, known: ResultsSoFar) -> Iterator[Cell]:
    exact = name not in protocol.LARGER
    for split in splits_of(name, scale):
        yield Cell("kernels", name, "linear", _linear_cs(name, scale), split, rows=scale.rows)
        if exact:
            yield Cell("kernels", name, "gmm", _cs(name, scale), split, rows=scale.rows)
            yield from _rbf(name, split, scale, known)


def _rbf(name: str, split: int, scale: Scale, known: ResultsSoFar) -> Iterator[Cell]:
    for gamma in _gammas(name, split, scale, known):
        yield Cell("kernels", name, "rbf", _cs(name, scale), split, rows=scale.rows, gammas=(gamma,))
    if _searches(name, scale):
        yield _search(name, scale)
    more = protocol.MORE_CS if train_rows(name, scale) <= protocol.SMALL else protocol.FEWER_CS[-1:]
    for gamma in _gammas_for_more(name, split, scale, known):
        yield Cell("kernels", name, "rbf", more, split, rows=scale.rows, gammas=(gamma,))


def _gammas_for_more(name: str, split: int, scale: Scale, known: ResultsSoFar) -> list[float]:
    """Return values of gamma to try with larger C.

    They are the paper's gamma if it is small and, where the largest C was best, our best gamma and three smaller ones.
    """
    gammas = _gammas(name, split, scale, known)
    found = known.accuracy[name, split]
    size = train_rows(name, scale)
    if scale.cs is not None or not gammas or not set(gammas) <= set(found):
        return []
    if size > protocol.SMALL:  # beyond LARGEST, try the C that was left out if the largest C was best
        return [_best(found)] if size > protocol.LARGEST and -known.at[name, split][1] == max(_cs(name, scale)) else []
    paper = published().get(name)
    theirs = [paper.rbf_gamma] if paper is not None and paper.rbf_gamma is not None else []
    if -known.at[name, split][1] < max(_cs(name, scale)):
        return [gamma for gamma in theirs if gamma <= 1]
    if split:
        return sorted({_best(known.accuracy[name, 0]), *theirs})
    smaller = [gamma for gamma in sorted(found) if gamma < _best(found)]
    return sorted({_best(found), *theirs, *smaller[-3:]})


def _searches(name: str, scale: Scale) -> bool:
    return not scale.full and train_rows(name, scale) > protocol.LARGE


def _search(name: str, scale: Scale) -> Cell:
    Cs, gammas = scale.cs or protocol.FEWER_CS, protocol.COARSE_GAMMAS
    return Cell("kernels", name, "rbf", Cs, rows=scale.rows, search=True, gammas=gammas)


def _gammas(name: str, split: int, scale: Scale, known: ResultsSoFar) -> list[float]:
    """Return the values to run now: first the coarse ones, then values between the best one and its neighbours."""
    if scale.full:
        return list(GAMMAS)
    first = _first_gammas(name, scale, known)
    found = known.accuracy[name, 0]
    rounds = FINE_ROUNDS if train_rows(name, scale) <= protocol.LARGE else 1
    if not first or not set(first) <= set(found):
        return first if split == 0 else []
    planned = sorted(set(first) | (set(found) & set(GAMMAS)))
    if len(found) < len(first) + 2 * rounds and scale.rows is None:
        planned += _between(found)
    if split == 0:
        return planned
    if not set(planned) <= set(found):
        return []
    ordered = sorted(found)  # other splits run the best value of the first split and its neighbours
    best = ordered.index(_best(found))
    return ordered[max(0, best - 2) : best + 3]


def _first_gammas(name: str, scale: Scale, known: ResultsSoFar) -> list[float]:
    paper = published().get(name)
    theirs = [paper.rbf_gamma] if paper is not None and paper.rbf_gamma is not None else []
    if not _searches(name, scale):
        return sorted({*scale.gammas, *theirs})
    cv = known.searched[name]
    count = 3 if train_rows(name, scale) <= protocol.LARGEST else 1
    return sorted({*sorted(cv, key=lambda gamma: -cv[gamma])[:count], *theirs}) if cv else []


def _between(found: dict[float, float]) -> list[float]:
    places = sorted(GAMMAS.index(gamma) for gamma in found if gamma in GAMMAS)
    best = GAMMAS.index(_best(found))
    below = max((place for place in places if place < best), default=-1)
    above = min((place for place in places if place > best), default=len(GAMMAS))
    halves = [(below + best) // 2, (best + above) // 2]
    return [GAMMAS[place] for place in halves if 0 <= place < len(GAMMAS) and place not in places]


def _best(found: dict[float, float]) -> float:
    return min(found, key=lambda gamma: (-found[gamma], gamma))


def best_gamma(name: str, scale: Scale, known: ResultsSoFar) -> float | None:
    """Return the best gamma of the RBF kernel on the first split, or None while its values are not done.

    For the larger datasets, cross-validation chooses it.
    """
    if name in protocol.LARGER:
        return _best(known.searched[name]) if known.searched[name] else None
    found = known.accuracy[name, 0]
    gammas = _gammas(name, 0, scale, known)
    return _best(found) if gammas and set(gammas) <= set(found) else None


def _repetitions(name: str, k: int, scale: Scale) -> int:
    """Return the number of repetitions: fewer for large k, where results vary less, and for many rows."""
    count = scale.repetitions[0 if k <= 256 else 1 if k <= 1024 else 2]
    return count if scale.full or train_rows(name, scale) <= protocol.LARGE else min(count, 3)


def _hashing(name: str, scale: Scale, known: ResultsSoFar) -> Iterator[Cell]:
    yield from _kernels(name, scale, known)
    detailed = name in protocol.DETAILED + protocol.DETAILED_STAND_INS
    most = 1024 if not scale.full and train_rows(name, scale) > protocol.LARGE else 4096
    if name in protocol.LARGER:
        yield _search(name, scale)
        most = 1024
    gamma = best_gamma(name, scale, known)
    samples = [k for k in scale.ks if (detailed or k >= 128) and k <= most]
    hashed = partial(Cell, "hashing", name, rows=scale.rows)
    Cs = scale.cs or protocol.HASHING_CS
    for k in samples:
        for repetition in range(_repetitions(name, k, scale)):
            every_b = detailed and (scale.full or (repetition < 3 and k <= 1024))  # b = 8 has the most repetitions
            for b in scale.bits if every_b else scale.bits[-1:]:
                yield hashed("gcws", Cs, solver="kernelsketch", k=k, b=b, repetition=repetition)
            if gamma is not None:
                yield hashed("nrff", Cs, solver="newton", k=k, gammas=(gamma,), repetition=repetition)
    for k in [k for k in samples if 64 <= k <= (1024 if scale.full else 128)]:  # checks our solvers against LIBLINEAR
        yield hashed("gcws", (1.0,), solver="liblinear", k=k, b=8)
        if gamma is not None:
            yield hashed("nrff", (1.0,), solver="liblinear", k=k, gammas=(gamma,))


def _comparison(name: str, scale: Scale, known: ResultsSoFar) -> Iterator[Cell]:
    rows = scale.rows
    if rows is None and not scale.full:
        rows = protocol.COMPARISON_ROWS
    Cs, linear = scale.cs or protocol.COMPARISON_CS, scale.cs or protocol.COMPARISON_LINEAR_CS
    for split in splits_of(name, scale)[: None if scale.full else 2 if scale.rows is None else 1]:
        for method in protocol.COMPARED:
            scalings = ("none",) if method in ("trees", "lightgbm") else ("minmax", "standard")
            for scaling in scalings:
                yield Cell("comparison", name, method, linear if method == "linear" else Cs, split, scaling, rows)


def _tunable(name: str, scale: Scale, known: ResultsSoFar) -> Iterator[Cell]:
    few = scale.rows is not None
    powers = (0.5, 1.0, 2.0) if few else protocol.POWERS
    exponents = (1.0, 8.0) if few else protocol.EXPONENTS
    Cs = scale.cs or protocol.COMPARISON_CS
    few_splits = (few or train_rows(name, scale) > 1500) and not scale.full
    for split in splits_of(name, scale)[: 1 if few_splits else None if scale.full else 2]:
        for method in ("gmm", "pgmm", "egmm", "epgmm"):
            gammas, p = exponents if method[0] == "e" else (), powers if "p" in method else ()
            yield Cell("tunable", name, method, Cs, split, rows=scale.rows, gammas=gammas, powers=p)


def _time(name: str, scale: Scale, known: ResultsSoFar) -> Iterator[Cell]:
    """Yield cells that time each C alone. LIBLINEAR takes minutes, so it runs for the smallest k only."""
    timed = partial(Cell, "time", name, rows=scale.rows)
    Cs, gammas = scale.cs or protocol.TIME_CS, (protocol.TIMED_GAMMA,)
    for k in [k for k in protocol.TIME_KS if k <= max(128, *scale.ks)]:
        for b in protocol.TIME_BITS:
            yield timed("gcws", Cs, solver="kernelsketch", k=k, b=b)
        yield timed("nrff", Cs, solver="newton", k=k, gammas=gammas)
        if scale.full or k == protocol.TIME_KS[0] or scale.rows is not None:
            for b in protocol.TIME_BITS if scale.full else protocol.TIME_BITS[-1:]:
                yield timed("gcws", (1.0,), solver="liblinear", k=k, b=b)
            yield timed("nrff", (1.0,), solver="liblinear", k=k, gammas=gammas)
