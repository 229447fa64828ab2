"""Back ends: the arithmetic of the library, computed in the memory where the data live.

::

    _rows        Rows (DenseRows or CsrRows), the form of checked data in the whole library
    _backend     Backend and Processor: the protocols that a back end implements
    _interface   the protocols, one per concept, and the types of their arguments;
                 _interface_learning and _interface_index have those of learning and of near neighbours, and
                 _interface_processor those that only the processor implements
    cpu          CpuBackend, the compiled core: one instruction set and a number of threads
    reference    ReferenceBackend, the specification in NumPy
    _numpy       what several back ends do by NumPy's functions
    _heartbeat   reports during long native calls
    cuda         CudaBackend and HostBackend, on a GPU through CuPy
    _choice      backend_for, processor_for and the registry of places

All other packages ask :func:`backend_for` for a back end and never name one. It applies the first rule that decides::

    backend_for(arrays)
        1. the arrays belong to a registered Place       ->  the back end of that place; arrays of CuPy and tensors
                                                             of PyTorch on a GPU: CudaBackend
        2. a name is forced (KERNELSKETCH_BACKEND or     ->  avx512, avx2, baseline: CpuBackend
           the context manager ``use_backend``)                    reference: ReferenceBackend
                                                             cuda: a HostBackend of ``cuda``, on a GPU
        3. otherwise                                     ->  CpuBackend with the best instruction set of the machine

What no GPU computes (trees, columns of tables, similarity joins, texts, predictors), they get from
:func:`processor_for`, which applies rules 2 and 3 to the processor and refuses arrays of a place.

To support arrays of another library, register a :class:`Place`; see "How to add a back end" in CONTRIBUTING.md.
"""

from ._backend import Backend
from ._choice import (
    BACKENDS,
    Place,
    available,
    backend_for,
    in_library_of,
    on_host,
    place_of,
    processor_for,
    register,
    rows_on_host,
    use_backend,
)
from ._heartbeat import heartbeat
from ._interface import (
    FOURIER_VERSION,
    HASH_VERSION,
    SHINGLE_VERSION,
    Arrays,
    ByteRows,
    FourierParams,
    GcwsParams,
    Hashes,
    Kernels,
    Measure,
    Ratio,
    Values,
    code_dtype,
)
from ._interface_index import (
    CODE_CHANCE,
    MOST_CODES,
    MOST_HASHES_PER_TABLE,
    Index,
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
    Linear,
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
from ._interface_processor import (
    GrownTrees,
    Growth,
    GrowthRows,
    HashView,
    Join,
    ReadyModel,
    ShingleParams,
    TreeArrays,
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
    "Arrays",
    "Backend",
    "ByteRows",
    "CsrRows",
    "DenseRows",
    "FourierParams",
    "GcwsParams",
    "GrownTrees",
    "Growth",
    "GrowthRows",
    "HashView",
    "Hashes",
    "Index",
    "Join",
    "Kernels",
    "Linear",
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
    "Values",
    "Vectors",
    "available",
    "backend_for",
    "code_dtype",
    "directory_shift",
    "heartbeat",
    "in_library_of",
    "on_host",
    "place_of",
    "processor_for",
    "register",
    "rows_on_host",
    "use_backend",
]
