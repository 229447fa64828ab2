"""How long models of tables take: budgets, columns, the choice of C, trees. compare_tabular.py measures quality.

    python benchmarks/bench_tabular.py [budget] [columns] [search] [trees]

- budget: seconds that a fit takes against the budget that it was given, on generated tables of numbers;
- columns: seconds of ``RelevanceScaler`` from 50 to 5,000 columns, which should grow in proportion;
- search: seconds of ``GCWSClassifierCV`` with its three folds against ten values of C on five folds;
- trees: seconds in which boosted trees grow, against HistGradientBoosting with as many trees and leaves.

The results go to results/tabular.csv, one line per measurement, with the median of the rounds where there are several.
Each kind replaces its own lines only.
"""

from __future__ import annotations

import csv
import sys
from statistics import median
from time import perf_counter

import numpy as np
from machine import RESULTS
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSClassifierCV, GCWSTabularClassifier, RelevanceScaler
from kernelsketch.tabular._bins import Bins
from kernelsketch.tabular._boosting import LEAF_ROWS, LEAVES, Boosting

OUT = RESULTS / "tabular.csv"
COLUMNS = ["kind", "rows", "columns", "classes", "what", "seconds", "than", "than_seconds"]
ROUNDS = 3


def seconds(call, rounds=1):
    found = []
    for _ in range(rounds):
        start = perf_counter()
        call()
        found.append(perf_counter() - start)
    return median(found)


def table(rows, columns, classes, seed=0):
    informative = min(columns, 8)
    return make_classification(
        rows, columns, n_informative=informative, n_redundant=0, n_classes=classes, random_state=seed
    )


def budgets():
    for rows, columns, classes in ((5000, 20, 2), (20_000, 20, 2), (20_000, 20, 10)):
        X, y = table(rows, columns, classes)
        for budget in (1.0, 3.0, 10.0):
            model = GCWSTabularClassifier(budget=budget)
            yield rows, columns, classes, "fit", seconds(lambda m=model, X=X, y=y: m.fit(X, y)), "budget", budget


def columns():
    before = None
    for count in (50, 500, 5000):
        X, y = table(3000, count, 2)
        found = seconds(lambda X=X, y=y: RelevanceScaler().fit(X, y), ROUNDS)
        yield 3000, count, 2, "RelevanceScaler", found, "a tenth of the columns", before
        before = found


def search():
    X, y = load_digits(return_X_y=True)
    ten = np.logspace(-2, 2.5, 10)
    own = seconds(lambda: GCWSClassifierCV(512, random_state=0).fit(X, y), ROUNDS)
    wide = seconds(lambda: GCWSClassifierCV(512, Cs=ten, cv=5, random_state=0).fit(X, y), ROUNDS)
    yield len(y), X.shape[1], 10, "GCWSClassifierCV, defaults", own, "10 values of C, 5 folds", wide


def trees():
    for rows, count, classes in ((1000, 20, 2), (1000, 20, 8), (20_000, 20, 2), (20_000, 20, 8)):
        X, y = table(rows, count, classes)
        every, weights = np.ones(rows, bool), np.ones(rows)

        def ours(X=X, y=y, every=every, weights=weights, classes=classes):
            Boosting(Bins.of(X), every, y, weights, n_classes=classes, threads=1).grow(40)

        def theirs(X=X, y=y):
            options = {"max_iter": 40, "early_stopping": False, "min_samples_leaf": LEAF_ROWS}
            HistGradientBoostingClassifier(max_leaf_nodes=LEAVES, **options).fit(X, y)

        yield (
            *(rows, count, classes, "40 trees per class", seconds(ours, ROUNDS)),
            *("HistGradientBoosting", seconds(theirs, ROUNDS)),
        )


KINDS = {"budget": budgets, "columns": columns, "search": search, "trees": trees}


def main():
    asked = sys.argv[1:] or list(KINDS)
    kept = []
    if OUT.exists():
        with OUT.open(newline="") as file:
            kept = [line for line in list(csv.reader(file))[1:] if line[0] not in asked]
    with threadpool_limits(limits=1):
        for kind in asked:
            for *line, took, than, other in KINDS[kind]():
                row = [kind, *line, f"{took:.3f}", than, "" if other is None else f"{other:.3f}"]
                kept.append([str(cell) for cell in row])
                print(*row, sep="  ", flush=True)
    order = list(KINDS)
    kept.sort(key=lambda line: order.index(line[0]))
    with OUT.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *kept])


if __name__ == "__main__":
    main()
