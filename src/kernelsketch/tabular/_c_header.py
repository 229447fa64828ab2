"""A model of tables as one C header: its columns as a struct, and the arithmetic of predictions, without Python.

It begins with a comment for the user. Then follow the header of the linear model (``serving/_c_header.py``), whose
names begin with ``NAME_hash_``, ``native/core/tables.h``, the arrays of the table, and the functions of ``table.h``.
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .._core import INCLUDE, with_headers
from ..backends import ReadyTable, RowColumn
from ..exceptions import InputError, Setting
from ..serving import c_array, c_header, stored_versions
from ._model import TableModel
from ._row import RowPlan

_COMMENT = """/* A {estimator} of kernelsketch: {n} columns.
 *
 * Made by kernelsketch {version}. Do not edit.
 *
 *   {answer} ks_predict(const ks_row* row);       {what}
 *   int ks_values(const ks_row* row, double values[{problems}]);{probabilities}
 *
 * The columns are the members of ks_row, further below. The functions that follow, ks_hash_..., are those of
 * the linear model inside.
 *
 * Numbers are double, NAN where one is missing. Dates are seconds since 1970 in universal time, NAN where one is
 * missing. Categories are texts in UTF-8, NULL where one is missing. The first call makes tables of parameters: if
 * several threads predict, call ks_hash_prepare() before they start. Compile as C99 or later without -ffast-math, and
 * link with -lm. Codes equal those of kernelsketch, decision values up to rounding.
 *
 * {infinity}
 */

"""

_OPENING = """
#ifndef ks_H
#define ks_H

#ifdef __FAST_MATH__
#error "Compile without -ffast-math, which changes the features of a row."
#endif

#include <math.h>
#include <stddef.h>
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


