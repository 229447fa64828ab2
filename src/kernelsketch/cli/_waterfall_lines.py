"""A prediction with its explanation and its interval, drawn with characters for a terminal."""

from __future__ import annotations

from rich.text import Text

from ..tabular import Explanation, shown

NAME_WIDTH, NUMBER_WIDTH = 26, 9
TOWARDS, AGAINST = "blue", "red"  # styles of contributions above and below 0


def waterfall_lines(
    row: Explanation, n_columns: int, width: int, interval: tuple[str, float, float] | None = None
) -> list[Text]:
    """Return lines from the base value to the output: each bar begins where the one above it ends.

    ``row`` is the explanation of one row and one output. ``interval`` has a name, and the lower and the upper end.
    """
    entries = row.top(n_columns)
    base, output = float(row.base_values), float(row.output)
    points = [base]
    for _, _, part in entries:
        points.append(points[-1] + part)
    ends = [*points, output, *(interval[1:] if interval else ())]
    low: float = min(ends)
    spread: float = (max(ends) - low) or 1.0
    cells = max(8, width - NAME_WIDTH - NUMBER_WIDTH - 3)

    def place(value: float) -> int:
        return round((value - low) / spread * (cells - 1))

    def line(name: str, number: str, drawn: Text) -> Text:
        short = name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"
        return Text(f"{short:{NAME_WIDTH}} {number:>{NUMBER_WIDTH}}  ") + drawn

    def dot(value: float) -> Text:
        return Text(" " * place(value) + "●")

    lines = [line("base value", f"{base:.4g}", dot(base))]
    for i, (name, value, part) in enumerate(entries):
        start, end = sorted((place(points[i]), place(points[i + 1])))
        bar = Text(" " * start) + Text("█" * (end - start + 1), TOWARDS if part >= 0 else AGAINST)
        label = f"{name} = {shown(value)}" if name in row.feature_names else name
        lines.append(line(label, f"{part:+.3g}", bar))
    lines.append(line("output", f"{output:.4g}", dot(output)))
    if interval:
        name, lower, upper = interval
        first, last, at = place(lower), place(upper), place(output)
        drawn = ["─"] * (last - first + 1)
        drawn[0], drawn[-1] = "├", "┤"
        if first <= at <= last:
            drawn[at - first] = "●"
        lines.append(line(name, "", Text(" " * first + "".join(drawn))))
    return lines
