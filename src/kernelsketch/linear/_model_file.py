"""Files of estimators: their parameters and their training, around the content of :class:`LinearModel`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..backends import on_host
from ..exceptions import InputError
from ..serving import MODEL_SCHEMA, model_content, padded, stored_model, stored_parameters
from ..storage import Tensors, load_file
from ._training import OnlineState, Training


def estimator_content(estimator: Any) -> tuple[dict[str, Any], Tensors]:
    """Return the header and the tensors of a fitted estimator."""
    model, training = estimator.fitted_, estimator.training_
    header, tensors = model_content(model, estimator.get_params(False))
    header["estimator"], tensors["bias"] = type(estimator).__name__, training.bias
    header["training"]["n_iter"] = int(training.n_iter)
    if hasattr(estimator, "feature_names_in_"):
        tensors["feature_names"] = estimator.feature_names_in_
    if training.rows is not None:
        header["training"]["rows"] = int(training.rows)
    if training.gap is not None:
        tensors |= {"gap": training.gap, "objective": training.objective}
    if training.duals is not None:
        tensors["duals"] = on_host(training.duals)
    if training.stream is not None:
        header["training"]["blocks"] = int(training.stream.blocks)
        tensors["stream_weights"] = on_host(training.stream.w)[:, :, : len(model.used_codes)]
        tensors["stream_bias"] = training.stream.bias
    if hasattr(estimator, "C_"):
        header["training"]["C"] = float(estimator.C_)
        tensors |= {"cv_Cs": estimator.Cs_, "cv_scores": estimator.scores_, "cv_iters": estimator.n_iters_}
    return header, tensors


def read_model(path: Path, kinds: dict[str, Any]) -> Any:
    """Read an estimator of one of the classes in ``kinds``, which are given by name."""
    return load_file(path, MODEL_SCHEMA, lambda header, tensors: restored_model(header, tensors, str(path), kinds))


def restored_model(header: dict[str, Any], tensors: Tensors, path: str, kinds: dict[str, Any]) -> Any:
    """Return an estimator of one of the classes in ``kinds`` from its content."""
    name, training = header["estimator"], header["training"]
    if name not in kinds:
        raise InputError(
            f"{path} holds a {name[:60]}: read it with {name[:60]}.load or kernelsketch.load_model, in the version "
            f"that wrote it ({str(header['versions'].get('kernelsketch'))[:20]}) or a newer one."
        )
    estimator = kinds[name](**stored_parameters(header, tensors))
    try:
        estimator._validate_params()
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from None
    is_regressor = header["labels"] is None
    if is_regressor == hasattr(estimator, "decision_function") or ("C" in training) != hasattr(estimator, "Cs"):
        raise InputError(f"{path} is damaged: its content is not that of a {name}.")
    estimator.fitted_ = stored_model(header, tensors, path)
    estimator.training_ = _stored_training(training, tensors, estimator.fitted_, path)
    estimator.n_features_in_ = header["hash"]["n_features"]
    if "feature_names" in tensors:
        estimator.feature_names_in_ = np.array(tensors["feature_names"], dtype=object)
    if "C" in training:
        estimator.C_ = float(training["C"])
        estimator.Cs_, estimator.scores_, estimator.n_iters_ = (
            tensors[f"cv_{part}"] for part in ("Cs", "scores", "iters")
        )
    return estimator


def _stored_training(fields: dict[str, Any], tensors: Tensors, model: Any, path: str) -> Training:
    bias, stream = tensors["bias"], None
    if "blocks" in fields:
        if model.weights.dtype != np.float32:
            raise InputError(f"{path} is damaged: weights holds {model.weights.dtype}, but partial_fit learns float32.")
        w, own_bias = padded(tensors["stream_weights"]), tensors["stream_bias"]
        stream = OnlineState(model.used_codes, w, own_bias, model.weights, bias, fields["blocks"])
    gap, objective, duals = (tensors.get(name) for name in ("gap", "objective", "duals"))
    return Training(bias, fields["n_iter"], gap, objective, duals, stream, fields.get("rows"))
