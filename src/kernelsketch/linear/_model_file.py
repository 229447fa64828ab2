"""Files of models: their schema, and the conversion between a fitted estimator and a file.

A model is restored from numbers and strings alone. A file holds no code, so none can run.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import HASH_VERSION, on_host
from ..exceptions import InputError, InputTypeError
from ..hashing import HASH_CENTER, HASH_FIELDS, HASH_VIEWS, Hasher, checked_hasher, hash_tensors, stored_views
from ..storage import (
    OPTIONAL,
    Field,
    Rule,
    Schema,
    Tensor,
    Tensors,
    Text,
    When,
    With,
    load_file,
    save_file,
    stored_dtype,
)
from ._calibration import Calibration
from ._code_table import MOST_CODES, stride_of
from ._online import OnlineState
from ._scaling import Scaling

Array = NDArray[Any]

MODEL_FORMAT = "kernelsketch.model"
MAX_LABEL_BYTES = 1 << 28  # of an array of strings, in which each takes as much memory as the longest
PARAMETER = "parameter."  # begins the names of tensors that hold parameters
HASH = ("n_components", "bits", "t_bits", "p", "gamma")
SCALING = ("spread", "center", "quantiles")
TABLE = ("problems", "n_components", "used codes")


def _n_problems_fit(header: Any, sizes: Any) -> bool:
    """Two classes need one problem, more classes one problem each, regression one."""
    classes = sizes.get("classes", 1)
    return bool(sizes["problems"] == (1 if classes == 2 else classes)) and (header["labels"] is None or classes > 1)


def _only_regressors_scale(header: Any, sizes: Any) -> bool:
    scaled = [name in header["training"] for name in ("mean", "spread")]
    return scaled == [header["labels"] is None] * 2


def _calibration_fits(header: Any, sizes: Any) -> bool:
    rows = sizes.get("rows of slopes")
    return rows is None or (rows in (1, sizes["problems"]) and header["labels"] is not None)


SCHEMA = Schema(
    kind="a model",
    format=MODEL_FORMAT,
    version=1,
    fields={
        "estimator": Field(str),  # the name of the class
        "hash": Field(dict, fields=HASH_FIELDS),
        "parameters": Field(dict),  # of the estimator; vectors among them are tensors
        "labels": Field(str, choices=("numbers", "bool", "str", "object"), nullable=True),  # null: a regressor
        "training": Field(
            dict,
            fields={
                "n_iter": Field(int, 0, 2**62),
                "mean": Field(float, required=False),  # of the targets of a regressor
                "spread": Field(float, above=0, required=False),
                "blocks": Field(int, 0, 2**62, required=False),  # that partial_fit has seen
                "C": Field(float, required=False),  # that cross-validation chose
            },
        ),
        "versions": Field(dict),  # of the software that wrote the file, for information
    },
    tensors={
        "weights": Tensor("f4 f8", TABLE, finite=True),
        "bias": Tensor("f8", ("problems",), finite=True),  # intercepts as learned
        "offset": Tensor("f8", ("problems",), finite=True),  # intercepts as added to decision values
        "used_codes": Tensor("i8", ("used codes",), ascending=True),
        "center": HASH_CENTER,
        "views": HASH_VIEWS,
        "classes": Tensor("f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8", ("classes",), When("labels", ("numbers", "bool"))),
        "class_names": Text("classes", When("labels", ("str", "object"))),
        "feature_names": Text("features"),
        "duals": Tensor("f4 f8", ("problems", "rows"), OPTIONAL),  # from which a warm start continues
        "stream_weights": Tensor("f4", TABLE, When("training.blocks")),  # from which partial_fit continues
        "stream_bias": Tensor("f8", ("problems",), When("training.blocks")),
        "gap": Tensor("f8", ("problems",), OPTIONAL),
        "objective": Tensor("f8", ("problems",), With("gap")),
        "scale_spread": Tensor("f8", ("features",), OPTIONAL, finite=True),
        "scale_center": Tensor("f8", ("features",), OPTIONAL, finite=True),
        "scale_quantiles": Tensor("f8", ("quantiles", "features"), OPTIONAL, finite=True),
        "calibration": Tensor("f8", ("rows of slopes", "problems"), OPTIONAL, finite=True),
        "calibration_intercepts": Tensor("f8", ("problems",), With("calibration"), finite=True),
        "cv_Cs": Tensor("f8", ("Cs",), When("training.C")),
        "cv_scores": Tensor("f8", ("folds", "Cs"), When("training.C")),
        "cv_iters": Tensor("i8", ("folds", "Cs"), When("training.C")),
        PARAMETER + "center": Tensor("f8", ("given center",), OPTIONAL),
        PARAMETER + "Cs": Tensor("f8", ("given Cs",), OPTIONAL),
        PARAMETER + "views": Tensor("i8", ("given views",), OPTIONAL),
    },
    sizes={"n_components": "hash.n_components", "features": "hash.n_features"},
    rules=(
        Rule("the number of weight tables does not fit the number of classes", _n_problems_fit),
        Rule("training.mean and training.spread must be there for a regressor, and only there", _only_regressors_scale),
        Rule("calibration must be one row or a square matrix, of a classifier", _calibration_fits),
        Rule(f"used_codes must have 1 to {MOST_CODES} values", lambda _, sizes: 1 <= sizes["used codes"] <= MOST_CODES),
    ),
)


def save_model(model: Any, path: Path) -> None:
    """Write a fitted model atomically."""
    save_file(path, SCHEMA, *model_content(model))


def model_content(model: Any) -> tuple[dict[str, Any], Tensors]:
    """Return the header and the tensors of a fitted model."""
    hasher, size = model._hasher, len(model.used_codes_)
    tensors: Tensors = {
        "weights": on_host(model._w)[:, :, :size],
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
    return load_file(path, SCHEMA, lambda header, tensors: restored_model(header, tensors, str(path), kinds))


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
    stored = {name: header["hash"][name] for name in HASH}
    views = stored_views(path, header["hash"], tensors)
    model._hasher = checked_hasher(**stored, seed=header["hash"]["seed"], center=tensors.get("center"), views=views)
    model.n_features_in_ = header["hash"]["n_features"]
    if "feature_names" in tensors:
        model.feature_names_in_ = np.array(tensors["feature_names"], dtype=object)
    model._scaling = _scaling(tensors, path)
    used, w, bias = tensors["used_codes"], tensors["weights"], tensors["bias"]
    _check_used_codes(used, model._hasher.width, path)
    model.used_codes_, model._w, model._bias, model._offset = used, _padded(w), bias, tensors["offset"]
    model.n_iter_ = training["n_iter"]
    model._beta, model._state = tensors.get("duals"), None
    if is_regressor:
        model._mean, model._spread = float(training["mean"]), float(training["spread"])
        model._set_intercept()
    else:
        model.classes_ = _classes(header["labels"], tensors, path)
        model.intercept_ = model._offset.copy()
    if "calibration" in tensors:
        model._calibration = Calibration(tensors["calibration"], tensors["calibration_intercepts"])
    if "gap" in tensors:
        gap, objective = tensors["gap"], tensors["objective"]
        model.dual_gap_, model.objective_ = (float(gap[0]), float(objective[0])) if is_regressor else (gap, objective)
    if "C" in training:
        model.Cs_, model.scores_, model.n_iters_ = (tensors[name] for name in ("cv_Cs", "cv_scores", "cv_iters"))
        model.C_ = float(training["C"])
    if "blocks" in training:
        if w.dtype != np.float32:
            raise InputError(f"{path} is damaged: weights holds {w.dtype}, but partial_fit learns float32.")
        stream = _padded(tensors["stream_weights"])
        model._state = OnlineState(used, stream, tensors["stream_bias"], model._w, bias, training["blocks"])
    return model


def _stored_parameter(name: str, value: Any, hasher: Hasher, tensors: Tensors) -> Any:
    if isinstance(value, dict):
        return {"pairs": [[_scalar(key, f"a key of {name}"), _scalar(value[key], name)] for key in value]}
    if isinstance(value, np.random.RandomState):
        return hasher.seed
    vector = SCHEMA.tensors.get(PARAMETER + name)
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


def _scaling(tensors: Tensors, path: str) -> Scaling | None:
    found = Scaling(**{name: tensors.get(f"scale_{name}") for name in SCALING})
    spread, center, quantiles = (getattr(found, name) for name in SCALING)
    if spread is None and center is None and quantiles is None:
        return None
    if (spread is None) == (quantiles is None) or (center is not None and spread is None):
        raise InputError(f"{path} is damaged: it has parts of two scalings, or a part of one.")
    if spread is not None and not (spread >= 0).all():
        raise InputError(f"{path} is damaged: scale_spread has values below 0.")
    if quantiles is not None and not (len(quantiles) and (np.diff(quantiles, axis=0) >= 0).all()):
        raise InputError(f"{path} is damaged: scale_quantiles are not in ascending order.")
    return found


def _check_used_codes(used: Array, width: int, path: str) -> None:
    most = MOST_CODES - (width > 16)  # one number stays free for codes that training has not seen
    if not (used[0] >= 0 and used[-1] < 1 << width and len(used) <= most):
        raise InputError(f"{path} is damaged: used_codes are not codes of {width} bits.")


def _padded(w: Array) -> Array:
    """Return a table whose rows have the length that the solvers want."""
    wide = np.zeros((*w.shape[:2], stride_of(w.shape[2])), w.dtype)
    wide[:, :, : w.shape[2]] = w
    return wide


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
            _check_label_bytes(len(classes), max(map(len, classes)))
        tensors["class_names"] = classes
        return "object" if kind == "O" else "str"
    raise InputTypeError(
        f"y had labels of dtype {classes.dtype}, for example {classes[0]!r}. A model file holds whole numbers, floats "
        "of up to 64 bits, booleans and strings: fit on labels of such a type."
    )


def _classes(kind: str, tensors: Tensors, path: str) -> Array:
    if kind in ("str", "object"):
        names = tensors["class_names"]
        if kind == "str":
            _check_label_bytes(len(names), max(map(len, names)))
        classes = np.array(names, dtype=object if kind == "object" else str)
        ascending = all(a < b for a, b in pairwise(names))
    else:
        stored = tensors["classes"]
        classes = stored.astype(bool) if kind == "bool" else stored
        ascending = bool((stored[1:] > stored[:-1]).all()) and (kind != "bool" or stored.max() <= 1)
    if not ascending:
        raise InputError(f"{path} is damaged: its classes are not distinct labels in ascending order.")
    return classes


def _check_label_bytes(count: int, longest: int) -> None:
    if 4 * count * longest > MAX_LABEL_BYTES:
        raise InputError(
            f"{count} classes with names of up to {longest} characters take more than {MAX_LABEL_BYTES} bytes: use "
            "shorter labels, or an object array of them."
        )