def table_header(model: TableModel, ready: ReadyTable, name: str) -> str:
    """Return a model of tables as a C header, whose functions and arrays begin with ``name``."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise InputError(Setting("name", name), " cannot begin names in C: use letters, digits and underscores.")
    if model.link is not None:
        raise InputError(
            Setting("loss", "poisson"), " cannot be exported to C: use kernelsketch.serving.Predictor for counts."
        )
    for column in model.plan.columns:
        if column.text is not None:
            raise InputError(
                f"column {column.name!r} is free text, whose words and shingles cannot be exported to C: fit a model "
                "without this column, or use kernelsketch.serving.Predictor."
            )
    classes, problems = model.classes, len(model.linear.weights)
    answer, nothing = ("double", "NAN") if classes is None else ("int", "-1")
    comment = _COMMENT.format(
        estimator=model.estimator,
        n=len(model.plan.columns),
        version=stored_versions()["kernelsketch"],
        answer=answer,
        infinity="Infinity counts as missing. All functions but ks_predict return 0."
        if model.plan.infinity == "missing"
        else "A row with infinity has no prediction: ks_predict returns "
        f"{'NaN' if classes is None else nothing}, and the other functions return -1, otherwise 0.",
        problems=problems,
        what="the predicted number" if classes is None else "the number of the class in ks_classes",
        probabilities=""
        if classes is None
        else f"\n *   int ks_probabilities(const ks_row* row, double probabilities[{len(classes)}]);",
    )
    plan, trees = RowPlan(model.plan), ready.trees
    integers = {
        "n_features": len(ready.features),
        "numbers": sum(feature.is_number for feature in model.plan.features),
        "components": ready.directions.shape[1],
        "problems": problems,
        "n_classes": 0 if classes is None else len(classes),
        "exponent": model.exponent,
        "infinity_is_missing": int(model.plan.infinity == "missing"),
        "has_threshold": int(model.threshold is not None),
    }
    own = [
        f"enum {{ {', '.join(f'ks_{constant} = {value}' for constant, value in integers.items())} }};",
        f"static const double ks_share = {model.share.hex()}, ks_temperature = {model.temperature.hex()};",
        f"static const double ks_threshold = {float(model.threshold or 0).hex()};",
        f"typedef {answer} ks_answer;",
        f"static const ks_answer ks_nothing = {nothing};",
        *([] if classes is None else ["#define ks_classes ks_hash_classes"]),
        *_columns(plan, ready.starts),
        *c_array("int", "feature_number", ready.features[:, 0]),
        *c_array("int", "feature_scale", ready.features[:, 1]),
        *c_array("double", "scales", ready.scales),
        *c_array("double", "quantiles", ready.quantiles),
        *c_array("double", "levels", np.linspace(-1, 1, ready.quantiles.shape[1])),
        *c_array("double", "component_mean", ready.mean),
        *c_array("double", "directions", ready.directions),
        *c_array("int", "sources", ready.sources),
        *c_array("float", "view_weights", ready.weights),
        *c_array("int", "split_feature", None if trees is None else trees.feature),
        *c_array("double", "thresholds", None if trees is None else np.clip(trees.threshold, *_ENDS)),
        *c_array("int", "left", None if trees is None else trees.left),
        *c_array("int", "right", None if trees is None else trees.right),
        *c_array("int", "missing_left", None if trees is None else trees.missing_left),
        *c_array("double", "leaves", None if trees is None else trees.value),
        *c_array("int", "roots", None if trees is None else trees.roots),
        *c_array("double", "baseline", np.zeros(1) if trees is None else trees.baseline),
    ]
    core, functions = (
        with_headers(source, (folder,), set())
        for source, folder in [("core/tables.h", INCLUDE), ("table.h", Path(__file__).parent)]
    )
    text = "\n".join([_OPENING, core, *own, functions, _CLOSING])
    comment, text = (
        re.sub(r"\b(ks|KS)_", lambda found: f"{name if found[1] == 'ks' else name.upper()}_", part)
        for part in (comment, text)
    )
    return comment + c_header(model.linear, ready.model, f"{name}_hash") + text


_ENDS = (
    -np.finfo(np.float64).max,
    np.finfo(np.float64).max,
)  # finite numbers compare alike with them and with infinity


def _columns(plan: RowPlan, starts: Any) -> list[str]:
    """Return the struct of a row, what is done to its columns, and the tables of their categories."""
    members, described, targets, parts = [], [], list[int](), list[int]()
    names, numbers, positions = list[bytes](), list[float](), list[int]()
    taken: set[str] = set()
    for i, column in enumerate(plan.columns):
        member = _member(column.name, taken)
        comment = column.name.encode("unicode_escape").decode().replace("*/", "* /")
        kind = "const char*" if column.kind == 3 else "double"
        note = {0: ", not used", 2: ", a date"}.get(column.kind, "")
        members.append(f"  {kind} {member};  /* {comment}{note} */")
        if column.kind == 0:
            continue
        start = int(starts[column.flagged]) if column.flagged >= 0 else -1
        first = len(names), len(positions), len(numbers)
        if column.kind == 3:
            own, own_numbers, own_positions = plan.table(i)
            names += [_name(column, text) for text in own]
            numbers += own_numbers.ravel().tolist()
            positions += own_positions.tolist()
        count_ = len(names) - first[0]
        described.append(
            f"{{offsetof(ks_row, {member}), {column.kind}, {len(targets)}, {len(column.targets)}, {start}, "
            f"{column.missing}, {first[0]}, {count_}, {first[1]}, {first[2]}}}"
        )
        targets += column.targets
        parts += column.parts or [0] * len(column.targets)
    texts = ",".join(map(_literal, names)) or '""'
    return [
        "typedef struct {",
        *members,
        "} ks_row;",
        "typedef struct {",
        "  size_t offset;",
        "  int kind, first_target, targets, start, missing, first_name, names, first_row, first_number;",
        "} ks_column;",
        f"enum {{ ks_used_columns = {len(described)} }};",
        f"static const ks_column ks_columns[] = {{{', '.join(described)}}};",
        f"static const char* const ks_names[] = {{{texts}}};",
        *c_array("int", "targets", targets),
        *c_array("int", "parts", parts),
        *c_array("double", "known_numbers", numbers),
        *c_array("int", "positions", positions),
    ]


def _name(column: RowColumn, text: str) -> bytes:
    if "\0" in text:
        raise InputError(f"column {column.name!r} has a category with a null character, which texts in C cannot have.")
    return text.encode("utf-8", "surrogatepass")


def _member(name: str, taken: set[str]) -> str:
    """Return the name of a column as a member of a struct."""
    plain = re.sub("[^A-Za-z0-9_]", "_", name)
    plain = plain if re.match("[A-Za-z]", plain) else f"column_{plain}"
    plain = f"{plain}_" if plain in _KEYWORDS else plain
    tries = (plain if i == 1 else f"{plain}_{i}" for i in count(1))
    found = next(one for one in tries if one not in taken)
    taken.add(found)
    return found


_KEYWORDS = {
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "bool",
    "true",
    "false",
    "class",
    "delete",
    "new",
    "private",
    "protected",
    "public",
    "template",
    "this",
    "throw",
    "try",
    "catch",
    "namespace",
    "operator",
    "using",
    "virtual",
    "NAN",
    "NULL",
}


def _literal(text: bytes) -> str:
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in text) + '"'
