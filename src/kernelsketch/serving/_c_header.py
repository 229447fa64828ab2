"""A predictor as one C header: the hash, the scaling and the weights, for programs without Python.

The header contains those headers of ``native/core`` that it needs, so codes are equal bit for bit, then the constants
and arrays of the model, and the functions of ``model.h``. All names that begin with ``ks_`` there begin with the name
of the model. The header needs C99 and the function ``fmaf`` of ``math.h``; contraction of other products and sums is
switched off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .._core import INCLUDE, with_headers
from ..backends import HashView, ReadyModel
from ..exceptions import InputError, Setting
from ..hashing import absent_codes
from ._model import LinearModel
from ._model_file import stored_versions

MOST_WEIGHTS = 1 << 26  # as text they take about 15 bytes each
TABLE_ENTRIES = 1 << 22  # parameters that a program keeps: 8 bytes each

_OPENING = """/* A {estimator} of kernelsketch: {d} features, {k} hashes.
 *
 * Made by kernelsketch {version}. Do not edit.
 *
 *   {answer} ks_predict(const double x[{d}]);       {what}
 *   int ks_decision(const double x[{d}], double values[{problems}]);
 *   int ks_codes(const double x[{d}], uint32_t codes[{k}]);
 *
 * The first call makes tables of parameters; if several threads predict, call ks_prepare() before they start.
 * Compile as C99 or later, and link with -lm. Codes equal those of kernelsketch, decision values up to rounding.
 *
 * A row with NaN or infinity has no prediction: ks_predict returns {nothing}, and the other functions return -1, with
 * values that are NaN. Otherwise ks_decision returns 0, and ks_codes 1 for a row of zeros and 0 for others.
 */
#ifndef ks_H
#define ks_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif
"""

_CLOSING = """
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
"""


def c_header(model: LinearModel, ready: ReadyModel, name: str) -> str:
    """Return a model as a C header, whose functions and arrays begin with ``name``."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise InputError(Setting("name", name), " cannot begin names in C: use letters, digits and underscores.")
    used, w = len(model.used_codes), model.weights[:, :, : len(model.used_codes)]
    if w.size > MOST_WEIGHTS or model.n_features > 1 << 16:
        raise InputError(
            f"the model has {w.size} weights and {model.n_features} features, which are too many for a C header: use "
            "kernelsketch.serving.Predictor."
        )
    samples = [_samples_of(view) for view in ready.views]
    entries = sum(2 * view.width * count for view, count in zip(ready.views, samples, strict=True))
    scaling, calibration = model.scaling, model.calibration
    quantiles = None if scaling is None else scaling.quantiles
    answer, nothing = ("double", "NAN") if model.classes is None else ("int", "-1")
    slopes = None if calibration is None else calibration.coefficients
    if slopes is not None and len(slopes) == 1:
        slopes = np.diag(slopes[0])  # one slope per class
    opening = _OPENING.format(
        estimator=model.estimator,
        version=stored_versions()["kernelsketch"],
        d=model.n_features,
        k=model.hasher.n_components,
        problems=len(w),
        answer=answer,
        nothing="NaN" if nothing == "NAN" else nothing,
        what="the predicted number" if model.classes is None else "the number of the class in ks_classes",
    )
    integers = {
        "n_features": model.n_features,
        "n_classes": 0 if model.classes is None else len(model.classes),
        "n_problems": len(w),
        "n_hashes": model.hasher.n_components,
        "n_used": used,
        "n_views": len(ready.views),
        "bits": ready.bits,
        "t_bits": ready.t_bits,
        "entries": entries if entries <= TABLE_ENTRIES else 0,
    }
    counts = None if ready.views[0].counts is None else np.concatenate([np.asarray(v.counts) for v in ready.views])
    own = [
        f"enum {{ {', '.join(f'ks_{constant} = {value}' for constant, value in integers.items())} }};",
        f"static const double ks_p = {float(ready.p).hex()};",
        f"static const double ks_mean = {float(model.mean).hex()}, ks_deviation = {float(model.spread).hex()};",
        f"typedef {answer} ks_answer;",
        f"static const ks_answer ks_nothing = {nothing};",
        "typedef struct { uint64_t seed; size_t first; int column, width, hash, hashes, samples; } ks_view;",
        f"static const ks_view ks_views[] = {{{_views(ready.views, samples)}}};",
        *c_array("uint16_t", "number", ready.number_of),
        *c_array("uint32_t", "absent", absent_codes(model.hasher)),
        *c_array("int", "counts", counts),
        *c_array("float" if w.dtype == np.float32 else "double", "w", w),
        *c_array("double", "offset", ready.offset),
        *c_array("double", "center", ready.center),
        *c_array("double", "spread", None if scaling is None else scaling.spread),
        *c_array("double", "middle", None if scaling is None else scaling.center),
        *c_array("double", "quantiles", None if quantiles is None else quantiles.T),
        *c_array("double", "levels", None if quantiles is None else np.linspace(-1, 1, len(quantiles))),
        *c_array("double", "slopes", slopes),
        *c_array("double", "intercepts", None if calibration is None else calibration.intercepts),
    ]
    included: set[str] = set()
    sources = [("core/gcws.h", INCLUDE), ("core/codes.h", INCLUDE), ("model.h", Path(__file__).parent)]
    *core, functions = (with_headers(source, (folder,), included) for source, folder in sources)
    text = "\n".join([opening, *core, *own, functions])
    text = re.sub(r"\b(ks|KS)_", lambda found: f"{name if found[1] == 'ks' else name.upper()}_", text)
    return "\n".join([text, *_labels(model, name), _CLOSING])


def _samples_of(view: HashView) -> int:
    return view.hashes if view.counts is None else max(1, int(view.counts.sum()))


def _views(views: list[HashView], samples: list[int]) -> str:
    lines, first, column, hash_ = [], 0, 0, 0
    for view, count in zip(views, samples, strict=True):
        lines.append(f"{{UINT64_C({view.seed}), {first}, {column}, {view.width}, {hash_}, {view.hashes}, {count}}}")
        first, column, hash_ = first + 2 * view.width * count, column + view.width, hash_ + view.hashes
    return ", ".join(lines)


def c_array(kind: str, name: str, values: Any) -> list[str]:
    """Return the lines of an array and of its length, which is 0 if there are no values."""
    values = np.zeros(0) if values is None else np.asarray(values).ravel()
    if kind in ("float", "double"):
        suffix = "f" if kind == "float" else ""
        texts: Iterable[str] = (_number(value, suffix) for value in values.tolist())
    else:
        texts = (str(int(value)) for value in values)
    return [
        f"enum {{ ks_n_{name} = {len(values)} }};",
        f"static const {kind} ks_{name}[{max(1, len(values))}] = {{{','.join(texts) or '0'}}};",
    ]


def _number(value: float, suffix: str) -> str:
    return "NAN" if value != value else f"{float(value).hex()}{suffix}" if value else "0"


def _labels(model: LinearModel, name: str) -> list[str]:
    """Return the array of the labels of the classes."""
    if model.classes is None:
        return []
    texts = []
    for label in model.whole_labels.tolist():
        encoded = str(label).encode("utf-8", "surrogatepass")
        texts.append(
            '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in encoded) + '"'
        )
    return [f"static const char* const {name}_classes[{len(texts)}] = {{{', '.join(texts)}}};"]
