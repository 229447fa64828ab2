"""From features and targets to a model: folds, C, calibration, the blend with boosted trees, and the final fit.

Every fold learns weights of columns from its own training rows, so that its held-out rows are new to its model. They
choose C, the calibration and the share of the trees; for the score of a fold, the other folds choose. Each fold has its
views, a part of the hashes, and a model that learns from its part of the codes. The final model learns from the codes
of all folds and from all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._warnings import warn_user
from ..exceptions import InputError, RowsWarning, ScaleWarning, Setting
from ..hashing import PackedCodes, views_of
from ..linear import (
    FitProgress,
    Fold,
    GCWSClassifier,
    GCWSRegressor,
    counted_rows,
    fit_calibration,
    hash_in_parts,
    held_out_values,
    shuffled_folds,
)
from ..serving import Calibration, decided_classes
from ._boosting import Blend, best_temperature, clearly_worse, tempered
from ._effort import (
    WEIGHTS_SHARE,
    Clock,
    Effort,
    fitting_effort,
    kernel_share,
    passes_of,
    rows_of_kernel,
)
from ._features import Features
from ._goals import Goal
from ._interrupts import StoppedError
from ._intervals import Curve, Intervals
from ._neighbors import Errors
from ._root_link import RootLink
from ._scores import CrossFitted, HeldOut, best_shift, chances_of, others_of
from ._statistics import NO_LEVELS, Levels, Statistics, learn_statistics, outputs_of
from ._teacher import SOFT_LOSS, Copies, SoftLabels
from ._together import Together
from ._tree_fit import Apart, TreeFit, can_grow
from ._trees import Trees
from ._view_fit import plain_views, union_of_views, weighted_views
from ._views import Views
from ._weights import targets_of

CURVE_ROWS = 200  # held out, that say what the final model gains; with fewer rows coverage varies more


class Learned(NamedTuple):
    """A trained model: views of the features, a linear model on their codes, and trees with a share in the blend.

    The logarithms of the probabilities of the blend are divided by ``temperature``. ``threshold`` decides two classes.
    ``held_out`` has the scores of the held-out rows. ``effort`` is the work that was done, with what the clock decided.
    """

    views: Views
    model: Any
    trees: Trees | None
    trees_share: float
    temperature: float
    held_out: HeldOut
    effort: Effort
    statistics: Statistics | None
    threshold: float | None = None
    link: RootLink | None = None
    intervals: Intervals | None = None  # None if there are no held-out rows
    errors: Errors | None = None


class Grown(NamedTuple):
    """Predictions (rows, 1) for the held-out rows of the first folds, by kernel machines with two parts of the hashes.

    ``few`` are those of models that learn from the folds ``fewer``, which have one part of the rows less.
    """

    wide: Array
    few: Array
    fewer: list[Fold]


class Learner:
    """Learns from the features of a table, and reports what it does by ``say``."""

    def __init__(
        self,
        features: Features,
        is_number: Array,
        y: Array,
        sample_weight: Array | None,
        *,
        is_class: bool,
        class_weight: Any,
        effort: Effort,
        clock: Clock,
        seed: int,
        threads: int,
        say: Callable[[str], None],
        progress: Callable[[str], None] | None = None,
        levels: Levels = NO_LEVELS,
        numbers: Array | None = None,
        together: Together | None = None,
        goal: Goal | None = None,
        soft: SoftLabels | None = None,
    ) -> None:
        """Take features and targets of rows. Rows with soft labels become copies."""
        self._features, self._is_number, self._y, self._sample_weight = features, is_number, y, sample_weight
        self._is_class, self._class_weight = is_class, class_weight
        self._effort, self._clock, self._seed, self._threads, self._say = effort, clock, seed, threads, say
        self._progress, self._goal = progress, goal or Goal(is_class)
        self._levels, self._numbers = levels, numbers
        self._together, self._rows = together, np.arange(len(y))
        self._copies: Copies | None = None
        self._statistics: Statistics | None = None
        self._n_means = 0  # number of features that are mean targets
        self._until = np.inf  # seconds on the clock when the linear models are to be trained
        if soft is not None:
            self._take_copies(soft)
        self._repeats = False  # whether rows were repeated, so that models have seen their held-out rows

    def learn(self) -> Learned:
        """Choose C and the blend with held-out rows, and train on all rows."""
        labels = self._labels()
        weights = self._counted()
        if self._is_class and len(np.unique(labels[weights > 0])) < 2:
            raise InputError(
                "the rows with a weight above 0 have only one class: give rows of 2 classes a weight above 0, by "
                "sample_weight and class_weight."
            )
        counted = np.flatnonzero(weights > 0)
        has_trees = can_grow(self._features.shape[1], labels, weights, self._is_class)
        can_set_apart = self._effort.n_kernel_rows is not None and has_trees
        if not has_trees and np.isfinite(self._clock.budget):
            self._effort = replace(self._effort, n_trees=0)  # their part of the budget is for the kernel machine
        self._fit_to_budget(counted, can_set_apart)
        apart = self._rows_apart(labels, counted) if can_set_apart else None
        whole, used = (self._features, labels, weights), self._used()
        if apart is not None:
            self._take(apart.sample)
            labels, weights = labels[apart.sample], weights[apart.sample]
        else:
            self._take_some(labels, counted)
            labels, weights = self._labels(), self._counted()
            whole, used = (self._features, labels, weights), self._used()
        folds = self._folds(labels, weights, apart)
        if not any(len(fold.test) for fold in folds):  # too few rows have a weight
            self._refuse_to_repeat()
            times, self._repeats = self._effort.n_folds, True
            self._take(np.tile(np.arange(len(labels)), times))
            labels, weights = np.tile(labels, times), np.tile(weights, times)
            folds = self._folds(labels, weights, None)
            whole, used = (self._features, labels, weights), self._used()
        plain = self._features
        self._add_statistics(folds, labels, weights)
        members = self._learn_members(folds)
        views = union_of_views(members)
        self._say(
            f"weights of {sum(map(len, views.weights))} columns in {len(views.names)} views, "
            f"{self._clock.elapsed:.1f} s"
        )
        model = self._linear(self._effort.n_components, views.widths)
        codes = self._codes(model, views)
        self._clock.interrupts.begin()
        values = self._held_out(members, codes, folds, labels, weights)
        if (scored := self._effort.n_scored_folds) is not None:
            folds = [*folds[:scored], *(fold._replace(test=fold.test[:0]) for fold in folds[scored:])]
        test = np.concatenate([fold.test for fold in folds])
        numbers = np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])
        counts = weights[test] if self._sample_weight is None else self._sample_weight[test]
        if self._sample_weight is None and self._is_class:
            counts = np.ones(len(test))
        copied = None if self._copies is None else self._copies.rows[test]
        chosen = self._choose(values, labels[test], weights[test], counts, numbers, copied)
        C, predicted, calibration, crossed = chosen
        grown = None if self._repeats else self._grown(members, codes, folds, C)
        link = calibration if isinstance(calibration, RootLink) else None
        model = self._fit(model.set_params(C=C), codes, calibration if link is None else None)
        del codes
        self._say(f"trained with C={C:g}, {self._clock.elapsed:.1f} s")
        given: dict[str, Any] = {"is_class": self._is_class, "effort": self._effort, "clock": self._clock}
        given["goal"] = self._goal
        tree_fit = TreeFit(*whole, used, apart, threads=self._threads, **given)
        blend, trees = tree_fit.blended(folds, predicted, crossed)
        self._effort = tree_fit.effort
        if trees is not None:
            of_size = f"{blend.n_trees} boosted trees of {blend.boosts[0].leaves} leaves"
            self._say(f"{of_size}, share {blend.share:.2f}, {self._clock.elapsed:.1f} s")
        held_out = crossed.held_out()
        if self._repeats:
            held_out = held_out._replace(error=np.nan)
        temperature, threshold = 1.0, None
        if self._is_class:
            temperature = best_temperature(blend.predicted, labels[test], weights[test])
            P = tempered(blend.predicted, temperature)
            chances = chances_of(P, labels[test], weights[test], counts)
            threshold = self._goal.threshold_of(P, labels[test], counts, chances)
        elif self._goal.share is not None:
            shift = best_shift(self._goal, blend.predicted, labels[test], weights[test])
            mean = model.fitted_.mean + shift / (1 - blend.share)  # so that the blend moves by the shift
            model.fitted_ = replace(model.fitted_, mean=mean)
        found = Learned(views, model, trees, blend.share, temperature, held_out, self._effort, self._statistics)
        found = found._replace(threshold=threshold, link=link)
        if self._repeats:
            return found
        errors = Errors(self._rows[test], crossed.errors, labels[test], plain.take(test))
        if self._is_class:
            intervals = Intervals.of_classes(crossed.probabilities, crossed.labels, crossed.weights)
        else:
            curve = None if grown is None else self._curve(grown, folds, tree_fit, blend, predicted, labels[test])
            intervals = Intervals.of_numbers(errors.features, crossed.errors, crossed.weights, numbers, curve)
        return found._replace(intervals=intervals, errors=errors)

    def _used(self) -> Array | None:
        """Return flags of the rows with a weight above 0, once for copies of a row, or None if these are all rows."""
        used = None if self._sample_weight is None else self._sample_weight > 0
        if self._copies is None:
            return used
        first = self._copies.first
        if used is None:
            return None if first.all() else first
        return np.asarray(first & used)

    def _rows_apart(self, labels: Array, counted: Array) -> Apart | None:
        """Return the rows of the kernel machine and those of the trees, or None if there are too few for this.

        Rows of a class that has no other rows than those of the kernel machine train the trees as well.
        """
        most = rows_of_kernel(self._effort, min(len(counted), self._effort.n_rows or len(counted)))
        if most >= len(counted) or most != self._effort.n_kernel_rows:
            return None
        if self._together is None:
            order = counted[row_order(labels[counted], self._seed, self._is_class)]
            sample, others = np.sort(order[:most]), np.sort(order[most:])
        else:
            found = self._together.apart(counted, most, self._seed)
            if found is None:
                return None
            sample, others = found
        others = others[row_order(labels[others], self._seed, self._is_class)]
        if self._is_class:
            if len(np.unique(labels[sample])) < len(np.unique(labels)):
                return None  # more classes than rows
            others = np.concatenate([sample[~np.isin(labels[sample], labels[others])], others])
        return Apart(sample, others, self._together is not None and self._together.is_time)

    def _labels(self) -> Array:
        """Return class numbers, or the targets of a regression."""
        return np.unique(self._y, return_inverse=True)[1] if self._is_class else self._y

    @property
    def _learned(self) -> Array:
        """Return what the kernel machine learns: labels, numbers, or the roots of counts."""
        return np.sqrt(self._y) if self._goal.loss == "poisson" else self._y

    def _linear(self, n_components: int, widths: list[int], C: float = 1.0) -> Any:
        common: dict[str, Any] = {"views": widths, "C": C, "random_state": self._seed, "n_jobs": self._threads}
        if self._is_class:
            if self._copies is not None and self._copies.weights is not None:
                common["loss"] = SOFT_LOSS
            return GCWSClassifier(n_components, class_weight=self._class_weight, **common)
        if self._goal.loss == "absolute_error":  # a median is best near a mean without outliers
            common |= {"loss": "huber"}
        if self._goal.loss == "quantile":
            common |= {"loss": "quantile", "quantile": self._goal.share}
        return GCWSRegressor(n_components, **common)

    def _fit_to_budget(self, counted: Array, can_set_apart: bool) -> None:
        """Reduce the effort, and if necessary the rows, to what fits in the seconds that are left."""
        y = self._y[counted]

        def pilot(rows: int, hashes: int) -> float:
            part = counted[some_rows(y, rows, self._seed, self._is_class)]
            features = self._features.take(part)
            views = plain_views(features, self._is_number, seed=self._seed)
            columns = views.transform(features[:])
            model = self._linear(hashes, views.widths, 10.0).set_params(tol=1e-2)
            start = self._clock.elapsed
            with ignored_scales():
                model.fit(columns, self._learned[part])
            return self._clock.elapsed - start

        self._effort = fitting_effort(self._effort, len(counted), self._clock, pilot, can_set_apart=can_set_apart)
        self._until = self._clock.elapsed + kernel_share(self._effort) * self._clock.left

    def _take_some(self, labels: Array, counted: Array) -> None:
        """Go on with as many rows as the effort has, some of them several times if they are too few for folds."""
        part, n_rows = np.arange(len(labels)), self._effort.n_rows
        if n_rows is not None and n_rows < len(counted):
            if self._copies is None:
                part = counted[some_rows(self._y[counted], n_rows, self._seed, self._is_class)]
            else:
                part = self._copies.of_rows(row_order(labels[self._copies.first], self._seed, True), n_rows)
        if too_few(self._y[part], self._is_class, self._effort.n_folds):
            self._refuse_to_repeat()
            part = np.tile(part, self._effort.n_folds)  # so that cross-validation trains on every row
            self._repeats = True
        if len(part) != len(labels):
            self._take(part)

    def _take_copies(self, soft: SoftLabels) -> None:
        """Go on with copies of the rows, one per class, and their labels and weights."""
        copies = soft.copies(self._sample_weight)
        self._sample_weight = None
        self._take(copies.rows)
        self._y, self._sample_weight, self._copies = soft.classes[copies.labels], copies.weights, copies
        self._together = copies.together() if self._together is None else self._together

    def _take(self, rows: Array) -> None:
        """Go on with some rows."""
        self._features, self._y = self._features.take(rows), self._y[rows]
        self._numbers = None if self._numbers is None else self._numbers[rows]
        self._together = None if self._together is None else self._together.take(rows)
        self._copies = None if self._copies is None else self._copies.take(rows)
        self._rows = self._rows[rows]
        if self._sample_weight is not None:
            self._sample_weight = self._sample_weight[rows]

    def _folds(self, labels: Array, weights: Array, apart: Apart | None) -> list[Fold]:
        """Return folds, of which each holds out rows that can be scored.

        Rows of a class that has no other rows train every fold, so that all models know all classes. So do rows that
        train the trees.
        """
        counted, taken = weights > 0, np.zeros(len(labels), bool)
        if apart is not None:
            taken = np.isin(apart.sample, apart.others)
        dealt = labels if self._is_class else np.zeros(len(labels), np.int64)
        dealt = np.where(counted, dealt, len(labels))  # rows of weight 0 come last and do not move the others
        folds = []
        for train, test in self._dealt(dealt, counted):
            scored = np.zeros(len(labels), bool)
            scored[test] = counted[test]
            if self._is_class:
                alone = taken | ~np.isin(labels, np.unique(labels[train & counted]))
                train, scored = train | alone, scored & ~alone
                if self._together is not None and not self._together.is_time:
                    scored &= ~np.isin(self._together.numbers, self._together.numbers[alone])  # their groups train
            folds.append(Fold(train, np.flatnonzero(scored)))
        return folds

    def _dealt(self, labels: Array, counted: Array) -> list[Fold]:
        """Return folds of all rows, before rows that cannot be scored are left out."""
        if self._together is None:
            return shuffled_folds(labels, self._effort.n_folds)
        folds = self._together.folds(labels, counted, self._effort.n_folds)
        if len(folds) < self._effort.n_folds:
            few = "each holds out one group" if not self._together.is_time else "there are few different times"
            made = f"{len(folds)} fold{'s' if len(folds) > 1 else ''} instead of {self._effort.n_folds}"
            warn_user(
                f"{self._together.name}: {made}, because {few}. Held-out scores vary more then: pass rows of more "
                f"{self._together.name} if you can.",
                RowsWarning,
            )
            self._effort = replace(self._effort, n_folds=len(folds))
        return folds

    def _refuse_to_repeat(self) -> None:
        """Raise an error if rows that belong together would be repeated, and so be on both sides of a fold."""
        if self._copies is not None:
            raise InputError(
                "y leaves no rows that a model of other rows can be scored with: pass probabilities of more rows, in "
                "several of which each class is the most probable one."
            )
        if self._together is not None:
            raise InputError(
                Setting(self._together.name),
                " leaves no rows that a model of other rows can be scored with: pass more rows, with each class in "
                f"several groups or times, or leave {self._together.name} out.",
            )

    def _add_statistics(self, folds: list[Fold], labels: Array, weights: Array) -> None:
        """Add mean targets of categories to the features: those of each fold, which only its views use."""
        copies = self._copies
        outputs = outputs_of(labels if copies is None else copies.targets, self._is_class)
        if self._repeats or outputs is None or self._numbers is None:
            return
        parts, trains = np.full(len(labels), len(folds)), [fold.train for fold in folds]
        for number, fold in enumerate(folds):
            parts[fold.test] = number
        if self._together is not None:
            parts = self._together.parts(folds)
        if copies is None:
            found = learn_statistics(self._levels, self._numbers, outputs, weights, trains, parts)
        else:
            first, of_rows = copies.first, np.cumsum(copies.first) - 1
            given = outputs[first], np.bincount(of_rows, weights), [train[first] for train in trains], parts[first]
            found = learn_statistics(self._levels, self._numbers[first], *given)
        if found is not None:
            self._statistics, more = found
            more = more if copies is None else np.asfortranarray(more[of_rows])
            self._features = self._features.with_numbers(more)
            self._is_number, self._n_means = self._features.is_number, more.shape[1]

    def _learn_members(self, folds: list[Fold]) -> list[Views]:
        """Return the views of each fold, with the scales and components of all rows, which depend on no targets."""
        counted = self._used()
        every = None if counted is None or not counted.any() else np.flatnonzero(counted)
        plain = plain_views(
            self._features,
            self._is_number,
            names=self._effort.views,
            seed=self._seed,
            rows=every,
            n_last=self._n_means,
        )
        return [self._weighted(plain, fold.train, number, len(folds)) for number, fold in enumerate(folds)]

    def _held_out(
        self, members: list[Views], codes: PackedCodes, folds: list[Fold], labels: Array, weights: Array
    ) -> list[list[Array]]:
        """Return the values of models for the held-out rows of each fold, by each C.

        The model of a fold learns from the codes of its own views. The values of C end where those so far are clearly
        better on the rows that the folds so far hold out. Ctrl-C ends the folds once one of them has a model.
        """
        values: list[list[Array]] = []
        n_Cs, of_views = len(self._effort.Cs), views_of(codes.hasher, codes.n_features)
        scored: list[list[Array]] = [[] for _ in range(n_Cs)]  # losses of the held-out rows so far, by C
        begun, interrupts = self._clock.elapsed, self._clock.interrupts
        n_scored = self._effort.n_scored_folds or len(folds)
        for number, (views, fold) in enumerate(zip(members, folds, strict=True)):
            theirs = of_views[number * len(views.names) : (number + 1) * len(views.names)]
            hashes = slice(theirs[0].hashes.start, theirs[-1].hashes.stop)
            if number < n_scored and any(values) and interrupts.noted():
                n_scored = number
            if len(fold.test) == 0 or number >= n_scored:
                values.append([])
                continue
            model = self._linear(hashes.stop - hashes.start, views.widths)
            own = part_of_codes(codes, hashes, views.widths)
            so_far = np.concatenate([weights[earlier.test] for earlier in folds[: number + 1]])
            of_Cs: list[Array] = []
            tell = self._report(f"fold {number + 1} of {len(folds)}")

            def report(event: FitProgress, of_Cs: list[Array] = of_Cs, tell: Any = tell) -> None:
                if tell is not None:
                    tell(event)
                if of_Cs or any(values):
                    interrupts.check()

            with ignored_scales(), suppress(StoppedError):
                path = held_out_values(
                    model, own, self._learned, fold, self._effort.Cs, self._sample_weight, report=report
                )
                for found in islice(path, n_Cs):
                    losses = self._row_losses(found, labels[fold.test])
                    can_stop = losses is not None
                    scored[len(of_Cs)] += [] if losses is None else [losses]
                    of_Cs.append(found)
                    if len(of_Cs) < n_Cs and not self._has_time(begun, number, len(of_Cs), n_Cs):
                        n_Cs = len(of_Cs)
                        self._effort = replace(self._effort, Cs=tuple(sorted(self._effort.Cs)[:n_Cs]))
                        break
                    if can_stop and last_is_clearly_worse(scored[: len(of_Cs)], so_far):
                        n_Cs = len(of_Cs) - 1
                        break
                    if len(of_Cs) < n_Cs:
                        interrupts.check()
            if len(of_Cs) < n_Cs:  # interrupted
                n_scored = number if any(values) else number + 1
                if n_scored == number:
                    of_Cs = []
                else:
                    n_Cs = len(of_Cs)
                    self._effort = replace(self._effort, Cs=tuple(sorted(self._effort.Cs)[:n_Cs]))
            values.append(of_Cs)
            self._say(f"fold {number + 1} of {len(folds)}, {self._clock.elapsed:.1f} s")
        if n_scored < len(folds):
            self._effort = replace(self._effort, n_scored_folds=n_scored)
        width = max(part[0].shape[1] for part in values if part)
        return [[of_C.reshape(-1, width) for of_C in part[:n_Cs]] or [np.zeros((0, width))] * n_Cs for part in values]

    def _has_time(self, begun: float, number: int, done: int, n_Cs: int) -> bool:
        """Return whether the linear models of all folds and the last one can take one more value of C.

        ``number`` folds with ``n_Cs`` values of C and ``done`` values of the next are over.
        """
        Cs, n_folds = sorted(self._effort.Cs), self._effort.n_folds
        passes = np.cumsum([passes_of(C) for C in Cs])
        all_done = number * passes[n_Cs - 1] + passes[done - 1]
        still = n_folds * passes[done] + passes_of(Cs[done]) - all_done
        return bool(self._clock.elapsed + (self._clock.elapsed - begun) / all_done * still <= self._until)

    def _row_losses(self, found: Array, labels: Array) -> Array | None:
        """Return the error of each row: 1 for a wrong class, or the loss of a number; None if another score counts."""
        if self._is_class:
            if self._goal.scoring not in (None, "accuracy"):
                return None
            return np.asarray(decided_classes(found) != labels, np.float64)
        of_rows = self._goal.loss_of_rows
        if self._goal.loss == "poisson" or of_rows is None:
            return None
        return np.asarray(of_rows(found, labels), np.float64)

    def _weighted(self, plain: Views, rows: Array, number: int, n_parts: int) -> Views:
        """Return views with weights that are learned from the training rows of a fold.

        The clock ends the first descent only, and the others stop after as many steps: so one number says what it did.
        """
        until = self._clock.elapsed + WEIGHTS_SHARE * self._clock.budget / n_parts
        most, done = self._effort.most_steps, 0

        def may_go_on(_: float) -> bool:
            nonlocal done
            done += 1
            return self._clock.elapsed < until if most is None else done < most

        if (used := self._used()) is not None and np.any(rows & used):
            rows = rows & used
        unused = None
        if self._statistics is not None:
            unused = self._features.shape[1] - self._n_means + self._statistics.of_other_folds(number)
        views = weighted_views(
            plain,
            self._features.take(rows),
            targets_of(
                self._learned[rows] if self._copies is None else self._copies.targets[rows], is_class=self._is_class
            ),
            n_steps=self._effort.n_steps,
            seed=self._seed + number,
            progress=may_go_on,
            unused=unused,
        )
        if most is None and done > 0:
            self._effort = replace(self._effort, most_steps=done)
        return views

    def _choose(
        self,
        values: list[list[Array]],
        labels: Array,
        weights: Array,
        counts: Array,
        folds: Array,
        copied: Array | None,
    ) -> tuple[float, Array, Calibration | RootLink | None, CrossFitted]:
        """Return the best C, what its models predict for the held-out rows, and the calibration of these.

        The last are predictions with the C and the calibration that the folds other than that of a row choose.
        """
        joined = [np.concatenate(of_C).astype(np.float64) for of_C in zip(*values, strict=True)]
        losses = [self._row_losses(found, labels) for found in joined]
        gains = [1 - of_C if self._is_class else -of_C for of_C in losses if of_C is not None]
        n_classes = int(self._labels().max()) + 1 if self._is_class else 0

        def score_of(found: Array, rows: Any) -> float:
            """Return the score of the user with one value of C."""
            given = (labels[rows], weights[rows], counts[rows])
            if not self._is_class:
                link = RootLink.of(found[rows, 0], *given[:2])
                return -self._goal.blend_loss(link.means(found[rows]), *given[:2])
            P = fit_calibration(found[rows], given[0], n_classes, given[1], common_slope=True).probabilities(
                found[rows]
            )
            threshold = self._goal.threshold_of(P, given[0], given[2], chances_of(P, *given))
            return self._goal.value(P, given[0], given[2], threshold)

        def chosen(rows: Any) -> tuple[int, Calibration | RootLink | None]:
            means = [np.average(of_C[rows], weights=weights[rows]) for of_C in gains]
            best = int(np.argmax(means or np.nan_to_num([score_of(found, rows) for found in joined], nan=-np.inf)))
            if self._goal.loss == "poisson":
                return best, RootLink.of(joined[best][rows, 0], labels[rows], weights[rows])
            if not self._is_class:
                return best, None
            return best, fit_calibration(joined[best][rows], labels[rows], n_classes, weights[rows])

        def predicted(best: int, calibration: Calibration | RootLink | None, rows: Any) -> Array:
            if isinstance(calibration, RootLink):
                return calibration.means(joined[best][rows])
            return joined[best][rows] if calibration is None else calibration.probabilities(joined[best][rows])

        best, calibration = chosen(slice(None))
        of_best = predicted(best, calibration, slice(None))
        crossed = np.empty_like(of_best)
        for fold in np.unique(folds):
            crossed[folds == fold] = predicted(*chosen(others_of(folds, fold)), folds == fold)
        Cs = np.sort(np.asarray(self._effort.Cs))  # of which the values may have the first ones only
        given: dict[str, Any] = {"goal": self._goal, "counts": counts, "copied": copied}
        held_out = CrossFitted(crossed, labels, weights, folds, is_class=self._is_class, **given)
        return float(Cs[best]), of_best, calibration, held_out

    def _grown(self, members: list[Views], codes: PackedCodes, folds: list[Fold], C: float) -> Grown | None:
        """Return what larger models say about the rows that some folds hold out, or None where that says too little.

        These are the first folds, until they hold out enough rows. Each gets the hashes of a neighbor as well.
        """
        n = len(folds)
        if not self._goal.is_usual_loss or n < 3 or not all(len(fold.test) for fold in folds):
            return None
        if self._together is not None and self._together.is_time:
            return None  # the folds differ in their rows
        every, wide, few, fewer = views_of(codes.hasher, codes.n_features), list[Array](), list[Array](), list[Fold]()
        for number, fold in enumerate(folds):
            first = min(number, n - 2)  # of two parts of the hashes that stand side by side
            neighbor = folds[first + 1 if first == number else first]
            fewer.append(Fold(fold.train & neighbor.train, fold.test))
            if np.count_nonzero(fewer[-1].train & (self._counted() > 0)) < 2:
                return None
            widths = [width for part in members[first : first + 2] for width in part.widths]
            theirs = every[first * len(members[0].names) : (first + 2) * len(members[0].names)]
            hashes = slice(theirs[0].hashes.start, theirs[-1].hashes.stop)
            model, own = self._linear(hashes.stop - hashes.start, widths), part_of_codes(codes, hashes, widths)
            for predicted, some in ((wide, fold), (few, fewer[-1])):
                with ignored_scales():
                    predicted.append(next(held_out_values(model, own, self._y, some, [C], self._sample_weight)))
            if sum(map(len, wide)) >= CURVE_ROWS:
                break
        return Grown(np.concatenate(wide), np.concatenate(few), fewer)

    def _curve(
        self, grown: Grown, folds: list[Fold], tree_fit: TreeFit, blend: Blend, predicted: Array, y: Array
    ) -> Curve:
        """Return the errors of blends of models of folds, and of larger ones, with targets of held-out rows."""
        rows = slice(len(grown.wide))
        by_trees = blend.predicted[rows] - (1 - blend.share) * predicted[rows]  # times their share
        fewer = by_trees
        if blend.n_trees and (of_fewer := tree_fit.by_fewer_rows(blend, grown.fewer)) is not None:
            fewer = blend.share * of_fewer
        wide, few = (1 - blend.share) * grown.wide + by_trees, (1 - blend.share) * grown.few + fewer
        own, wide, few = (y[rows] - part[:, 0] for part in (blend.predicted[rows], wide, few))
        return Curve(own, wide, few, len(folds))

    def _counted(self) -> Array:
        """Return how much each row counts."""
        return counted_rows(self._y, self._sample_weight, self._class_weight, has_classes=self._is_class)

    def _fit(self, model: Any, codes: PackedCodes, calibration: Any) -> Any:
        with ignored_scales():
            model.fit(codes, self._learned, sample_weight=self._sample_weight, progress=self._report("training"))
        if calibration is not None:
            model.fitted_ = replace(model.fitted_, calibration=calibration)
            model.set_params(probability="calibrated")
        return model

    def _report(self, stage: str) -> Callable[[FitProgress], None] | None:
        """Return a function for the progress of the solver in a stage."""
        tell = self._progress
        if tell is None:
            return None
        return lambda event: tell(f"{stage}, C={event.C:g}, pass {event.passes}, gap {event.gaps.max():.1e}")

    def _codes(self, model: Any, views: Views) -> Any:
        """Return the codes of all rows. The columns of the views, which take more memory, are made in parts."""
        features, width = self._features, sum(views.widths)
        row_bytes = 8 * (features.shape[1] + width)  # as an array, and in the views
        return hash_in_parts(model, lambda rows: views.transform(features[rows]), len(features), width, row_bytes)


def last_is_clearly_worse(losses: list[list[Array]], weights: Array) -> bool:
    """Return whether the last of several models is worse on held-out rows than another one by more than chance.

    ``losses`` has the losses of the rows of each fold, by model.
    """
    last, *others = (np.concatenate(of_model) for of_model in reversed(losses))
    if not others:
        return False
    best = min(others, key=lambda of_rows: float(np.average(of_rows, weights=weights)))
    return clearly_worse(last, best, weights)


def part_of_codes(codes: PackedCodes, hashes: slice, widths: list[int]) -> PackedCodes:
    """Return the codes of some views, of 8 bits each, which have some of the hashes and columns of these widths."""
    packed = np.ascontiguousarray(codes.packed[:, hashes])
    hasher = replace(codes.hasher, n_components=hashes.stop - hashes.start, views=tuple(widths))
    return PackedCodes(packed, codes.empty, hasher, sum(widths))


@contextmanager
def ignored_scales() -> Iterator[None]:
    """Within, nobody is warned that a few columns hold nearly all the weight: learned weights are meant to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        yield


def too_few(y: Array, is_class: bool, n_folds: int) -> bool:
    """Return whether a fold would train on one class only, or hold out only rows of classes that it does not know."""
    if not is_class:
        return len(y) < 2 * n_folds
    counts = np.unique(y, return_counts=True)[1]
    return bool(len(y) - counts.max() < 2 or counts.max() < 2)


def some_rows(y: Array, count: int, seed: int, is_class: bool) -> Array:
    """Return the numbers of some rows in ascending order, with a row or two of each class first."""
    return np.sort(row_order(y, seed, is_class)[:count])


def row_order(y: Array, seed: int, is_class: bool) -> Array:
    """Return the numbers of rows in a random order, with a row or two of each class first."""
    order = np.random.default_rng(seed).permutation(len(y))
    if is_class:
        _, numbers = np.unique(y[order], return_inverse=True)
        by_class = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers)
        rank = np.empty(len(y), np.int64)
        rank[by_class] = np.arange(len(y)) - np.repeat(np.cumsum(counts) - counts, counts)
        order = order[np.argsort(np.where(rank < 2, 0, 1), kind="stable")]
    return order
