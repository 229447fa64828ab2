"""From a fitted model to a file."""

from __future__ import annotations

import platform
from importlib.metadata import version
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tensors import Declared, keep_text, stored_dtype, write_tensors
from ..backends import HASH_VERSION
from ..exceptions import InputTypeError
from ..hashing import Hasher
from ._format import FORMAT, FORMAT_VERSION, HASH, TENSORS, VECTOR, check_label_bytes, check_layout, scalar

Array = NDArray[Any]


def save_model(model: Any, path: Path) -> None:
    """Write a fitted model."""
    tensors: dict[str, Array] = {}
    hasher = model._hasher
    header: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "estimator": type(model).__name__,
        "hash": {
            "version": HASH_VERSION,
            **{name: scalar(getattr(hasher, name), name) for name in HASH},
            "seed": hasher.seed,
            "n_features": int(model.n_features_in_),
        },
        "parameters": {
            name: _parameter(name, value, hasher, tensors) for name, value in model.get_params(False).items()
        },
        "training": {"n_iter": int(model.n_iter_)},
        "versions": {name: version(name) for name in ("kernelsketch", "numpy", "scikit-learn")}
        | {"python": platform.python_version()},
    }
    training = header["training"]
    size = len(model.alphabet_)
    tensors |= {"weights": model._w[:, :, :size], "bias": model._bias, "offset": model._offset}
    tensors["alphabet"] = np.asarray(model.alphabet_, np.int64)
    if hasher.center is not None:
        tensors["center"] = hasher.center
    if hasattr(model, "feature_names_in_"):
        keep_text(model.feature_names_in_, "feature_names", tensors)
    if hasattr(model, "classes_"):
        header["labels"] = _keep_classes(model.classes_, tensors)
    else:
        training |= {"mean": float(model._mean), "spread": float(model._spread)}
    if hasattr(model, "dual_gap_"):
        tensors |= {"gap": np.atleast_1d(model.dual_gap_), "objective": np.atleast_1d(model.objective_)}
    if hasattr(model, "C_"):
        training["C"] = float(model.C_)
        tensors |= {"cv_Cs": model.Cs_, "cv_scores": model.scores_, "cv_iters": model.n_iters_}
    if model._beta is not None:
        tensors["duals"] = model._beta
    if model._state is not None:
        training["blocks"] = int(model._state.blocks)
        tensors |= {"stream_weights": model._state.w[:, :, :size], "stream_bias": model._state.bias}
    declared = {name: Declared(stored_dtype(t.dtype) or t.dtype, t.shape) for name, t in tensors.items()}
    check_layout(str(path), header, declared, {type(model).__name__})
    write_tensors(path, header, tensors)


def _parameter(name: str, value: Any, hasher: Hasher, tensors: dict[str, Array]) -> Any:
    if isinstance(value, dict):
        return {"pairs": [[scalar(key, f"a key of {name}"), scalar(value[key], name)] for key in value]}
    if isinstance(value, np.random.RandomState):
        return hasher.seed
    if VECTOR + name in TENSORS and not isinstance(value, (str, type(None), Integral)):
        tensors[VECTOR + name] = np.array(value, np.float64)
        return {"vector": True}
    return scalar(value, name)


def _keep_classes(classes: Array, tensors: dict[str, Array]) -> str:
    kind = classes.dtype.kind
    if kind == "b":
        tensors["classes"] = classes.astype(np.uint8)
        return "bool"
    if kind in "iuf" and stored_dtype(classes.dtype) is not None:
        tensors["classes"] = classes
        return "numbers"
    if kind in "UT" or (kind == "O" and all(isinstance(label, str) for label in classes)):
        if kind == "U":
            check_label_bytes(len(classes), max(map(len, classes)))
        keep_text(classes, "classes", tensors)
        return "object" if kind == "O" else "str"
    raise InputTypeError(
        f"y had labels of dtype {classes.dtype}, {classes[0]!r} for one: a model file keeps whole numbers, floats of "
        "up to 64 bits, booleans and strings. Fit on labels of such a type."
    )
