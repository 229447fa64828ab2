"""The curves of all plots, before any drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..drawing import Panel, Plot, Points, Series
from ..experiments import DETAILED, DETAILED_STAND_INS, LARGER_STAND_INS, Row, published
from ._choice import accuracy, chosen_rows, grouped, mean_of, score_of_repetitions, usable
from ._comparison import SCALINGS, Scores, methods_of
from ._costs import timed
from ._hashing import NRFF_BITS, SHOWN_B, Hashed
from ._tables import KERNELS, NAMES, TOLERANCE, Accuracy, difference, paper_value

SMALL_K, LARGE_K, TIME_K = (16, 32, 64, 128), (128, 256, 1024, 4096), (128, 256, 512, 1024)
LIMIT = 5.0  # points; a single difference of 34 would leave no room to distinguish the others
MARKERS = ("circle", "square", "diamond", "triangle")
COLORS = {"gcws": "gmm", "nrff": "rbf"}


def kernel_points(rows: Iterable[Row]) -> dict[str, dict[str, Points]]:
    """Return the accuracy over C by dataset and kernel: at the best gamma of each split, averaged over splits."""
    found: dict[str, dict[str, Points]] = {}
    kept = [r for r in usable(rows, "kernels") if r.scaling == "paper" and r.C is not None]
    for (dataset, method, bias), group in grouped(kept, _curve_key).items():
        points = []
        for C, at in sorted(grouped(group, lambda r: r.C or 0.0).items()):
            best = [max(map(accuracy, split)) for split in grouped(at, lambda r: r.split or 0).values()]
            value = score_of_repetitions(best)
            points.append((C, value.mean, value.sd))
        found.setdefault(dataset, {})[method + bias] = tuple(points)
    return found


def _curve_key(row: Row) -> tuple[str, str, str]:
    return row.dataset, row.method, " with intercept" if row.method == "linear" and row.intercept else ""


def kernels_plot(curves: dict[str, dict[str, Points]]) -> Plot:
    """Plot the accuracy of kernel SVMs over C."""
    panels = []
    for dataset in _ordered(curves):
        series = [
            Series(NAMES.get(name, name), name.split()[0], points, *_kernel_style(name))
            for name, points in sorted(curves[dataset].items(), key=lambda item: _rank(item[0]))
        ]
        panels.append(Panel(dataset, "", tuple(series)))
    caption = "Test accuracy of SVMs over C, averaged over splits. RBF has the best gamma for each C."
    return Plot("kernels", "Kernel SVMs over C", caption, "C", "accuracy, %", tuple(panels))


def _rank(name: str) -> int:
    order = ("gmm", "rbf", "linear", "linear with intercept")
    return order.index(name) if name in order else len(order)


def _kernel_style(name: str) -> tuple[str, str]:
    return {
        "gmm": ("solid", "circle"),
        "rbf": ("dashed", "square"),
        "linear": ("solid", "star"),
        "linear with intercept": ("dotted", "star"),
    }.get(name, ("solid", "triangle"))


def differences_plot(found: dict[str, Accuracy]) -> Plot:
    """Plot measured minus published accuracy, one line per dataset."""
    order = [d for d in published() if d in found and _gap(found, d, "gmm") is not None]
    order.sort(key=lambda d: _gap(found, d, "gmm") or 0.0)
    series = []
    for kernel, marker in (("gmm", "circle"), ("rbf", "square"), ("linear", "star")):
        points = [(gap, float(at), None) for at, d in enumerate(order) if (gap := _gap(found, d, kernel)) is not None]
        series.append(Series(NAMES[kernel], kernel, tuple(points), "none", marker))
    panels = (Panel("all datasets", "", tuple(series), tuple(order)),) if order else ()
    caption = f"Measured minus published accuracy in points. The band is ± {TOLERANCE:.1f} point."
    if any(abs(x) > LIMIT for one in series for x, *_ in one.points):
        caption += f" Arrows are differences of more than {LIMIT:.0f} points."
    title, axes = "How far from the paper", ("measured - paper, points", "")
    return Plot("differences", title, caption, *axes, panels, x_log=False, band=TOLERANCE, limit=LIMIT)


def _gap(found: dict[str, Accuracy], dataset: str, kernel: str) -> float | None:
    gap = difference(found[dataset].get(kernel), paper_value(published().get(dataset), kernel))
    return None if gap is None else gap.value


def _ordered(names: Iterable[str]) -> list[str]:
    order = {name: at for at, name in enumerate(published())}
    return sorted(names, key=lambda name: (order.get(name, len(order)), name))


def _hash_series(h: Hashed, b: int | None, samples: tuple[int, ...]) -> list[Series]:
    series = []
    for method, bits, line in (("gcws", b, "solid"), ("nrff", None, "dashed")):
        for at, k in enumerate(samples):
            values = h.curves.get((method, bits, k))
            if values:
                points = tuple((C, m.mean, m.sd) for C, m in values.items())
                name = f"{NAMES[method]} k = {k}"
                series.append(Series(name, f"{COLORS[method]}-{at + 1}", points, line, MARKERS[at]))
    return series


def _exact_series(curves: dict[str, Points]) -> list[Series]:
    if "linear" not in curves and "linear with intercept" in curves:
        curves = {**curves, "linear": curves["linear with intercept"]}
    return [
        Series(f"{NAMES[name]}, exact" if name != "linear" else "linear", name, curves[name], line, marker)
        for name, line, marker in (("gmm", "dotted", "none"), ("rbf", "dotted", "none"), ("linear", "solid", "star"))
        if name in curves
    ]


def hashing_plots(found: dict[str, Hashed], curves: dict[str, dict[str, Points]]) -> list[Plot]:
    """Plot GCWS and NRFF over C: the detailed datasets, more datasets, and the larger ones."""
    detailed: list[Panel] = []
    more: list[Panel] = []
    larger: list[Panel] = []
    for dataset, h in found.items():
        exact = _exact_series(curves.get(dataset, {}))
        if dataset in DETAILED + DETAILED_STAND_INS:
            for b in h.bits():
                for samples in (SMALL_K, LARGE_K):
                    series = _hash_series(h, b, samples)
                    if series:
                        view = f"b = {b}, k = {samples[0]} to {samples[-1]}"
                        detailed.append(Panel(dataset, view, (*series, *exact)))
            if dataset not in LARGER_STAND_INS:
                continue
        known = published().get(dataset)
        counts = {k for _, _, k in h.curves}
        series = _hash_series(h, SHOWN_B, TIME_K if 512 in counts and 4096 not in counts else LARGE_K)
        if series:
            panel = Panel(dataset, "", (*series, *exact))
            is_larger = dataset in LARGER_STAND_INS or (known is not None and known.gmm is None)
            (larger if is_larger else more).append(panel)
    text = (
        "Solid lines are GCWS, dashed lines NRFF, by number of samples; stars are linear, dotted lines exact kernels."
    )
    axes = ("C", "accuracy, %")
    plots = [
        Plot("hashing", "GCWS and NRFF in detail", f"Test accuracy over C. {text}", *axes, tuple(detailed), columns=2),
        Plot("hashing-more", "More datasets", f"b = {SHOWN_B}. {text}", *axes, tuple(more)),
        Plot(
            "hashing-larger",
            "Larger datasets",
            f"Datasets that are too large for exact kernels, or stand in for such; b = {SHOWN_B}. {text}",
            *axes,
            tuple(larger),
        ),
    ]
    return [plot for plot in plots if plot.panels]


def samples_plots(found: dict[str, Hashed]) -> list[Plot]:
    """Plot the best accuracy over C by number of samples, and by bytes per row."""
    by_samples: list[Panel] = []
    by_bytes: list[Panel] = []
    for dataset, h in found.items():
        count: list[Series] = []
        size: list[Series] = []
        bits: list[tuple[str, int | None]] = [("gcws", b) for b in reversed(h.bits())]
        for at, (method, b) in enumerate([*bits, ("nrff", None)]):
            best = [(k, m) for k in h.samples(method, b) if (m := h.best(method, b, k)) is not None]
            if not best:
                continue
            name = NAMES[method] + (f", b = {b}" if b is not None else "")
            color = f"gmm-{4 - at % 4}" if method == "gcws" else "rbf"
            style = ("solid", MARKERS[at % 4]) if method == "gcws" else ("dashed", "square")
            count.append(Series(name, color, tuple((k, m.mean, m.sd) for k, m in best), *style))
            each = (b or NRFF_BITS) / 8
            size.append(Series(name, color, tuple((k * each, m.mean, m.sd) for k, m in best), *style))
        for panels, series in ((by_samples, count), (by_bytes, size)):
            if series:
                panels.append(Panel(dataset, "", (*series, *_levels(h, series))))
    text = "Accuracy at the best C. Level lines are the linear and the exact kernels."
    samples = Plot("samples", "Accuracy by number of samples", text, "samples k", "accuracy, %", tuple(by_samples))
    storage = Plot("storage", "Accuracy by storage", text, "bytes per row", "accuracy, %", tuple(by_bytes))
    return [plot for plot in (samples, storage) if plot.panels]


def _levels(h: Hashed, series: list[Series]) -> list[Series]:
    ends = [p[0] for s in series for p in s.points]
    values = ((name, h.exact_mean(name)) for name in ("gmm", "rbf", "linear"))
    return [
        Series(
            NAMES[n] + ("" if n == "linear" else ", exact"),
            n,
            ((min(ends), v, None), (max(ends), v, None)),
            "dotted",
            "none",
        )
        for n, v in values
        if v is not None
    ]


def time_plot(rows: Iterable[Row]) -> Plot:
    """Plot the training time over C, with one view per solver and number of bits."""
    panels = []
    for (dataset, solver), group in grouped(timed(rows), lambda r: (r.dataset, r.solver)).items():
        bits: list[int | None] = [*sorted({r.b for r in group if r.method == "gcws" and r.b is not None})]
        for b in bits or [None]:
            series = []
            for method, line in (("gcws", "solid"), ("nrff", "dashed")):
                for at, k in enumerate(TIME_K):
                    own = [r for r in group if r.method == method and r.k == k and (method == "nrff" or r.b == b)]
                    points = _seconds(own)
                    if points:
                        name = f"{NAMES[method]} k = {k}"
                        series.append(Series(name, f"{COLORS[method]}-{at + 1}", points, line, MARKERS[at]))
            if series:
                view = solver if b is None else f"{solver}, b = {b}"
                panels.append(Panel(dataset, view, tuple(series)))
    caption = "Training time over C. Solid lines are GCWS, dashed lines NRFF."
    return Plot("time", "Training time over C", caption, "C", "seconds", tuple(panels), y_log=True)


def _seconds(rows: list[Row]) -> Points:
    groups = sorted(grouped(rows, lambda r: r.C or 0.0).items())
    means = [(C, mean_of(r.train_seconds for r in group)) for C, group in groups]
    return tuple((C, value, None) for C, value in means if value)


def noise_plot(found: dict[str, Accuracy]) -> Plot:
    """Plot published and measured errors over the six levels of noise."""
    panels = tuple(panel for letter in "MD" if (panel := _noise_panel(letter, found)) is not None)
    return Plot(
        "noise",
        "Error by level of noise",
        "Test error by level of noise.",
        "level of noise",
        "error, %",
        panels,
        x_log=False,
    )


def _noise_panel(letter: str, found: dict[str, Accuracy]) -> Panel | None:
    """Return the errors on the variants of MNIST (M) or of scikit-learn's digits (D)."""
    names = [f"{letter}-Noise{level}" for level in range(1, 7)]
    series = []
    for kernel in reversed(KERNELS):
        paper = [
            (i + 1.0, 100 - v, None) for i, d in enumerate(names) if (v := paper_value(published().get(d), kernel))
        ]
        own = [
            (i + 1.0, 100 - m.mean, m.sd)
            for i, d in enumerate(names)
            if (m := found[d].get(kernel) if d in found else None) is not None
        ]
        marker = {"gmm": "circle", "rbf": "square", "linear": "star"}[kernel]
        if own:
            series.append(Series(f"{NAMES[kernel]}, measured", kernel, tuple(own), "solid", marker))
        if own and paper:
            series.append(Series(f"{NAMES[kernel]}, paper", kernel, tuple(paper), "dashed", "none"))
    return Panel(f"{names[0]} to {names[-1]}", "", tuple(series)) if series else None


def cost_plot(rows: Iterable[Row], compared: dict[str, Scores]) -> Plot:
    """Plot accuracy by training time, one point per method."""
    panels = []
    kept = usable(rows, "comparison")
    for scaling, by_dataset in compared.items():
        for dataset in sorted(by_dataset):
            series = []
            for at, method in enumerate(methods_of(by_dataset)):
                value = by_dataset[dataset].get(method)
                own = [r for r in kept if (r.dataset, r.method) == (dataset, method)]
                own = [r for r in own if r.scaling == scaling] or own
                chosen = [r for split in chosen_rows(own, "cv").values() for r in split]
                seconds = mean_of(r.train_seconds for r in chosen)
                if value is not None and seconds and math.isfinite(seconds):
                    point = ((seconds, value.mean, value.sd),)
                    series.append(Series(NAMES.get(method, method), method, point, "none", MARKERS[at % 4]))
            if series:
                panels.append(Panel(dataset, SCALINGS.get(scaling, scaling), tuple(series)))
    caption = (
        "Up and to the left is better. Settings are by cross-validation; bars are standard deviations over splits."
    )
    axes = ("seconds to train", "accuracy, %")
    return Plot("cost", "Accuracy by training time", caption, *axes, tuple(panels))
