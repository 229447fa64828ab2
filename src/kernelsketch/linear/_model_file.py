"""Files of models: the conversion between a fitted estimator and the content of a file."""

from __future__ import annotations

import platform
from importlib.metadata import version
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import HASH_VERSION, on_host
from ..exceptions import InputError, InputTypeError
from ..hashing import Hasher, hash_tensors
from ..serving import HASH, MODEL_SCHEMA, PARAMETER, SCALING, check_label_bytes, padded, stored_parts, weight_tensors
from ..storage import Tensor, Tensors, load_file, save_file, stored_dtype
from ._online import OnlineState

Array = NDArray[Any]


def save_model(model: Any, path: Path) -> None:
    """Write a fitted model atomically."""
    save_file(path, MODEL_SCHEMA, *model_content(model))


def model_content(model: Any) -> tuple[dict[str, Any], Tensors]:
    """Return the header and the tensors of a fitted model."""
    hasher, size = model._hasher, len(model.used_codes_)
    tensors: Tensors = {
        **weight_tensors(on_host(model._w)[:, :, :size]),
        "bias": model._bias,
        "offset": model._offset,
        "used_codes": np.asarray(model.used_codes_, np.int64),
        **hash_tensors(hasher),
    }
    training: dict[str, Any] = {"n_iter": int(model.n_iter_)}
    header: dict[str, Any] = {
        "estimator": type(model).__name__,
        "hash": {
            "version": HASH_VERSION,
            **{name: _scalar(getattr(hasher, name), name) for name in HASH},
            "seed": hasher.seed,
            "n_features": int(model.n_features_in_),
        },
        "parameters": {
            name: _stored_parameter(name, value, hasher, tensors) for name, value in model.get_params(False).items()
        },
        "labels": None,
        "training": training,
        "versions": stored_versions(),
    }
    if model._label_column is not None:
        key = "name" if isinstance(model._label_column, str) else "number"
        header["label_column"] = {key: model._label_column}
    if hasattr(model, "feature_names_in_"):
        tensors["feature_names"] = model.feature_names_in_
    if hasattr(model, "classes_"):
        header["labels"] = _store_classes(model.classes_, tensors)
    else:
        training |= {"mean": float(model._mean), "spread": float(model._spread)}
    if hasattr(model, "dual_gap_"):
        tensors |= {"gap": np.atleast_1d(model.dual_gap_), "objective": np.atleast_1d(model.objective_)}
    if hasattr(model, "C_"):
        training["C"] = float(model.C_)
        tensors |= {"cv_Cs": model.Cs_, "cv_scores": model.scores_, "cv_iters": model.n_iters_}
    calibration = getattr(model, "_calibration", None)
    if calibration is not None:
        tensors |= {"calibration": calibration.coefficients, "calibration_intercepts": calibration.intercepts}
    for name in SCALING if model._scaling is not None else ():
        if getattr(model._scaling, name) is not None:
            tensors[f"scale_{name}"] = getattr(model._scaling, name)
    if model._beta is not None:
        tensors["duals"] = on_host(model._beta)
    if model._state is not None:
        training["blocks"] = int(model._state.blocks)
        tensors |= {"stream_weights": on_host(model._state.w)[:, :, :size], "stream_bias": model._state.bias}
    return header, tensors


def stored_versions() -> dict[str, str]:
    """Return the versions of the software that writes a file."""
    found = {name: version(name) for name in ("kernelsketch", "numpy", "scikit-learn")}
    return found | {"python": platform.python_version()}


def read_model(path: Path, kinds: dict[str, Any]) -> Any:
    """Read a model of one of the classes in ``kinds``, which are given by name."""
    return load_file(path, MODEL_SCHEMA, lambda header, tensors: restored_model(header, tensors, str(path), kinds))


