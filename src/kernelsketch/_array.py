"""Array: the type of arrays in annotations."""

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]  # or an array of the library of a back end
