"""Array, the type of arrays in annotations, and the type of arrays of codes."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]  # or an array of the library of a back end


def code_dtype(width: int) -> Any:
    """Return the smallest unsigned integer type that holds codes of ``width`` bits."""
    return np.dtype(np.uint8 if width <= 8 else np.uint16 if width <= 16 else np.uint32)
