"""Back ends: the arithmetic of the library, computed in the memory where the data live.

::

    _rows        Rows (DenseRows or CsrRows), the form of checked data in the whole library
    _interface   the protocols of a back end, one per concept, and the types of their arguments;
                 _interface_learning and _interface_index have those of learning and of near neighbours
    cpu          CpuBackend, the compiled core: one instruction set and a number of threads
    reference    ReferenceBackend, the specification in NumPy
    _values      a look at rows by NumPy's functions, which native code does for rows in main memory
    _heartbeat   reports during long native calls
    cuda         CudaBackend and HostBackend, on a GPU through CuPy
    _choice      backend_for and the registry of places

All other packages ask :func:`backend_for` for a back end and never name one. It applies the first rule that decides::

    backend_for(arrays)
        1. the arrays belong to a registered Place       ->  the back end of that place; arrays of CuPy and tensors
                                                             of PyTorch on a GPU: CudaBackend
        2. a name is forced (KERNELSKETCH_BACKEND or     ->  avx512, avx2, baseline: CpuBackend
           the context manager ``use_backend``)                    reference: ReferenceBackend
                                                             cuda: a HostBackend of ``cuda``, on a GPU
        3. otherwise                                     ->  CpuBackend with the best instruction set of the machine

To support arrays of another library, register a :class:`Place`; see "How to add a back end" in CONTRIBUTING.md.
"""

from ._choice import (
    BACKENDS,
    Place,
    available,
    backend_for,
    in_library_of,
    on_host,
    place_of,
    register,
    rows_on_host,
    use_backend,
)
from ._heartbeat import heartbeat
from ._interface import (
    FOURIER_VERSION,
    HASH_VERSION,
    SHINGLE_VERSION,
    Backend,
    FourierParams,
    GcwsParams,
    GrownTrees,
    Growth,
    GrowthRows,
    HashView,
    Measure,
    Ratio,
    ReadyModel,
    ShingleParams,
    TreeArrays,
)
from ._interface_index import (
    CODE_CHANCE,
    MOST_CODES,
    MOST_HASHES_PER_TABLE,
    Postings,
    Queries,
    SearchParams,
    Segment,
    Vectors,
    directory_shift,
)
from ._interface_learning import (
    LINEAR_BLOCK_ROWS,
    LINEAR_SEGMENT,
    LINEAR_STATS,
    LINEAR_SWEEPS,
    NEWTON_STATS,
    LinearObjective,
    LinearPass,
    LinearSolved,
    LinearTargets,
    NewtonProblem,
    NewtonStep,
    NewtonSteps,
    NewtonWhole,
    Symbols,
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
    "LINEAR_SWEEPS",
    "MOST_CODES",
    "MOST_HASHES_PER_TABLE",
    "NEWTON_STATS",
    "SHINGLE_VERSION",
    "Backend",
    "CsrRows",
    "DenseRows",
    "FourierParams",
    "GcwsParams",
    "GrownTrees",
    "Growth",
    "GrowthRows",
    "HashView",
    "LinearObjective",
    "LinearPass",
    "LinearSolved",
    "LinearTargets",
    "Measure",
    "NewtonProblem",
    "NewtonStep",
    "NewtonSteps",
    "NewtonWhole",
    "Place",
    "Postings",
    "Queries",
    "Ratio",
    "ReadyModel",
    "Rows",
    "SearchParams",
    "Segment",
    "ShingleParams",
    "Symbols",
    "TreeArrays",
    "Vectors",
    "available",
    "backend_for",
    "directory_shift",
    "heartbeat",
    "in_library_of",
    "on_host",
    "place_of",
    "register",
    "rows_on_host",
    "use_backend",
]
