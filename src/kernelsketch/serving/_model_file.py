"""Files of models: their schema, and what predictions need of their content.

A model is restored from numbers and strings alone. A file holds no code, so none can run.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..hashing import HASH_CENTER, HASH_FIELDS, HASH_VIEWS, Hasher, stored_views
from ..storage import OPTIONAL, Field, Rule, Schema, Tensor, Tensors, Text, When, With
from ._numbers import MOST_CODES, stride_of
from ._probabilities import Calibration
from ._scaling import Scaling

Array = NDArray[Any]

MODEL_FORMAT = "kernelsketch.model"
MAX_LABEL_BYTES = 1 << 28  # of an array of strings, in which each takes as much memory as the longest
PARAMETER = "parameter."  # begins the names of tensors that hold parameters
HASH = ("n_components", "bits", "t_bits", "p", "gamma")
SCALING = ("spread", "center", "quantiles")
MOST_GAMMA = 1e4
FEW_WEIGHTS = 1 << 12  # tables up to here are stored as they are
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


# The column of labels of the file that the command line trained on: its name, or else its number.
LABEL_COLUMN = Field(
    dict, required=False, fields={"name": Field(str, required=False), "number": Field(int, required=False)}
)

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
                "C": Field(float, required=False),  # that cross-validation chose
            },
        ),
        "versions": Field(dict),  # of the software that wrote the file, for information
        "label_column": LABEL_COLUMN,
    },
    tensors={
        "weights": Tensor("f4 f8", TABLE, OPTIONAL, finite=True),  # all of them, or those that are not 0:
        "weight_flags": Tensor("u1", ("problems", "n_components", "bytes of flags"), OPTIONAL),  # a bit per used code
        "weight_values": Tensor("f4 f8", ("weights that are not 0",), With("weight_flags"), finite=True),
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


class ModelParts(NamedTuple):
    """Everything that the predictions of a model depend on."""

    estimator: str  # name of the class
    hasher: Hasher
    n_features: int
    used_codes: Array
    w: Array  # (problems, hashes, stride of the used codes)
    offset: Array  # intercepts as added to decision values
    scaling: Scaling | None
    classes: Array | None  # None: a regressor
    calibration: Calibration | None
    loss: str
    probability: str | None
    mean: float  # of the targets of a regressor
    spread: float


def stored_parts(header: dict[str, Any], tensors: Tensors, path: str) -> ModelParts:
    """Return what predictions need of the content of a file, which the schema has checked."""
    fields, training, parameters = header["hash"], header["training"], header["parameters"]
    hasher = _stored_hasher(fields, tensors, path)
    used_codes = tensors["used_codes"]
    _check_used_codes(used_codes, hasher.width, path)
    has_calibration = "calibration" in tensors
    return ModelParts(
        estimator=header["estimator"],
        hasher=hasher,
        n_features=fields["n_features"],
        used_codes=used_codes,
        w=_stored_weights(tensors, len(used_codes), path),
        offset=tensors["offset"],
        scaling=_scaling(tensors, path),
        classes=None if header["labels"] is None else _classes(header["labels"], tensors, path),
        calibration=Calibration(tensors["calibration"], tensors["calibration_intercepts"]) if has_calibration else None,
        loss=str(parameters.get("loss")),
        probability=parameters.get("probability"),
        mean=float(training.get("mean", 0)),
        spread=float(training.get("spread", 1)),
    )


def weight_tensors(w: Array) -> Tensors:
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
    w = np.zeros((*flags.shape[:2], stride_of(size)), values.dtype)
    w[:, :, :size][used[:, :, :size]] = values
    return w


def _stored_hasher(fields: dict[str, Any], tensors: Tensors, path: str) -> Hasher:
    values = {name: fields[name] for name in HASH}
    if values["gamma"] is not None and (values["gamma"] > MOST_GAMMA or values["t_bits"] > 0):
        raise InputError(f"{path} is damaged: gamma={values['gamma']} does not fit t_bits or is above {MOST_GAMMA:g}.")
    views = stored_views(path, fields, tensors)
    return Hasher(**values, seed=fields["seed"], center=tensors.get("center"), views=views)


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


def padded(w: Array) -> Array:
    """Return a table whose rows have the length that the solvers want."""
    wide = np.zeros((*w.shape[:2], stride_of(w.shape[2])), w.dtype)
    wide[:, :, : w.shape[2]] = w
    return wide


def _classes(kind: str, tensors: Tensors, path: str) -> Array:
    if kind in ("str", "object"):
        names = tensors["class_names"]
        if kind == "str":
            check_label_bytes(len(names), max(map(len, names)))
        classes = np.array(names, dtype=object if kind == "object" else str)
        ascending = all(a < b for a, b in pairwise(names))
    else:
        stored = tensors["classes"]
        classes = stored.astype(bool) if kind == "bool" else stored
        ascending = bool((stored[1:] > stored[:-1]).all()) and (kind != "bool" or stored.max() <= 1)
    if not ascending:
        raise InputError(f"{path} is damaged: its classes are not distinct labels in ascending order.")
    return classes


def check_label_bytes(count: int, longest: int) -> None:
    if 4 * count * longest > MAX_LABEL_BYTES:
        raise InputError(
            f"{count} classes with names of up to {longest} characters take more than {MAX_LABEL_BYTES} bytes: use "
            "shorter labels, or an object array of them."
        )


def whole_labels(classes: Array) -> Array:
    """Return labels that are whole numbers as integers, as the command line prints them; others as they are."""
    if classes.dtype.kind == "f" and (classes == np.round(classes)).all() and np.abs(classes).max() < 2**53:
        return classes.astype(np.int64)
    return classes
