"""Tables 1 to 5 of the paper beside the measured numbers, and how far they agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..drawing import Points
from ..experiments import DETAILED, DETAILED_STAND_INS, Published, Row, published, published_errors
from ._choice import grouped, score_of, usable
from ._parts import Column, Difference, Score, Table
from ._scope import origin, own_data, stand_ins

TOLERANCE = 1.0  # percentage points
NUMBERED = (
    ("uci", "table-1", "Table 1: datasets from the UCI repository"),
    ("large", "table-2", "Table 2: datasets from the LIBSVM site, and larger ones"),
    ("mnist", "table-3", "Table 3: variants of MNIST"),
)
KERNELS = ("linear", "rbf", "gmm")
NAMES = {
    "linear": "linear",
    "rbf": "RBF",
    "gmm": "GMM",
    "pgmm": "pGMM",
    "egmm": "eGMM",
    "epgmm": "epGMM",
    "gcws": "GCWS",
    "nrff": "NRFF",
    "nystroem": "Nyström",
    "trees": "boosted trees",
    "lightgbm": "LightGBM",
}


@dataclass(frozen=True)
class Accuracy:
    """Measured accuracies of a dataset by kernel and choice. The linear kernel has no intercept where that was run."""

    dataset: str
    by: dict[tuple[str, str], Score]
    intercept: dict[str, Score]  # the linear kernel with an intercept, by choice

    def get(self, kernel: str, choice: str = "test") -> Score | None:
        """Return the accuracy of a kernel, or None if it was not measured."""
        return self.by.get((kernel, choice))


def accuracies(rows: Iterable[Row], splits: set[int] | None = None) -> dict[str, Accuracy]:
    """Return the accuracies of the exact kernels by dataset, over all splits or over some of them."""
    kept = [r for r in usable(rows, "kernels") if r.scaling == "paper" and (splits is None or (r.split or 0) in splits)]
    found = {}
    for dataset, own in grouped(kept, lambda r: r.dataset).items():
        by: dict[tuple[str, str], Score] = {}
        intercept: dict[str, Score] = {}
        for method, group in grouped(own, lambda r: r.method).items():
            for choice in ("test", "cv"):
                fit = group if choice == "test" else [r for r in group if r.cv_accuracy is not None]
                without = [r for r in fit if not r.intercept] if method == "linear" else fit
                value = score_of(without or fit, choice)
                if value is not None:
                    by[method, choice] = value
                other = score_of([r for r in fit if r.intercept], choice) if method == "linear" else None
                if other is not None:
                    intercept[choice] = other
        found[dataset] = Accuracy(dataset, by, intercept)
    return found


def difference(value: Score | None, paper: float | None) -> Difference | None:
    """Return measured minus published. It is within the tolerance up to one point or two standard deviations."""
    if value is None or paper is None:
        return None
    gap = value.mean - paper
    allowed = max(TOLERANCE, 2 * (value.sd or 0.0))
    if abs(gap) <= allowed + 1e-9:
        return Difference(gap, "within")
    return Difference(gap, "above" if gap > 0 else "below")


def paper_value(known: Published | None, kernel: str) -> float | None:
    """Return the published accuracy of a kernel, or None if the paper has none."""
    return None if known is None else getattr(known, kernel)


def _columns(notes: bool, cv: bool, paper: bool, others: bool) -> tuple[Column, ...]:
    """Return the columns: with those of the paper, and with what a dataset is, where there is something to show."""
    columns = [Column("dataset", "dataset")]
    if others:
        columns.append(Column("origin", "what it is"))
    for kernel in reversed(KERNELS):
        name = NAMES[kernel]
        if paper:
            columns.append(Column(f"{kernel}_paper", "paper", "percent", name))
        if paper and kernel == "rbf":
            columns.append(Column("rbf_paper_gamma", "gamma", "number", name))
        for choice in ("test", "cv") if cv else ("test",):
            label = "measured" if choice == "test" else "by CV"
            columns.append(Column(f"{kernel}_{choice}", label, "score", name, choice))
            if kernel == "rbf":
                columns.append(Column(f"rbf_{choice}_gamma", "gamma", "number", name, choice))
            if paper:
                columns.append(Column(f"{kernel}_{choice}_difference", "difference", "difference", name, choice))
            if kernel == "linear":
                columns.append(Column(f"intercept_{choice}", "with intercept", "score", name, choice))
    columns.append(Column("splits", "splits", "count"))
    if paper:
        for size, label in (("n_train", "train"), ("n_test", "test"), ("n_features", "features")):
            columns.append(Column(size, label, "count", "sizes in the paper"))
    return (*columns, Column("note", "note", "note")) if notes else tuple(columns)


def _line(known: Published | None, found: Accuracy | None, dataset: str) -> dict[str, Any]:
    cells: dict[str, Any] = {"dataset": dataset, "origin": origin(dataset)}
    if known is not None:
        cells |= {name: getattr(known, name) for name in ("n_train", "n_test", "n_features")}
        cells["rbf_paper_gamma"] = known.rbf_gamma
    for kernel in KERNELS:
        paper = paper_value(known, kernel)
        cells[f"{kernel}_paper"] = paper
        for choice in ("test", "cv"):
            value = None if found is None else found.get(kernel, choice)
            cells[f"{kernel}_{choice}"] = value
            cells[f"{kernel}_{choice}_difference"] = difference(value, paper)
            if kernel == "rbf":
                cells[f"rbf_{choice}_gamma"] = None if value is None else value.gamma
            if kernel == "linear" and found is not None:
                cells[f"intercept_{choice}"] = found.intercept.get(choice)
    values = [] if found is None else [v.n for v in found.by.values()]
    cells["splits"] = max(values, default=None)
    return cells


def _highlighted(cells: dict[str, Any]) -> frozenset[str]:
    """Return the best of the three kernels, in the paper's numbers and in each choice."""
    best: set[str] = set()
    for kind in ("paper", "test", "cv"):
        keys = [f"{kernel}_{kind}" for kernel in KERNELS if cells.get(f"{kernel}_{kind}") is not None]
        values = {key: value.mean if isinstance(value := cells[key], Score) else value for key in keys}
        if len(values) > 1:
            best |= {key for key, value in values.items() if value == max(values.values())}
    return frozenset(best)