def restored_model(header: dict[str, Any], tensors: Tensors, path: str, kinds: dict[str, Any]) -> Any:
    """Return a model of one of the classes in ``kinds`` from its content."""
    name = header["estimator"]
    if name not in kinds:
        raise InputError(
            f"{path} holds a {name[:60]}: read it with {name[:60]}.load or kernelsketch.load_model, in the version "
            f"that wrote it ({str(header['versions'].get('kernelsketch'))[:20]}) or a newer one."
        )
    return _restore(kinds[name], header, tensors, path)


def _restore(kind: Any, header: dict[str, Any], tensors: Tensors, path: str) -> Any:
    given = {name: _parameter(name, value, tensors) for name, value in header["parameters"].items()}
    model = kind(**given)
    model._validate_params()
    training, is_regressor = header["training"], header["labels"] is None
    if is_regressor == hasattr(kind, "decision_function") or ("C" in training) != hasattr(model, "Cs"):
        raise InputError(f"{path} is damaged: its content is not that of a {kind.__name__}.")
    parts = stored_parts(header, tensors, path)
    model._hasher, model._scaling = parts.hasher, parts.scaling
    model.n_features_in_ = header["hash"]["n_features"]
    label = header.get("label_column", {})
    model._label_column = label.get("name", label.get("number"))
    if "feature_names" in tensors:
        model.feature_names_in_ = np.array(tensors["feature_names"], dtype=object)
    model.used_codes_, model._w, model._bias, model._offset = parts.used_codes, parts.w, tensors["bias"], parts.offset
    model.n_iter_ = training["n_iter"]
    model._beta, model._state = tensors.get("duals"), None
    if parts.classes is None:
        model._mean, model._spread = parts.mean, parts.spread
        model._set_intercept()
    else:
        model.classes_, model._calibration = parts.classes, parts.calibration
        model.intercept_ = model._offset.copy()
    if "gap" in tensors:
        gap, objective = tensors["gap"], tensors["objective"]
        model.dual_gap_, model.objective_ = (float(gap[0]), float(objective[0])) if is_regressor else (gap, objective)
    if "C" in training:
        model.Cs_, model.scores_, model.n_iters_ = (tensors[name] for name in ("cv_Cs", "cv_scores", "cv_iters"))
        model.C_ = float(training["C"])
    if "blocks" in training:
        if parts.w.dtype != np.float32:
            raise InputError(f"{path} is damaged: weights holds {parts.w.dtype}, but partial_fit learns float32.")
        stream = padded(tensors["stream_weights"])
        bias = tensors["stream_bias"]
        model._state = OnlineState(parts.used_codes, stream, bias, model._w, model._bias, training["blocks"])
    return model


def _stored_parameter(name: str, value: Any, hasher: Hasher, tensors: Tensors) -> Any:
    if isinstance(value, dict):
        return {"pairs": [[_scalar(key, f"a key of {name}"), _scalar(value[key], name)] for key in value]}
    if isinstance(value, np.random.RandomState):
        return hasher.seed
    vector = MODEL_SCHEMA.tensors.get(PARAMETER + name)
    if isinstance(vector, Tensor) and not isinstance(value, (str, type(None), Integral)):
        tensors[PARAMETER + name] = np.array(value, vector.dtypes)
        return {"vector": True}
    return _scalar(value, name)


def _parameter(name: str, value: Any, tensors: Tensors) -> Any:
    if not isinstance(value, dict):
        return _scalar(value, name)
    if "vector" in value:
        return tensors[PARAMETER + name]
    return {_scalar(key, name): _scalar(weight, name) for key, weight in value["pairs"]}


def _scalar(value: Any, name: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise InputTypeError(
        f"{name}={value!r} cannot be stored in a model file. The fitted model does not need it: call "
        f"set_params({name}=None) before save, or use a number, a string or a list of numbers."
    )


def _store_classes(classes: Array, tensors: Tensors) -> str:
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
        tensors["class_names"] = classes
        return "object" if kind == "O" else "str"
    raise InputTypeError(
        f"y had labels of dtype {classes.dtype}, for example {classes[0]!r}. A model file holds whole numbers, floats "
        "of up to 64 bits, booleans and strings: fit on labels of such a type."
    )
