"""Why a prediction is as it is: contributions of the columns of a table to the output of a model.

The output is compared with the outputs of background rows. ``"shapley"`` samples Shapley values of the whole model:
see ``_shapley.py``. ``"hashes"`` takes little more time than a prediction: :func:`_by_hashes` adds credits of hashes
(``_credit.py``) and Shapley values of the trees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._validation import check_n_jobs, row_batches
from ..exceptions import InputError, InputTypeError, ParameterError, Setting
from ._columns import TablePlan
from ._credit import HashCredit
from ._explanation import Explanation
from ._features import Features
from ._frame import DATE, Table
from ._intervals import check_coverage
from ._progress import RowProgress, check_progress
from ._read import read_table, warn_about_names
from ._shapley import by_shapley, outputs_of, owners_of
from ._trees import Trees
from ._views import Views
from ._waterfall import plot_waterfall
from ._weights import small_seed_of

METHODS = ("shapley", "hashes")
BACKGROUND_ROWS = 64  # training rows that a model keeps
MOST_BACKGROUND = 256  # rows of the parameter background that are used
BATCH_BYTES = 1 << 19  # of rows that are explained by hashes at a time, in about a second


def background_of(features: Features, seed: int) -> Features:
    """Return the features of a few training rows, which explanations compare with."""
    if len(features) <= BACKGROUND_ROWS:
        return features
    return features.take(np.sort(np.random.default_rng(seed).permutation(len(features))[:BACKGROUND_ROWS]))


class Explains:
    """Explains the predictions of a tabular model."""

    _plan: TablePlan
    _views: Views
    _trees: Trees | None
    _temperature: float
    _exponent: int
    _background: Features | None
    _is_class: ClassVar[bool]
    _values: Callable[[Array], Array]
    _refuse_several: Callable[[str], None]
    predict_interval: Callable[..., Array]
    model_: Any
    trees_share_: float
    n_jobs: int | None

    def explain(
        self,
        X: Any,
        *,
        background: Any = None,
        method: str = "shapley",
        random_state: Any = 0,
        progress: Callable[[str], None] | None = None,
    ) -> Explanation:
        """Explain predictions: how much each column contributes to the output of each row.

        Contributions and a base value, the mean output of background rows, add up to the output. This is the number to
        predict, the logarithm of the odds of ``classes_[1]``, or with more than two classes the logarithm of the
        probability of each. A contribution says what the model does with a column, and nothing about causes.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.
        background : data frame, list of dicts or array, default=None
            Rows to compare with. Of more than 256 rows, 256 are drawn. None takes the 64 training rows that the model
            keeps.
        method : {"shapley", "hashes"}, default="shapley"
            ``"shapley"`` estimates Shapley values by replacing columns of the background rows. It takes the time of at
            most ``2 * n_background * n_features`` predictions per row. ``"hashes"`` takes little more time than a
            prediction, for thousands of rows: it credits each hash to the column that won it, and has the exact
            Shapley values of the trees. It agrees less with Shapley values of the whole model: contributions are
            mostly too small.
        random_state : int, RandomState instance or None, default=0
            Seed of the orders of columns, and of the draw of background rows.
        progress : callable, default=None
            Function that is called with a text, such as "20 of 100 rows, about 30 s left", every five seconds. None
            writes it to standard error.

        Returns
        -------
        explanation : kernelsketch.tabular.Explanation
            ``values``, ``base_values``, ``output``, ``data``, ``feature_names``, ``space`` and ``errors``.
        """
        check_is_fitted(self)
        self._refuse_several("explain")
        if method not in METHODS:
            raise ParameterError(Setting("method", method), f" is none of {', '.join(map(repr, METHODS))}.")
        check_progress(progress)
        seed, owner = small_seed_of(random_state), type(self).__name__
        table = read_table(X)
        warn_about_names(self._plan, table, owner)
        features = self._plan.encode(table, owner)
        compared = self._compared(background, seed)
        done = RowProgress(f"{owner}.explain", len(features), progress).done
        contributions, errors, base, output = (by_shapley if method == "shapley" else _by_hashes)(
            self, features, compared, seed, done
        )
        one = output.shape[1] == 1
        named = () if not self._is_class else tuple(self.model_.classes_.tolist()[1 if one else 0 :])
        base = np.repeat(base[None], len(output), axis=0)
        parts: list[Any] = [contributions, errors, base, output]
        parts = [part if part is None else self._in_units(part[..., 0] if one else part) for part in parts]
        return Explanation(
            values=parts[0],
            base_values=parts[2],
            output=parts[3],
            data=_cells(self._plan, table, owner),
            feature_names=tuple(column.name for column in self._plan.columns),
            space="target" if not self._is_class else "log-odds" if one else "log-probability",
            output_names=named,
            errors=parts[1],
        )

    def plot_explanation(
        self,
        X: Any,
        row: int = 0,
        *,
        label: Any = None,
        n_columns: int = 10,
        coverage: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Any:
        """Draw how the columns lead from the base value to the output of a row. It needs Matplotlib.

        Parameters
        ----------
        X : data frame, list of dicts, array, or Explanation
            Rows, or what :meth:`explain` returned for them.
        row : int, default=0
            Number of the row among them.
        label : object, default=None
            With more than two classes, the class whose logarithm of the probability is drawn. None takes the class that
            is predicted.
        n_columns : int, default=10
            Largest number of columns to show. The others are drawn as one.
        coverage : float, default=None
            If a number is predicted, also draw the interval that has the target of this share of rows, as
            ``predict_interval`` returns it. X must hold rows then.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw into. None makes a new figure.
        **options
            Parameters of :meth:`explain`, if X holds rows.

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        if coverage is not None:
            if self._is_class:
                problem = " is for models that predict numbers; predict_set returns sets of classes."
                raise ParameterError(Setting("coverage", coverage), problem)
            coverage = check_coverage(coverage)
        interval = None
        if not isinstance(X, Explanation):
            table = read_table(X)
            if not -table.n_rows <= row < table.n_rows:
                raise InputError(Setting("row", row), f" is not a row of X, which has {table.n_rows} rows.")
            table = table.some(np.arange(table.n_rows) == row % table.n_rows)
            X, row = self.explain(table, **options), 0
            if coverage is not None:
                low, high = self.predict_interval(table, coverage)[0].tolist()
                interval = (coverage, low, high)
        elif options or coverage is not None:
            name = sorted(options)[0] if options else "coverage"
            raise InputTypeError(f"{name} is for rows, but X is an explanation already: leave it out.")
        return plot_waterfall(X if X.is_row else X[row], label, n_columns, ax, interval)

    def _compared(self, background: Any, seed: int) -> Features:
        """Return the features of the background rows."""
        if background is None:
            kept: Features | None = getattr(self, "_background", None)
            if kept is None:
                raise InputError(
                    Setting("background", None),
                    " needs the training rows that a model keeps, but this one has none, because it was saved without "
                    "them or by an older version: pass some rows of the training table as background.",
                )
            return kept
        owner, table = type(self).__name__, read_table(background)
        if table.n_rows > MOST_BACKGROUND:
            table = table.some(np.isin(np.arange(table.n_rows), _drawn(table.n_rows, MOST_BACKGROUND, seed)))
        return self._plan.encode(table, owner)

    def _in_units(self, values: Array) -> Array:
        """Return values in units of the target, as predict does."""
        most = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return values if self._is_class else np.clip(np.ldexp(values, self._exponent), -most, most)

    def _explained(self, features: Array) -> Array:
        """Return what is explained (rows, outputs): log-odds, logarithms of probabilities, or scaled targets."""
        values = np.asarray(self._values(features), np.float64)
        return np.asarray(log_softmax(values, axis=1)) if values.shape[1] > 1 else values


