"""The fields and tensors that describe the hash in every file: seed, parameters, center and views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._validation import MOST_POWER
from ..backends import HASH_VERSION
from ..exceptions import InputError
from ..storage import OPTIONAL, Field, Tensor, Tensors
from ._hasher import Hasher

MOST_GAMMA = 1e4
HASH_FIELDS = {
    "version": Field(int, 1, 2**31, newest=HASH_VERSION),
    "n_components": Field(int, 1, 2**40),
    "bits": Field(int, 1, 16),
    "t_bits": Field(int, 0, 8),
    "seed": Field(int, 0, 2**64 - 1),
    "p": Field(float, above=0, most=MOST_POWER),
    "gamma": Field(float, above=0, nullable=True),
    "n_features": Field(int, 0, 2**62),
}
HASH_TENSORS = {
    "center": Tensor("f8", ("features",), OPTIONAL, finite=True),
    "views": Tensor("i8", ("views",), OPTIONAL),  # a plain hash has none
}


def hash_content(hasher: Hasher, n_features: int) -> tuple[dict[str, Any], Tensors]:
    """Return the field ``hash`` of a header, and the tensors that belong to it."""
    names = ("n_components", "bits", "t_bits", "seed", "p", "gamma")
    fields = {"version": hasher.hash_version, **{name: getattr(hasher, name) for name in names}}
    tensors: Tensors = {} if hasher.center is None else {"center": np.asarray(hasher.center, np.float64)}
    if hasher.views:
        tensors["views"] = np.array(hasher.views, np.int64)
    return fields | {"n_features": int(n_features)}, tensors


def stored_hasher(path: str, fields: dict[str, Any], tensors: Tensors) -> Hasher:
    """Return the hash of a file."""
    k, bits, t_bits, gamma = (fields[name] for name in ("n_components", "bits", "t_bits", "gamma"))
    if gamma is not None and (gamma > MOST_GAMMA or t_bits > 0):
        raise InputError(f"{path} is damaged: gamma={gamma} does not fit t_bits or is above {MOST_GAMMA:g}.")
    views = tuple(tensors["views"].tolist()) if "views" in tensors else None
    if views is not None and not (0 < len(views) <= k and min(views) > 0 and sum(views) == fields["n_features"]):
        raise InputError(
            f"{path} is damaged: views are not the widths of groups of its {fields['n_features']} columns, with at "
            "least one hash each."
        )
    center = np.array(tensors["center"]) if "center" in tensors else None
    gamma = None if gamma is None else float(gamma)
    return Hasher(k, fields["seed"], bits, t_bits, float(fields["p"]), gamma, center, fields["version"], views or ())
