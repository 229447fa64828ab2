"""Conversion of models to scikit-learn pipelines, and of pipelines to models.

A table of weights (problems, k, used codes) and coefficients of one-hot features (problems, k * 2**width) hold the
same model. The pipeline has room for every code, the table only for codes that have a weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._losses import CLASSIFIER_LOSSES, loss_named
from ..exceptions import InputError, InputTypeError, Setting
from ..features import GCWS
from ..serving import LinearModel, padded
from ._training import Training


def pipeline_of_classifier(model: Any) -> Pipeline:
    """Return GCWS and LinearSVC, or SGDClassifier if the model has probabilities, which it computes as we do."""
    check_is_fitted(model)
    if model.probability is not None:
        raise InputError(
            Setting("probability", model.probability),
            " cannot be converted, because scikit-learn's linear models have no "
            "calibration: call set_params(probability=None) first, which leaves the decision values as they are.",
        )
    common = {"class_weight": model.class_weight, "fit_intercept": model.fit_intercept}
    if loss_named(model.loss).has_probabilities:
        linear = SGDClassifier(loss=model.loss, **common)
    else:
        C = float(getattr(model, "C_", getattr(model, "C", 1.0)))
        linear = LinearSVC(loss=model.loss, C=C, intercept_scaling=model.intercept_scaling, **common)
    linear.classes_, linear.n_iter_ = model.classes_.copy(), model.n_iter_
    linear.intercept_ = np.array(model.intercept_, np.float64)
    return _pipeline(model, linear, model.code_weights_.astype(np.float64))


def pipeline_of_regressor(model: Any) -> Pipeline:
    """Return GCWS and Ridge."""
    check_is_fitted(model)
    C = float(getattr(model, "C_", getattr(model, "C", 1.0)))
    linear = Ridge(alpha=1 / (2 * C), fit_intercept=model.fit_intercept)
    linear.intercept_ = model.intercept_
    return _pipeline(model, linear, model.code_weights_.astype(np.float64)[0])


def _pipeline(model: Any, linear: Any, coef: Array) -> Pipeline:
    if model.fitted_.scaling is not None:
        raise InputError(
            Setting("scale", model.scale),
            " cannot be converted: fit a model with scale=None on rows that are scaled already, "
            "for example by sklearn.preprocessing.StandardScaler, and put the scaler before the converted pipeline.",
        )
    hasher = model.hasher_
    if hasattr(model, "feature_names_in_"):
        hasher.feature_names_in_ = model.feature_names_in_.copy()
    linear.coef_, linear.n_features_in_ = coef, coef.shape[-1]
    return make_pipeline(hasher, linear)


def classifier_of(kind: Any, pipeline: Any) -> Any:
    """Return a classifier of class ``kind`` with the decision values of a fitted pipeline of GCWS and a linear step."""
    hasher, linear = _steps(pipeline)
    check_is_fitted(hasher)
    check_is_fitted(linear)
    names = ("n_components", "bits", "t_bits", "p", "gamma", "center", "views", "random_state", "n_jobs")
    given = {name: getattr(hasher, name) for name in names}
    given |= {name: getattr(linear, name) for name in ("class_weight", "fit_intercept")}
    given |= {
        name: getattr(linear, name) for name in ("C", "intercept_scaling") if np.isfinite(getattr(linear, name, np.nan))
    }
    model = kind(**given, loss=_loss(linear))
    model.n_features_in_ = hasher.n_features_in_
    if hasattr(hasher, "feature_names_in_"):
        model.feature_names_in_ = hasher.feature_names_in_
    used_codes, w = _table(hasher, linear)
    intercepts = np.array(np.broadcast_to(linear.intercept_, len(w)), np.float64)
    value = model.intercept_scaling if model.fit_intercept else 0.0
    classes = np.asarray(linear.classes_)
    model.fitted_ = LinearModel(
        hasher.hasher, model.n_features_in_, used_codes, w, intercepts, model.loss, classes=classes
    )
    bias = intercepts / value if value else np.zeros_like(intercepts)
    model.training_ = Training(bias, int(np.max(linear.n_iter_)))
    return model


def _steps(pipeline: Any) -> tuple[GCWS, Any]:
    steps = [step for _, step in pipeline.steps] if isinstance(pipeline, Pipeline) else [pipeline]
    kinds = ", ".join(type(step).__name__ for step in steps)
    if len(steps) != 2 or not isinstance(steps[0], GCWS):
        raise InputTypeError(
            f"pipeline must be make_pipeline(GCWS(...), a linear classifier), got {kinds}: convert only these two "
            "steps, and put the others before the converted model in a new pipeline.",
            parameter="pipeline",
        )
    if not isinstance(steps[1], (LinearSVC, LogisticRegression, SGDClassifier)):
        raise InputTypeError(
            f"pipeline ends in {type(steps[1]).__name__}, which cannot be converted: use LinearSVC, LogisticRegression "
            "or SGDClassifier."
        )
    return steps[0], steps[1]


def _loss(linear: Any) -> str:
    """Return the loss of a one-vs-rest linear model, and refuse other models."""
    multinomial = getattr(linear, "multi_class", None) in ("multinomial", "crammer_singer")
    if isinstance(linear, LogisticRegression):
        by_class = linear.solver == "liblinear" or getattr(linear, "multi_class", None) == "ovr"
        if multinomial or (len(linear.classes_) > 2 and not by_class):
            raise InputError(
                f"LogisticRegression with {len(linear.classes_)} classes is one multinomial model, but GCWSClassifier "
                "is one-vs-rest: use SGDClassifier(loss='log_loss') or LinearSVC."
            )
        return "log_loss"
    if multinomial or linear.loss not in CLASSIFIER_LOSSES:
        what = "multi_class='crammer_singer'" if multinomial else f"loss={linear.loss!r}"
        names = ", ".join(CLASSIFIER_LOSSES)
        raise InputError(f"{type(linear).__name__} with {what} cannot be converted: use one of the losses {names}.")
    return str(linear.loss)


def _table(hasher: GCWS, linear: Any) -> tuple[Array, Array]:
    """Return the codes that have a weight, and the table of weights for them."""
    coef = linear.coef_.toarray() if sparse.issparse(linear.coef_) else np.asarray(linear.coef_)
    k, size = int(hasher.n_components), 1 << (int(hasher.bits) + int(hasher.t_bits))
    if coef.shape[1] != k * size:
        raise InputError(
            f"the linear model has {coef.shape[1]} coefficients per class, but the hash gives {k * size} features: fit "
            "the pipeline again, because parameters were changed after fit."
        )
    coef = coef.reshape(len(coef), k, size)
    used_codes = np.flatnonzero((coef != 0).any(axis=(0, 1)))
    if len(used_codes) == 0:
        used_codes = np.zeros(1, np.int64)
    w = coef[:, :, used_codes] / (np.sqrt(k) if hasher.normalize else 1.0)
    return used_codes, padded(w.astype(np.float32 if coef.dtype == np.float32 else np.float64))
