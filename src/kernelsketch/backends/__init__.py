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
    cuda         CudaBackend and HostBackend, on a GPU through CuPy
    _choice      backend_for, processor_for and the places of arrays

All other packages ask :func:`backend_for` for a back end and never name one. It applies the first rule that decides::

    backend_for(arrays)
        1. the arrays belong to a Place                  ->  the back end of that place; arrays of CuPy and tensors
                                                             of PyTorch on a GPU: CudaBackend
        2. a name is forced (KERNELSKETCH_BACKEND or     ->  avx512, avx2, baseline: CpuBackend
           the context manager ``use_backend``)                    reference: ReferenceBackend
                                                             cuda: a HostBackend of ``cuda``, on a GPU
        3. otherwise                                     ->  CpuBackend with the best instruction set of the machine

What no GPU computes (trees, columns of tables, similarity joins, texts, predictors), they get from
:func:`processor_for`, which applies rules 2 and 3 to the processor and refuses arrays of a place.
"""

from .._array import code_dtype as code_dtype
from ._backend import Backend as Backend
from ._choice import BACKENDS as BACKENDS
from ._choice import Place as Place
from ._choice import available as available
from ._choice import backend_for as backend_for
from ._choice import in_library_of as in_library_of
from ._choice import on_host as on_host
from ._choice import place_of as place_of
from ._choice import processor_for as processor_for
from ._choice import rows_on_host as rows_on_host
from ._choice import use_backend as use_backend
from ._interface import FOURIER_VERSION as FOURIER_VERSION
from ._interface import HASH_VERSION as HASH_VERSION
from ._interface import SHINGLE_VERSION as SHINGLE_VERSION
from ._interface import Arrays as Arrays
from ._interface import ByteRows as ByteRows
from ._interface import FourierParams as FourierParams
from ._interface import GcwsParams as GcwsParams
from ._interface import Hashes as Hashes
from ._interface import Kernels as Kernels
from ._interface import Measure as Measure
from ._interface import Ratio as Ratio
from ._interface import Values as Values
from ._interface_index import CODE_CHANCE as CODE_CHANCE
from ._interface_index import MOST_CODES as MOST_CODES
from ._interface_index import MOST_HASHES_PER_TABLE as MOST_HASHES_PER_TABLE
from ._interface_index import Graph as Graph
from ._interface_index import Index as Index
from ._interface_index import Postings as Postings
from ._interface_index import Queries as Queries
from ._interface_index import SearchParams as SearchParams
from ._interface_index import Segment as Segment
from ._interface_index import Vectors as Vectors
from ._interface_index import directory_shift as directory_shift
from ._interface_learning import LINEAR_BLOCK_ROWS as LINEAR_BLOCK_ROWS
from ._interface_learning import LINEAR_SEGMENT as LINEAR_SEGMENT
from ._interface_learning import LINEAR_STATS as LINEAR_STATS
from ._interface_learning import LINEAR_SWEEPS as LINEAR_SWEEPS
from ._interface_learning import Linear as Linear
from ._interface_learning import LinearObjective as LinearObjective
from ._interface_learning import LinearPass as LinearPass
from ._interface_learning import LinearSolved as LinearSolved
from ._interface_learning import LinearTargets as LinearTargets
from ._interface_learning import NewtonProblem as NewtonProblem
from ._interface_learning import NewtonStep as NewtonStep
from ._interface_learning import NewtonSteps as NewtonSteps
from ._interface_learning import NewtonWhole as NewtonWhole
from ._interface_learning import Symbols as Symbols
from ._interface_processor import GrownTrees as GrownTrees
from ._interface_processor import Growth as Growth
from ._interface_processor import HashView as HashView
from ._interface_processor import Join as Join
from ._interface_processor import ReadyModel as ReadyModel
from ._interface_processor import ReadyTable as ReadyTable
from ._interface_processor import RowColumn as RowColumn
from ._interface_processor import ShingleParams as ShingleParams
from ._interface_processor import TableRows as TableRows
from ._interface_processor import TreeArrays as TreeArrays
from ._rows import CsrRows as CsrRows
from ._rows import DenseRows as DenseRows
from ._rows import Rows as Rows
from .cpu import heartbeat as heartbeat