def accuracy_table(
    key: str, title: str, caption: str, datasets: Iterable[str], found: dict[str, Accuracy], notes: dict[str, str]
) -> Table:
    """Return published and measured accuracies of the linear, the RBF and the GMM kernel."""
    names = list(datasets)
    lines = [_line(published().get(name), found.get(name), name) for name in names]
    for line in lines:
        line["note"] = notes.get(line["dataset"])
    cv = any(choice == "cv" for name in names if name in found for _, choice in found[name].by)
    in_paper = any(name in published() for name in names)
    columns = _columns(any(line["note"] for line in lines), cv, in_paper, any(line["origin"] for line in lines))
    return Table(key, title, caption, columns, lines, best=[_highlighted(line) for line in lines])


def paper_tables(found: dict[str, Accuracy], notes: dict[str, str]) -> list[Table]:
    """Return tables 1, 2, 3 and 4, and one of the user's own data, if there are some."""
    caption = (
        "Accuracy on the test rows in percent; the best of the three kernels is bold. Measured accuracies are mean ± "
        "standard deviation over random splits; an official split has no ±. Features are as in the paper: raw for GMM, "
        "rows of unit norm for linear and RBF."
    )
    tables = []
    for name, key, title in NUMBERED:
        stand = stand_ins(found, name)
        paper = [d for d, p in published().items() if p.table == name]
        tables.append(_with_stand_ins(key, title, caption, paper, stand, found, notes))
    title = "Table 4: the six datasets of the detailed hashing experiments"
    text = "On two datasets both kernels are about equal, on two GMM is better, and on two RBF is better."
    stand = [d for d in DETAILED_STAND_INS if d in found]
    tables.append(_with_stand_ins("table-4", title, text, list(DETAILED), stand, found, {}))
    own = own_data(found)
    if own:
        text = "Accuracy on the test rows in percent: the paper's experiments on your own data."
        tables.append(accuracy_table("table-own", "Your data", text, own, found, notes))
    return tables


def _with_stand_ins(
    key: str,
    title: str,
    caption: str,
    paper: list[str],
    stand: list[str],
    found: dict[str, Accuracy],
    notes: dict[str, str],
) -> Table:
    """Return a table of the paper's datasets. Where bundled datasets stand in, only what was measured is listed."""
    if stand:
        paper = [name for name in paper if name in found]
        caption = f"{caption} Bundled datasets stand in for those of the paper that are not on this machine."
        title = f"{title} (with stand-ins)"
    return accuracy_table(key, title, caption, [*paper, *stand], found, notes)


def error_table(found: dict[str, Accuracy]) -> Table:
    """Return table 5: published error rates, and those that follow from the measured accuracies of table 3.

    Where variants of digits stand in for those of MNIST, the table has their measured errors alone.
    """
    if stand := stand_ins(found, "mnist"):
        return _stand_in_errors(stand, found)
    datasets = [name for name in published_errors()[0] if name not in ("method", "reported_by")]
    lines: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for line in published_errors():
        values = {name: Score(float(line[name])) for name in datasets}
        lines.append({"method": line["method"], "source": line["reported_by"], **values})
    for kernel in KERNELS:
        cells: dict[str, Any] = {"method": NAMES[kernel] if kernel != "linear" else "Linear", "source": "measured here"}
        for name in datasets:
            value = found[name].get(kernel) if name in found else None
            cells[name] = None if value is None else Score(100 - value.mean, value.sd, value.n)
        if any(cells[name] is not None for name in datasets):
            lines.append(cells)
            paper = next(line for line in lines if line["method"] == cells["method"] and line["source"] == "the paper")
            gaps = {name: difference(cells[name], paper[name].mean) for name in datasets}
            differences.append({"method": cells["method"], "source": "measured - paper", **gaps})
    columns = (
        Column("method", "method"),
        Column("source", "reported by"),
        *(Column(name, name, "score") for name in datasets),
    )
    caption = "Error on the test rows in percent. Measured errors are 100 minus the accuracies of table 3."
    return Table("table-5", "Table 5: error rates on variants of MNIST", caption, columns, lines + differences, keys=2)


