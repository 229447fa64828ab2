"""What was done to each column, as an HTML table for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

from sklearn import get_config
from sklearn.utils import estimator_html_repr

MOST_COLUMNS = 100
STYLE = (
    "<style>.kernelsketch-columns{border-collapse:collapse;font-size:0.9em;margin-top:0.5em}"
    ".kernelsketch-columns th,.kernelsketch-columns td{text-align:left;padding:0.15em 0.8em;border:none}"
    ".kernelsketch-columns tr.unused{opacity:0.55}"
    ".kernelsketch-columns .bar{display:inline-block;height:0.7em;background:#3b6ea5;margin-right:0.4em}</style>"
)


class HtmlRepr:
    """Shows scikit-learn's diagram in a notebook, and below it the columns of a fitted model."""

    def _repr_html_inner(self) -> str:
        shown: str = estimator_html_repr(self)
        return shown + columns_html(self) if "model_" in vars(self) else shown

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        found = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            found["text/html"] = self._repr_html_inner()
        return found


def columns_html(model: Any) -> str:
    """Return a table of the columns, their treatment and their importance."""
    columns, importances = model.columns_, model.feature_importances_
    largest = max(importances.max(), 1e-300)
    rows = []
    for column, share in list(zip(columns, importances, strict=True))[:MOST_COLUMNS]:
        kind = "" if column.is_used else " class=unused"
        bar = f'<span class="bar" style="width:{5 * share / largest:.2f}em"></span>{100 * share:.1f}&nbsp;%'
        rows.append(
            f"<tr{kind}><td>{escape(column.name)}</td>"
            f"<td>{escape(column.treatment)}</td><td>{column.n_missing}</td><td>{bar * column.is_used}</td></tr>"
        )
    if len(columns) > MOST_COLUMNS:
        rows.append(f'<tr><td colspan="4">... and {len(columns) - MOST_COLUMNS} more columns</td></tr>')
    head = "<tr><th>column</th><th>treatment</th><th>missing</th><th>importance</th></tr>"
    return f'{STYLE}<table class="kernelsketch-columns"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'
