"""A plot of the contributions of columns to one prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import MissingExtraError
from ._explanation import AGAINST, TOWARDS, Explanation, shown

MOST_LETTERS = 28  # of a cell


def plot_waterfall(
    explanation: Explanation, label: Any, n_columns: int, ax: Any, interval: tuple[float, float, float] | None = None
) -> Any:
    """Draw the contributions to the output of one row as bars, each of which begins where the one below it ends.

    ``interval`` has the coverage, the lower and the upper end of an interval, which is drawn above them.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("plot", "Matplotlib") from None
    if label is None and explanation.values.ndim > 1:
        label = explanation.output_names[int(np.argmax(explanation.output))]
    if label is not None:
        explanation = explanation.of_class(label)
    entries = explanation.top(n_columns)[::-1]
    parts = np.array([part for _, _, part in entries])
    base, output = float(explanation.base_values), float(explanation.output)
    starts = base + np.cumsum(parts) - parts
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7, 1.1 + 0.32 * (len(entries) + (interval is not None))), layout="constrained")
    ax.barh(range(len(parts)), parts, left=starts, color=[TOWARDS if part >= 0 else AGAINST for part in parts])
    for i, (start, part) in enumerate(zip(starts, parts, strict=True)):
        side = "left" if part >= 0 else "right"
        ax.annotate(
            f"{part:+.3g}",
            (start + part, i),
            (3 if part >= 0 else -3, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize="small",
        )
        ax.plot([start + part] * 2, [i, min(i + 1, len(parts) - 1)], color="0.6", lw=0.6, zorder=0)
    ax.axvline(base, color="0.6", lw=0.8, ls=":", zorder=0)
    ax.axvline(output, color="0.3", lw=0.8, ls=":", zorder=0)
    names = set(explanation.feature_names)
    labels = [_label(name, value, name in names) for name, value, _ in entries]
    if interval is not None:
        coverage, low, high = interval
        ax.plot([low, high], [len(entries)] * 2, color="0.3", lw=1.2, marker="|", ms=8)
        ax.plot([output], [len(entries)], color="0.3", marker="o", ms=5)
        labels.append(f"{100 * coverage:.6g} % interval")
    ax.set_yticks(range(len(labels)), labels)
    ax.set_xlabel(f"{explanation.title}: base value {base:.3g}, output {output:.3g}")
    ax.use_sticky_edges = False
    ax.margins(x=0.14)
    ax.autoscale_view()
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _label(name: str, value: Any, is_column: bool) -> str:
    if not is_column:
        return name
    text = shown(value)
    return f"{name} = {text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + '…'}"
