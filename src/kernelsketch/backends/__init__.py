"""Where arithmetic happens: back ends that compute where the data are.

    _rows        Rows, the form in which checked data travel
    _interface   the protocols of a back end, one per concept, and the values that cross the seam
    cpu          the compiled core: one instruction set, some threads
    reference    the specification in NumPy
    _choice      which back end computes: where the arrays are, then a forced name, then the best

Everything above this package asks :func:`backend_for` for a back end and never names one. Another kind of array joins
by a :class:`Place`: see "How to add a back end" in CONTRIBUTING.md.
"""

from ._choice import BACKENDS, Place, available, backend_for, on_host, place_of, register, using
from ._interface import (
    CODE_CHANCE,
    FOURIER_VERSION,
    HASH_VERSION,
    LINEAR_BLOCK_ROWS,
    LINEAR_SEGMENT,
    LINEAR_STATS,
    MOST_CODES,
    MOST_HASHES_PER_TABLE,
    Backend,
    FourierParams,
    GcwsParams,
    LinearObjective,
    LinearPass,
    Postings,
    Queries,
    Ratio,
    SearchParams,
    Segment,
    Vectors,
    directory_shift,
)
from ._rows import CsrRows, DenseRows, Rows

__all__ = [
    "BACKENDS",
    "CODE_CHANCE",
    "FOURIER_VERSION",
    "HASH_VERSION",
    "LINEAR_BLOCK_ROWS",
    "LINEAR_SEGMENT",
    "LINEAR_STATS",
    "MOST_CODES",
    "MOST_HASHES_PER_TABLE",
    "Backend",
    "CsrRows",
    "DenseRows",
    "FourierParams",
    "GcwsParams",
    "LinearObjective",
    "LinearPass",
    "Place",
    "Postings",
    "Queries",
    "Ratio",
    "Rows",
    "SearchParams",
    "Segment",
    "Vectors",
    "available",
    "backend_for",
    "directory_shift",
    "on_host",
    "place_of",
    "register",
    "using",
]