def _stand_in_errors(names: list[str], found: dict[str, Accuracy]) -> Table:
    lines: list[dict[str, Any]] = []
    for kernel in KERNELS:
        values = {name: found[name].get(kernel) for name in names}
        errors = {name: Score(100 - v.mean, v.sd, v.n) for name, v in values.items() if v is not None}
        lines.append({"method": NAMES[kernel], **errors})
    columns = (Column("method", "method"), *(Column(name, name, "score") for name in names))
    title = "Table 5: error rates on variants of digits, which stand in for MNIST"
    caption = "Error on the test rows in percent: 100 minus the accuracies of table 3."
    return Table("table-5", title, caption, columns, lines)


@dataclass(frozen=True)
class Agreement:
    """The number of datasets on which the accuracy of a kernel agrees with the paper."""

    kernel: str
    choice: str
    within: int
    of: int

    def sentence(self) -> str:
        """Return the agreement as a sentence."""
        name = "Linear" if self.kernel == "linear" else NAMES[self.kernel]
        if not self.of:
            return f"{name}: there is nothing to compare."
        return (
            f"{name} is within {TOLERANCE:.1f} point of the paper, or within 2 standard deviations over random splits, "
            f"on {self.within} of {self.of} datasets."
        )


def agreement(found: dict[str, Accuracy], kernel: str, choice: str = "test") -> Agreement:
    """Count the datasets on which a kernel agrees with the paper."""
    gaps = [
        difference(found[d].get(kernel, choice), paper_value(p, kernel)) for d, p in published().items() if d in found
    ]
    known = [gap for gap in gaps if gap is not None]
    return Agreement(kernel, choice, sum(gap.status == "within" for gap in known), len(known))


def on_the_curve(curve: Points, paper: float) -> str:
    """Return a sentence if two neighbouring values of C have the paper's accuracy between them, or nothing."""
    for (low, before, _), (high, after, _) in pairwise(curve):
        if min(before, after) <= paper <= max(before, after):
            between = f"C = {low:g} ({before:.2f}) and C = {high:g} ({after:.2f})"
            return f"The paper's {paper:.2f} lies between {between} here."
    return ""


def _between_intercepts(found: Accuracy, paper: float) -> str:
    without, other = found.get("linear"), found.intercept.get("test")
    if without is None or other is None or not min(without.mean, other.mean) <= paper <= max(without.mean, other.mean):
        return ""
    fits = f"{without.mean:.2f} and {other.mean:.2f}"
    return f"The paper's value lies between the fits without and with an intercept ({fits})."


def larger_differences(
    found: dict[str, Accuracy], notes: dict[str, str], curves: dict[str, dict[str, Points]]
) -> Table:
    """Return where a kernel is farther from the paper than the tolerance, the farthest first, with explanations.

    ``notes`` holds explanations by dataset and kernel, ``curves`` the accuracies over C.
    """
    lines: list[dict[str, Any]] = []
    for dataset, known in published().items():
        for kernel in KERNELS:
            value = found[dataset].get(kernel) if dataset in found else None
            paper = paper_value(known, kernel)
            gap = difference(value, paper)
            if gap is not None and paper is not None and gap.status != "within":
                noted = notes.get(f"{dataset}, {NAMES[kernel]}", "")
                seen = on_the_curve(curves.get(dataset, {}).get(kernel, ()), paper)
                if kernel == "linear" and not seen:
                    seen = _between_intercepts(found[dataset], paper)
                lines.append(
                    {
                        "dataset": dataset,
                        "kernel": NAMES[kernel],
                        "paper": paper,
                        "measured": value,
                        "difference": gap,
                        "note": f"{noted} {seen}".strip() or None,
                    }
                )
    lines.sort(key=lambda line: -abs(line["difference"].value))
    columns = (
        Column("dataset", "dataset"),
        Column("kernel", "kernel"),
        Column("paper", "paper", "percent"),
        Column("measured", "measured", "score"),
        Column("difference", "difference", "difference"),
        Column("note", "explanation"),
    )
    caption = (
        f"Accuracies more than {TOLERANCE:.1f} point and more than two standard deviations from the paper, the largest "
        "differences first."
    )
    return Table("differences", "Larger differences and their reasons", caption, columns, lines, keys=2)
