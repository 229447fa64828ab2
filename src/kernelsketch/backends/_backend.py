"""What a back end implements: the protocols of ``_interface`` and its parts, joined.

A class states its protocols by inheriting from them. Callers ask for the small ones that they need.
"""

from __future__ import annotations

from typing import Protocol

from ._interface import Fourier, Hashes, Kernels
from ._interface_index import Index
from ._interface_learning import Linear, NewtonSteps
from ._interface_processor import Checks, Columns, Graphs, Join, Serving, Shingles, Trees


class Backend(Kernels, Hashes, Fourier, Linear, Index, Protocol):
    """What every back end implements, for the arrays of one library: ``backend_for`` returns one.

    If ``newton`` is "steps", it also implements ``NewtonSteps``, and if it is "whole", ``NewtonWhole``.
    """


class Processor(Backend, NewtonSteps, Serving, Trees, Columns, Join, Graphs, Shingles, Checks, Protocol):
    """All operations, for NumPy arrays: ``processor_for`` returns what implements them."""
