"""The parameters of the index, by the names that the command line uses."""

from __future__ import annotations

from typing import Any

PARAMETER_OF = {"hashes_per_table": "band", "n_rerank": "depth", "heavy_fraction": "mass", "fill_missing": "complete"}


def index_parameters(**values: Any) -> dict[str, Any]:
    """Return parameters as GCWSIndex takes them."""
    return {PARAMETER_OF.get(name, name): value for name, value in values.items()}


def index_parameter(index: Any, name: str) -> Any:
    """Return the value of a parameter of an index."""
    return getattr(index, PARAMETER_OF.get(name, name))
