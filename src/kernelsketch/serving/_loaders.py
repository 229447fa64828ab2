"""What reads a predictor from a file of a model that a layer above defines.

Models of tables lie above this package. Their module is imported when the first such file is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..storage import read_header

HOMES = {"kernelsketch.tabular": "kernelsketch.tabular"}  # format of a file: package with a class TablePredictor


def loader_of(path: Path) -> Callable[..., Any] | None:
    """Return the function that reads a predictor from a file of one of these formats, or None."""
    home = HOMES.get(str(read_header(path).get("format")))
    if home is None:
        return None
    found: Callable[..., Any] = import_module(home).TablePredictor.load
    return found
