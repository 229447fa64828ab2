"""``Explanation``: contributions of columns to predictions, as a value; and its views in notebooks, plots and shap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from .._array import Array
from ..exceptions import InputError, MissingExtraError, ParameterError, Setting

MOST_ROWS, MOST_COLUMNS = 5, 10  # that a notebook shows
TOWARDS, AGAINST = "#3b6ea5", "#b3543c"  # colors of contributions above and below 0
STYLE = (
    "<style>.kernelsketch-why{border-collapse:collapse;font-size:0.9em;margin:0.5em 0}"
    ".kernelsketch-why th,.kernelsketch-why td{text-align:left;padding:0.1em 0.8em;border:none}"
    ".kernelsketch-why .bar{display:inline-block;height:0.7em;margin-right:0.4em}</style>"
)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Contributions of the columns of a table to predictions: ``base_values`` and their sum are ``output``.

    ``explanation[3]`` is that of row 3, and ``explanation[2:5]`` and ``explanation[rows]`` are those of several rows.
    ``explanation.of_class("yes")`` is that of one class, if a model has more than two.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns) or (n_rows, n_columns, n_classes)
        Contributions. A single row has no first dimension.
    base_values : array of shape (n_rows,) or (n_rows, n_classes)
        The mean output of the background rows, from which the contributions lead to the output.
    output : array of the same shape
        What the model computes for the row.
    data : array of shape (n_rows, n_columns)
        The cells of the table, as they were read: None, NaN or NaT where a value is missing.
    feature_names : tuple of str
        Names of the columns.
    space : {"log-odds", "log-probability", "target"}
        What ``output`` is: with two classes the logarithm of the ratio of the probabilities of ``output_names[0]`` and
        of the other class; with more the logarithm of the probability of each class; or the predicted number.
    output_names : tuple
        The classes that ``output`` is about; () for numbers.
    errors : array of the shape of values, or None
        Standard errors of the contributions, by the draw of the background rows and of the orders of columns.
    """

    values: Array
    base_values: Array
    output: Array
    data: Array
    feature_names: tuple[str, ...]
    space: str
    output_names: tuple[Any, ...] = ()
    errors: Array | None = None

    @property
    def is_row(self) -> bool:
        """Whether this is the explanation of a single row."""
        return self.data.ndim == 1

    @property
    def title(self) -> str:
        """The space, and the class if there is one."""
        return f"{self.space} of {self.output_names[0]}" if len(self.output_names) == 1 else self.space

    def __len__(self) -> int:
        return len(self.feature_names) if self.is_row else len(self.data)

    def __repr__(self) -> str:
        rows = "1 row" if self.is_row else f"{len(self.data)} rows"
        return f"<Explanation of {rows}, {len(self.feature_names)} columns, {self.title}>"

    def __iter__(self) -> Iterator[Explanation]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, rows: Any) -> Explanation:
        if self.is_row:
            raise InputError("this is the explanation of one row: its contributions are in values.")
        if isinstance(rows, tuple):
            raise InputError("an explanation has rows only: write explanation[rows], and of_class(label) for a class.")
        try:
            picked = (part[rows] for part in (self.values, self.base_values, self.output, self.data))
            errors = None if self.errors is None else self.errors[rows]
            names = ("values", "base_values", "output", "data")
            return replace(self, **dict(zip(names, picked, strict=True)), errors=errors)
        except IndexError:
            raise InputError(f"the explanation has {len(self)} rows, and {rows!r} is none of them.") from None

    def of_class(self, label: Any) -> Explanation:
        """Return the explanation of the output of one class.

        Parameters
        ----------
        label : object
            One of ``output_names``.

        Returns
        -------
        explanation : Explanation
        """
        if label not in self.output_names:
            known = ", ".join(map(repr, self.output_names)) or "none: the model predicts numbers"
            raise ParameterError(Setting("label", label), f" is not a class of this explanation ({known}).")
        if len(self.output_names) == 1:
            return self
        place = self.output_names.index(label)
        return replace(
            self,
            values=self.values[..., place],
            base_values=self.base_values[..., place],
            output=self.output[..., place],
            errors=None if self.errors is None else self.errors[..., place],
            output_names=(label,),
        )

    def top(self, n_columns: int) -> list[tuple[str, Any, float]]:
        """Return the columns of a row that count most, each with its value and its contribution.

        Parameters
        ----------
        n_columns : int
            Largest number of columns. If there are more, the last entry sums up the others: its name says how many,
            and its value is None.

        Returns
        -------
        entries : list of (name, value, contribution)
        """
        if not self.is_row or self.values.ndim != 1:
            raise InputError(
                "top needs the explanation of one row and of one output: take explanation[row], and with more than two "
                "classes explanation[row].of_class(label)."
            )
        order = np.argsort(-np.abs(self.values), kind="stable")
        found = [(self.feature_names[i], self.data[i], float(self.values[i])) for i in order[:n_columns]]
        rest = order[n_columns:]
        return found + ([(f"{len(rest)} others", None, float(self.values[rest].sum()))] if len(rest) else [])

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation`` of the same contributions, for the plots of shap.

        Returns
        -------
        explanation : shap.Explanation
            Its ``data`` are numbers, for colors: numbers and dates as they are, and categories in alphabetical order.
            Its ``display_data`` are the cells. shap is needed: ``pip install 'kernelsketch[shap]'``.
        """
        try:
            import shap
        except ImportError:
            raise MissingExtraError("shap", "shap") from None
        cells = self.data[None] if self.is_row else self.data
        numbers = np.column_stack([_numbers_of(cells[:, i]) for i in range(cells.shape[1])])
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values if self.values.ndim > 1 else float(self.base_values),
            data=numbers[0] if self.is_row else numbers,
            display_data=self.data,
            feature_names=list(self.feature_names),
            output_names=[str(name) for name in self.output_names] if len(self.output_names) > 1 else None,
        )

    def _repr_html_(self) -> str:
        rows = [self] if self.is_row else [self[i] for i in range(min(MOST_ROWS, len(self)))]
        found = []
        for row in rows:
            if row.values.ndim == 2:  # the class of the largest output
                row = row.of_class(row.output_names[int(np.argmax(row.output))])
            found.append(_row_html(row))
        if not self.is_row and len(self) > MOST_ROWS:
            found.append(f"<p>... and {len(self) - MOST_ROWS} more rows</p>")
        return STYLE + "".join(found)


def shown(value: Any) -> str:
    """Return a cell of a table as text."""
    if value is None or value != value:
        return "missing"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value).removesuffix("T00:00:00.000000").removesuffix(".000000")


def _row_html(row: Explanation) -> str:
    entries = row.top(MOST_COLUMNS)
    largest = max((abs(part) for _, _, part in entries), default=0.0) or 1.0
    lines = []
    for name, value, part in entries:
        color, width = (TOWARDS if part >= 0 else AGAINST), 5 * abs(part) / largest
        bar = f'<span class="bar" style="width:{width:.2f}em;background:{color}"></span>{part:+.3g}'
        cell = "" if name not in row.feature_names and value is None else escape(shown(value))
        lines.append(f"<tr><td>{escape(name)}</td><td>{cell}</td><td>{bar}</td></tr>")
    head = f"<tr><th>column</th><th>value</th><th>contribution to {escape(row.title)}</th></tr>"
    ends = f"<tr><td>base value</td><td></td><td>{float(row.base_values):.4g}</td></tr>"
    last = f"<tr><th>output</th><th></th><th>{float(row.output):.4g}</th></tr>"
    body = ends + "".join(lines) + last
    return f'<table class="kernelsketch-why"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _numbers_of(cells: Array) -> Array:
    """Return the cells of a column as numbers, NaN where a value is missing."""
    present = np.array([value is not None and value == value for value in cells], bool)
    out, values = np.full(len(cells), np.nan), cells[present]
    if all(isinstance(value, str) for value in values):
        out[present] = np.unique(values.astype(str), return_inverse=True)[1]
    else:
        out[present] = [v.astype("int64") / 86400e6 if isinstance(v, np.datetime64) else v for v in values]
    return out
