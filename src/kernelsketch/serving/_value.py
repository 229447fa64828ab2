"""Value: the base of what a fitted model consists of."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np


class Value:
    """Base of frozen data classes whose NumPy arrays are read-only. Arrays are neither copied nor changed for that."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            array = getattr(self, field.name)
            if isinstance(array, np.ndarray) and array.flags.writeable:
                view = array.view()
                view.flags.writeable = False
                object.__setattr__(self, field.name, view)

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