def _drawn(n_rows: int, count: int, seed: int) -> Array:
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:count])


def _by_hashes(
    model: Any, features: Features, background: Features, seed: int, done: Callable[[int], None]
) -> tuple[Array, Array | None, Array, Array]:
    """Return contributions (rows, columns, outputs), no errors, the base (outputs) and the outputs of rows.

    The credits of the kernel machine and the Shapley values of the trees, each in their own logits or targets, are
    added with their shares in the blend. The logarithm of a probability has the credits of its logit, less the mean
    over the classes, weighted with probabilities half way between those of the row and of the background rows. What is
    then missing in the sum is shared out in proportion to the sizes of the contributions.
    """
    del seed
    owners, n_columns, known = owners_of(model._plan), len(model._plan.columns), background[:]
    before = outputs_of(model, len(known), known.shape[1], lambda rows: known[rows])
    after = outputs_of(model, len(features), known.shape[1], lambda rows: features[rows])
    hashes, share = HashCredit(model.model_.fitted_, model._views, owners, n_columns, known), model.trees_share_
    row_bytes = 8 * features.shape[1] + 8 * n_columns * before.shape[1]
    threads = check_n_jobs(model.n_jobs)
    parts = []
    for rows in row_batches(len(features), row_bytes, BATCH_BYTES):
        mine = features[rows]
        part = (1 - share) * hashes.of(mine)
        if model._trees is not None:
            part += share * model._trees.shapley(mine, known, owners, n_columns, threads)
        parts.append(part / model._temperature)
        done(rows.stop)
    found, base = np.concatenate(parts), before.mean(axis=0)
    if after.shape[1] > 1:
        weights = (softmax(after, axis=1) + np.exp(before).mean(axis=0)) / 2
        found -= np.einsum("nck,nk->nc", found, weights)[:, :, None]
    return _completed(found, after - base, np.isin(np.arange(n_columns), owners)), None, base, after


def _completed(found: Array, wanted: Array, used: Array) -> Array:
    """Return contributions whose sum over the columns is wanted: what is missing goes to columns by their size."""
    sizes = np.abs(found)
    total = sizes.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, sizes / np.where(total > 0, total, 1), used[:, None] / used.sum())
    return np.asarray(found + shares * (wanted - found.sum(axis=1))[:, None])


def _cells(plan: TablePlan, table: Table, owner: str) -> Array:
    """Return the cells of a table in the order of the columns of the plan."""
    out = np.empty((table.n_rows, len(plan.columns)), object)
    for i, column in enumerate(plan._matched(table, owner)):
        out[:, i] = list(column.values) if column.kind == DATE else column.values.tolist()
    return out
