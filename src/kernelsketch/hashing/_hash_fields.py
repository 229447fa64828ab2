"""The fields and tensors that describe the hash in every file: seed, parameters, center and views."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._validation import MOST_POWER
from ..backends import HASH_VERSION
from ..exceptions import InputError
from ..storage import OPTIONAL, Field, Tensor, Tensors
from ._hasher import Hasher

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
HASH_CENTER = Tensor("f8", ("features",), OPTIONAL, finite=True)
HASH_VIEWS = Tensor("i8", ("views",), OPTIONAL)  # a plain hash has none


def hash_tensors(hasher: Hasher) -> Tensors:
    """Return the tensors of a file that belong to its hash."""
    found: Tensors = {} if hasher.center is None else {"center": np.asarray(hasher.center, np.float64)}
    return found | {"views": np.array(hasher.views, np.int64)} if hasher.views else found


def stored_views(path: str, fields: dict[str, Any], tensors: Tensors) -> tuple[int, ...]:
    """Return the views of a file. Refuse widths that do not fit the other fields of its hash."""
    if "views" not in tensors:
        return ()
    views = tuple(tensors["views"].tolist())
    if not (1 <= len(views) <= fields["n_components"] and min(views) > 0 and sum(views) == fields["n_features"]):
        raise InputError(
            f"{path} is damaged: views are not the widths of groups of its {fields['n_features']} columns, with at "
            "least one hash each."
        )
    return views
