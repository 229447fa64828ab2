"""Models as files: what is in them, and what is checked when they are read.

A model is restored from numbers and names alone; no code is stored, so none can run. Format version 1:

=====================================  ======================================================================
header ``estimator``, ``parameters``   the class and its parameters; vectors among them are tensors
header ``hash``                        what codes depend on, and the version of the hash
header ``labels``                      how classes are stored: numbers, bool, str, or object (of str)
header ``training``                    passes, blocks of a stream, mean and spread of regression, the C chosen
header ``versions``                    of kernelsketch, NumPy, scikit-learn and Python; for information
``weights``, ``bias``, ``offset``      tables (problems, k, alphabet), and intercepts as learned and as added
``alphabet``, ``center``               codes that have weights; what the hash subtracts
``classes``, ``feature_names``         numbers, or UTF-8 with ``..._ends``
``duals``                              of a model with warm_start
``stream_weights``, ``stream_bias``    of a model that partial_fit goes on with
``gap``, ``objective``                 of a fit
``cv_Cs``, ``cv_scores``, ``cv_iters``  of GCWSClassifierCV
=====================================  ======================================================================
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from .._tensors import Declared
from ..backends import HASH_VERSION
from ..exceptions import InputError, InputTypeError
from ._alphabet import MOST_CODES

FORMAT = "kernelsketch.model"
FORMAT_VERSION = 1
VECTOR = "parameter."
HASH = ("n_components", "bits", "t_bits", "p", "gamma")
REALS, NUMBERS = ("f4", "f8"), ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
# Types and sides of each tensor; sides of one name are equal in a file.
TENSORS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "weights": (REALS, ("problems", "k", "alphabet")),
    "bias": (("f8",), ("problems",)),
    "offset": (("f8",), ("problems",)),
    "alphabet": (("i8",), ("alphabet",)),
    "center": (("f8",), ("features",)),
    "classes": (NUMBERS, ("classes",)),
    "classes_ends": (("i8",), ("classes",)),
    "feature_names": (("u1",), ("letters",)),
    "feature_names_ends": (("i8",), ("features",)),
    "duals": (REALS, ("problems", "rows")),
    "stream_weights": (("f4",), ("problems", "k", "alphabet")),
    "stream_bias": (("f8",), ("problems",)),
    "gap": (("f8",), ("problems",)),
    "objective": (("f8",), ("problems",)),
    "cv_Cs": (("f8",), ("Cs",)),
    "cv_scores": (("f8",), ("folds", "Cs")),
    "cv_iters": (("i8",), ("folds", "Cs")),
    VECTOR + "center": (("f8",), ("given",)),
    VECTOR + "Cs": (("f8",), ("grid",)),
}
LETTERS = ("u1",), ("label_letters",)  # of classes that are text
MOST_LABEL_BYTES = 1 << 28  # of strings in an array, where each takes the room of the longest
NEEDED = {"weights", "bias", "offset", "alphabet"}
TOGETHER = (
    {"feature_names", "feature_names_ends"},
    {"stream_weights", "stream_bias"},
    {"gap", "objective"},
    {"cv_Cs", "cv_scores", "cv_iters"},
)


def check_layout(path: str, header: dict[str, Any], declared: dict[str, Declared], kinds: set[str]) -> None:
    """Refuse files of another kind, and tensors that do not fit to each other."""
    if header.get("format") != FORMAT:
        kind = str(header.get("format"))[:60]
        raise InputError(f"{path} holds no model but {kind}: read it with the class of that name.")
    whole(header["format_version"], 1, 2**31, f"{path} is damaged: format_version")
    whole(header["hash"]["version"], 1, 2**31, f"{path} is damaged: the hash version")
    if header["format_version"] > FORMAT_VERSION or header["hash"]["version"] > HASH_VERSION:
        raise InputError(f"{path} was written by a newer kernelsketch: update to read it.")
    if header["estimator"] not in kinds:
        kind = str(header["estimator"])[:60]
        raise InputError(f"{path} holds a {kind}: read it with {kind}.load or kernelsketch.load_model.")
    text = header.get("labels") in ("str", "object")
    sides = {
        "k": whole(header["hash"]["n_components"], 1, 2**40, f"{path} is damaged: n_components"),
        "features": whole(header["hash"]["n_features"], 0, 2**62, f"{path} is damaged: n_features"),
    }
    wrong = [*(NEEDED - set(declared)), *(set(declared) - set(TENSORS))]
    wrong += [name for names in TOGETHER if len(names & set(declared)) not in (0, len(names)) for name in names]
    has_classes = "labels" in header
    if ("classes" in declared) != has_classes or ("classes_ends" in declared) != text:
        wrong.append("classes")
    for name in set(declared) - set(wrong):
        dtype, shape = declared[name]
        dtypes, names = TENSORS[name] if not (text and name == "classes") else LETTERS
        fits = dtype.str[1:] in dtypes and len(shape) == len(names)
        if not fits or any(sides.setdefault(side, size) != size for side, size in zip(names, shape, strict=True)):
            wrong.append(name)
    if wrong:
        raise InputError(f"{path} is damaged: {sorted(wrong)[0]} is missing, unknown or of the wrong type or shape.")
    count = sides["classes"] if has_classes else 1
    if sides["problems"] != (1 if count == 2 else count) or (has_classes and count < 2):
        raise InputError(f"{path} is damaged: {sides['problems']} tables of weights for {count} classes.")
    if not 1 <= sides["alphabet"] <= MOST_CODES:
        raise InputError(f"{path} is damaged: an alphabet of {sides['alphabet']} codes.")


def scalar(value: Any, name: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise InputTypeError(
        f"{name}={value!r} cannot be kept in a model file: the fitted model does not need it, so save it after "
        f"set_params({name}=None), or with a value that is a number, a string or a list of numbers."
    )


def check_label_bytes(count: int, longest: int) -> None:
    if 4 * count * longest > MOST_LABEL_BYTES:
        raise InputError(
            f"{count} classes with names of up to {longest} letters take more than {MOST_LABEL_BYTES} bytes: "
            "use shorter labels, or an object array of them."
        )


def whole(value: Any, least: int, most: int, what: str) -> int:
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{what} is {str(value)[:40]}, not a whole number from {least} to {most}.")
    return value
