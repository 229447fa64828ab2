"""From a file to a model: numbers and names are checked, and nothing of them is run."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tensors import read_tensors, text_of
from ..exceptions import InputError
from ..hashing import Hasher, checked_hasher
from ._alphabet import MOST_CODES, stride_of
from ._format import HASH, VECTOR, check_label_bytes, check_layout, scalar, whole
from ._online import OnlineState

Array = NDArray[Any]


def read_model(path: Path, kinds: dict[str, Any]) -> Any:
    """The model of a file, of one of the classes given by name."""
    try:
        with path.open("rb") as file:
            header, tensors = read_tensors(file, str(path), lambda h, d: check_layout(str(path), h, d, set(kinds)))
        return _restore(kinds[header["estimator"]], header, tensors, str(path))
    except (InputError, OSError):
        raise
    except Exception as error:  # whatever a damaged or hostile file makes the readers say
        raise InputError(f"{path} cannot be read as a model: {type(error).__name__}: {error}") from error


def _restore(kind: Any, header: dict[str, Any], tensors: dict[str, Array], path: str) -> Any:
    given = {name: _value(name, value, tensors) for name, value in header["parameters"].items()}
    model = kind(**given)
    model._validate_params()
    is_regressor = "labels" not in header
    if is_regressor == hasattr(kind, "decision_function") or ("cv_Cs" in tensors) != hasattr(model, "Cs"):
        raise InputError(f"{path} is damaged: its content and a {kind.__name__} do not go together.")
    model._hasher = _hasher(header["hash"], tensors)
    model.n_features_in_ = header["hash"]["n_features"]
    if "feature_names" in tensors:
        model.feature_names_in_ = np.array(text_of(tensors, "feature_names"), dtype=object)
    w, bias, alphabet = tensors["weights"], tensors["bias"], tensors["alphabet"]
    width = model._hasher.width
    most = MOST_CODES - (width > 16)  # a number is left for codes that are not known
    if not (_ascending(alphabet) and alphabet[0] >= 0 and alphabet[-1] < 1 << width and len(alphabet) <= most):
        raise InputError(f"{path} is damaged: its alphabet is not one of codes of {width} bits.")
    if not all(np.isfinite(tensors[name]).all() for name in ("weights", "bias", "offset")):
        raise InputError(f"{path} is damaged: its weights are not all finite.")
    model.alphabet_, model._w, model._bias, model._offset = alphabet, _padded(w), bias, tensors["offset"]
    training = header["training"]
    model.n_iter_ = whole(training["n_iter"], 0, 2**62, f"{path} is damaged: n_iter")
    model._beta, model._state = tensors.get("duals"), None
    if is_regressor:
        model._mean, model._spread = float(training["mean"]), float(training["spread"])
        if not (np.isfinite([model._mean, model._spread]).all() and model._spread > 0):
            raise InputError(f"{path} is damaged: mean {model._mean} and spread {model._spread} of the targets.")
        model._set_intercept()
    else:
        model.classes_ = _classes(header["labels"], tensors, path)
        model.intercept_ = model._offset.copy()
    if "gap" in tensors:
        gap, objective = tensors["gap"], tensors["objective"]
        model.dual_gap_, model.objective_ = (float(gap[0]), float(objective[0])) if is_regressor else (gap, objective)
    if "cv_Cs" in tensors:
        model.Cs_, model.scores_, model.n_iters_ = (tensors[name] for name in ("cv_Cs", "cv_scores", "cv_iters"))
        model.C_ = float(training["C"])
    if "stream_weights" in tensors:
        if w.dtype != np.float32:
            raise InputError(f"{path} is damaged: weights of a stream are float32.")
        blocks = whole(training["blocks"], 0, 2**62, f"{path} is damaged: blocks")
        stream = _padded(tensors["stream_weights"])
        model._state = OnlineState(alphabet, stream, tensors["stream_bias"], model._w, bias, blocks)
    return model


def _value(name: str, value: Any, tensors: dict[str, Array]) -> Any:
    if not isinstance(value, dict):
        return scalar(value, name)
    if "vector" in value:
        return tensors[VECTOR + name]
    return {scalar(key, name): scalar(weight, name) for key, weight in value["pairs"]}


def _hasher(stored: dict[str, Any], tensors: dict[str, Array]) -> Hasher:
    seed = whole(stored["seed"], 0, 2**64 - 1, "the model is damaged: seed")
    given = {name: scalar(stored[name], name) for name in HASH}
    return checked_hasher(**given, seed=seed, center=tensors.get("center"))


def _padded(w: Array) -> Array:
    """A table with rows as long as the solvers want them."""
    wide = np.zeros((*w.shape[:2], stride_of(w.shape[2])), w.dtype)
    wide[:, :, : w.shape[2]] = w
    return wide


def _classes(kind: str, tensors: dict[str, Array], path: str) -> Array:
    if kind in ("str", "object"):
        names = text_of(tensors, "classes")
        if kind == "str":
            check_label_bytes(len(names), max(map(len, names)))
        classes = np.array(names, dtype=object if kind == "object" else str)
        rising = all(a < b for a, b in pairwise(names))
    else:
        classes = tensors["classes"].astype(bool) if kind == "bool" else tensors["classes"]
        rising = _ascending(classes.astype(np.uint8) if kind == "bool" else classes)
    if kind not in ("str", "object", "bool", "numbers") or not rising:
        raise InputError(f"{path} is damaged: its classes are not distinct labels in ascending order.")
    return classes


def _ascending(values: Array) -> bool:
    return bool((values[1:] > values[:-1]).all())
