"""Files of models: their schema, and the conversion of :class:`LinearModel` to and from their content.

A model is restored from numbers and strings alone. A file holds no code, so none can run. ``linear/_model_file.py``
adds what estimators need besides: their parameters and the state of learning.
"""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array
from .._losses import LOSSES, loss_named
from ..backends import on_host
from ..exceptions import InputError, InputTypeError
from ..hashing import HASH_FIELDS, HASH_TENSORS, hash_content, stored_hasher
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
    content_in_words,
    load_file,
    read_header,
    stored_dtype,
)
from ._model import LinearModel
from ._numbers import MOST_CODES, padded
from ._probabilities import Calibration
from ._scaling import Scaling

MODEL_FORMAT = "kernelsketch.model"
MAX_LABEL_BYTES = 1 << 28  # of an array of strings, in which each takes as much memory as the longest
PARAMETER = "parameter."  # begins the names of tensors that hold parameters
SCALING = ("spread", "center", "quantiles")
FEW_WEIGHTS = 1 << 12  # tables up to here are stored as they are
TABLE = ("problems", "n_components", "used codes")


def _n_problems_fit(header: Any, sizes: Any) -> bool:
    """Two classes need one problem, more classes one problem each, regression one."""
    classes = sizes.get("classes", 1)
    return bool(sizes["problems"] == (1 if classes == 2 else classes)) and (header["labels"] is None or classes > 1)


def _only_regressors_scale(header: Any, _sizes: Any) -> bool:
    return all((name in header["training"]) == (header["labels"] is None) for name in ("mean", "spread"))


def _calibration_fits(header: Any, sizes: Any) -> bool:
    rows = sizes.get("rows of slopes")
    return rows is None or (rows in (1, sizes["problems"]) and header["labels"] is not None)


MODEL_SCHEMA = Schema(
    kind="a model on codes",
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
                "rows": Field(int, 0, 2**62, required=False),  # of a fit, by which it counts in partial_fit
                "C": Field(float, required=False),  # that cross-validation chose
            },
        ),
        "versions": Field(dict),  # of the software that wrote the file, for information
        "label_column": Field(  # of the file that the command line trained on: its name, or else its number
            dict, required=False, fields={"name": Field(str, required=False), "number": Field(int, required=False)}
        ),
    },
    tensors={
        "weights": Tensor("f4 f8", TABLE, OPTIONAL, finite=True),  # all of them, or those that are not 0:
        "weight_flags": Tensor("u1", ("problems", "n_components", "bytes of flags"), OPTIONAL),  # a bit per used code
        "weight_values": Tensor("f4 f8", ("weights that are not 0",), With("weight_flags"), finite=True),
        "bias": Tensor("f8", ("problems",), finite=True),  # intercepts as learned
        "offset": Tensor("f8", ("problems",), finite=True),  # intercepts as added to decision values
        "used_codes": Tensor("i8", ("used codes",), ascending=True),
        **HASH_TENSORS,
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


def model_content(model: LinearModel, parameters: dict[str, Any] | None = None) -> tuple[dict[str, Any], Tensors]:
    """Return the header and the tensors of a model, with the parameters of its estimator if it has one."""
    fields, tensors = hash_content(model.hasher, model.n_features)
    tensors |= {
        **_weight_tensors(on_host(model.weights)[:, :, : len(model.used_codes)]),
        "bias": model.intercepts,
        "offset": model.intercepts,
        "used_codes": np.asarray(model.used_codes, np.int64),
    }
    given = _parameters_of(model) if parameters is None else parameters
    header: dict[str, Any] = {
        "estimator": model.estimator,
        "hash": fields,
        "parameters": {name: _stored_parameter(name, given[name], fields["seed"], tensors) for name in given},
        "labels": None if model.classes is None else _store_classes(model.classes, tensors),
        "training": {"n_iter": 0},
        "versions": stored_versions(),
    }
    if model.classes is None:
        header["training"] |= {"mean": float(model.mean), "spread": float(model.spread)}
    if model.label_column is not None:
        header["label_column"] = {"name" if isinstance(model.label_column, str) else "number": model.label_column}
    if model.calibration is not None:
        tensors["calibration"] = model.calibration.coefficients
        tensors["calibration_intercepts"] = model.calibration.intercepts
    for name in SCALING:
        if getattr(model.scaling, name, None) is not None:
            tensors[f"scale_{name}"] = getattr(model.scaling, name)
    return header, tensors


def stored_model(header: dict[str, Any], tensors: Tensors, path: str) -> LinearModel:
    """Return the model of the content of a file, which the schema has checked."""
    training, label, parameters = header["training"], header.get("label_column", {}), header["parameters"]
    hasher, used = stored_hasher(path, header["hash"], tensors), tensors["used_codes"]
    most = MOST_CODES - (hasher.width > 16)  # one number stays free for codes that training has not seen
    if not (used[0] >= 0 and used[-1] < 1 << hasher.width and len(used) <= most):
        raise InputError(f"{path} is damaged: used_codes are not codes of {hasher.width} bits.")
    loss, calibration = str(parameters.get("loss")), tensors.get("calibration")
    return LinearModel(
        hasher,
        header["hash"]["n_features"],
        used,
        _stored_weights(tensors, len(used), path),
        tensors["offset"],
        loss,
        classes=None if header["labels"] is None else _classes(header["labels"], tensors, path),
        mean=float(training.get("mean", 0)),
        spread=float(training.get("spread", 1)),
        scaling=_scaling(parameters, tensors, path),
        calibration=None if calibration is None else Calibration(calibration, tensors["calibration_intercepts"]),
        label_column=label.get("name", label.get("number")),
        loss_parameter=parameters.get(_parameter_of(loss)),
    )


def load_model_file(path: Path) -> LinearModel:
    """Read the model of a file, with its calibration if the parameters of its estimator ask for it."""
    found = read_header(path).get("format")
    if isinstance(found, str) and found != MODEL_FORMAT:
        raise InputError(
            f"{path} does not hold a model on codes: {content_in_words(found)}. A predictor takes files of "
            "GCWSClassifier and GCWSRegressor, with or without CV, and of `kernelsketch train --plain`."
        )

    def restore(header: dict[str, Any], tensors: Tensors) -> LinearModel:
        return stored_model(header, tensors, str(path)).asked_for(header["parameters"].get("probability"))

    return load_file(path, MODEL_SCHEMA, restore)


def _parameters_of(model: LinearModel) -> dict[str, Any]:
    """Return the parameters that an estimator of this model would have."""
    hasher, parameter = model.hasher, _parameter_of(model.loss)
    found = {name: getattr(hasher, name) for name in ("n_components", "bits", "t_bits", "p", "gamma", "center")}
    found |= {"views": list(hasher.views) or None, "random_state": hasher.seed, "loss": model.loss}
    found["scale"] = None if model.scaling is None else model.scaling.kind
    if parameter is not None and model.loss_parameter is not None:
        found[parameter] = model.loss_parameter
    if model.classes is not None:
        found["probability"] = None if model.calibration is None else "calibrated"
    return found


def _parameter_of(loss: str) -> str | None:
    """Return the name of the parameter of a loss, which a file of another version may have."""
    return loss_named(loss).parameter if loss in LOSSES else None


def _stored_parameter(name: str, value: Any, seed: int, tensors: Tensors) -> Any:
    """Return a parameter of an estimator as a header holds it; a vector goes to the tensors."""
    vector = MODEL_SCHEMA.tensors.get(PARAMETER + name)
    if isinstance(value, dict):
        return {"pairs": [[_scalar(key, f"a key of {name}"), _scalar(value[key], name)] for key in value]}
    if isinstance(value, np.random.RandomState):
        return seed
    if isinstance(vector, Tensor) and not isinstance(value, (str, type(None), Integral)):
        tensors[PARAMETER + name] = np.array(value, vector.dtypes)
        return {"vector": True}
    return _scalar(value, name)


def stored_parameters(header: dict[str, Any], tensors: Tensors) -> dict[str, Any]:
    """Return the parameters of an estimator from the content of a file."""

    def restored(name: str, value: Any) -> Any:
        if not isinstance(value, dict):
            return _scalar(value, name)
        if "vector" in value:
            return tensors[PARAMETER + name]
        return {_scalar(key, name): _scalar(weight, name) for key, weight in value["pairs"]}

    return {name: restored(name, value) for name, value in header["parameters"].items()}


def stored_versions() -> dict[str, str]:
    """Return the versions of the software that writes a file."""
    import platform
    from importlib.metadata import version

    found = {name: version(name) for name in ("kernelsketch", "numpy", "scikit-learn")}
    return found | {"python": platform.python_version()}


def _scalar(value: Any, name: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
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
            _check_label_bytes(len(classes), max(map(len, classes)))
        tensors["class_names"] = classes
        return "object" if kind == "O" else "str"
    raise InputTypeError(
        f"y had labels of dtype {classes.dtype}, for example {classes[0]!r}. A model file holds whole numbers, floats "
        "of up to 64 bits, booleans and strings: fit on labels of such a type."
    )


def _weight_tensors(w: Array) -> Tensors:
    """Return the tensors of a table of weights (problems, hashes, used codes), without weights of 0 if that is less.

    A single hash of an exponential kernel has few of the codes that all hashes use together.
    """
    w = np.ascontiguousarray(w)
    used = w.view(f"u{w.itemsize}") != 0  # -0.0 counts as used, so that nothing changes
    if w.size < FEW_WEIGHTS or used.size // 8 + int(used.sum()) * w.itemsize >= w.nbytes:
        return {"weights": w}
    return {"weight_flags": np.packbits(used, axis=2), "weight_values": w[used]}


def _stored_weights(tensors: Tensors, size: int, path: str) -> Array:
    if ("weights" in tensors) == ("weight_flags" in tensors):
        raise InputError(f"{path} is damaged: it must have either weights or weight_flags.")
    if "weights" in tensors:
        return padded(tensors["weights"])
    flags, values = tensors["weight_flags"], tensors["weight_values"]
    used = np.unpackbits(flags, axis=2).view(bool)
    if flags.shape[2] != -(-size // 8) or used[:, :, size:].any() or int(used.sum()) != len(values):
        raise InputError(f"{path} is damaged: weight_flags do not fit the {size} used codes or the number of weights.")
    w = np.zeros((*flags.shape[:2], size), values.dtype)
    w[used[:, :, :size]] = values
    return padded(w)


def _scaling(parameters: dict[str, Any], tensors: Tensors, path: str) -> Scaling | None:
    spread, center, quantiles = (tensors.get(f"scale_{name}") for name in SCALING)
    if spread is None and center is None and quantiles is None:
        return None
    if (spread is None) == (quantiles is None) or (center is not None and spread is None):
        raise InputError(f"{path} is damaged: it has parts of two scalings, or a part of one.")
    if spread is not None and not (spread >= 0).all():
        raise InputError(f"{path} is damaged: scale_spread has values below 0.")
    if quantiles is not None and not (len(quantiles) and (np.diff(quantiles, axis=0) >= 0).all()):
        raise InputError(f"{path} is damaged: scale_quantiles are not in ascending order.")
    kind = "robust" if parameters.get("scale") == "robust" else "standard"
    return Scaling(kind if quantiles is None else "quantile", spread, center, quantiles)


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
