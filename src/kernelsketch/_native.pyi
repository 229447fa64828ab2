from collections.abc import Sequence
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


def supported_isas() -> list[str]:
    """Instruction sets of this build that this machine runs, best first."""

def set_heartbeat(call: object | None) -> object:
    """
    Let long calls of this thread call a function without arguments about ten times per second, and return the function that was set before. An exception of the function ends the call.
    """

class Rows:
    """Rows of numbers: DenseRows or CsrRows."""

class DenseRows(Rows):
    """
    Rows of a matrix in C order. Hashing subtracts `center` from each of them.
    """

    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

class CsrRows(Rows):
    """
    Rows in CSR form: `indptr` ascends from 0, indices ascend within each row.
    """

    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

class ByteRows:
    """
    Rows of bytes, padded to a multiple of eight by equal values, and their L1 norms.
    """

    def __init__(self, values: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

class CodeRows:
    """Codes of rows, and 1 for each row that is empty."""

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def gmm_dense(isa: str, a: DenseRows, b: DenseRows, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], ratio: int, symmetric: bool, threads: int) -> None:
    """Fill `out` with the kernel of each row of `a` and each row of `b`."""

def gmm_bytes(isa: str, a: ByteRows, b: ByteRows, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], ratio: int, symmetric: bool, threads: int) -> None:
    """
    Fill `out` with the kernel of rows of bytes: the result equals that of `gmm_dense`.
    """

def gmm_sparse(isa: str, a: CsrRows, b: CsrRows, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], ratio: int, symmetric: bool, threads: int) -> None:
    """Fill `out` with the kernel of rows in CSR form."""

def weighted_differences(isa: str, x: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Fill `sums` with the weighted sums of absolute differences over all pairs of rows, one per feature.
    """

class GcwsParams:
    """
    What a sample depends on besides the row (`p` and `seed`), and the bits of a code.
    """

    def __init__(self, p: float, seed: int, bits: int = 1, t_bits: int = 0) -> None: ...

def gcws_codes(isa: str, rows: Rows, params: GcwsParams, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.uint32], dict(shape=(None, None), device='cpu')], empty: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Fill `codes` (rows, hashes), and `empty` with 1 for each row without a nonzero.
    """

def gcws_samples(isa: str, rows: Rows, params: GcwsParams, slots: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device='cpu')], t: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device='cpu')], empty: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Fill `slots` and `t` (rows, hashes) with the full samples."""

def gcws_fingerprints(isa: str, rows: Rows, params: GcwsParams, fingerprints: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')], empty: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Fill `fingerprints` (rows, hashes) with one byte per full sample."""

def concatenate(slots: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], t: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """Fill `out` with one 63-bit hash per group of successive samples."""

def pack(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], width: int, packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """Fill `packed` with codes of `width` bits each, one after the other."""

def unpack(packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], width: int, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.uint32], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """Fill `codes` from rows of codes of `width` bits each."""

def renumber(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], number_of: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')], threads: int) -> int:
    """
    Fill `numbers` with the number of each code, and return the largest. Both may be the same array.
    """

def mark_used(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], used: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Set `used` to 1 for each code that occurs."""

def match_counts(isa: str, a: CodeRows, b: CodeRows, counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """
    Fill `counts` with the number of equal codes of each row of `a` and each row of `b`.
    """

class FourierParams:
    """
    What Fourier features depend on besides the row: `scale` is sqrt(gamma) / 2 pi. Weights of more than `table_bytes` bytes are made in blocks.
    """

    def __init__(self, scale: float, seed: int, normalize: bool, table_bytes: int) -> None: ...

def fourier(isa: str, rows: Rows, params: FourierParams, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> bool:
    """
    Fill `out` (rows, hashes) with Fourier features. Return False where a value is NaN or infinite.
    """

class LinearObjective:
    """
    What learning minimizes: a loss (its number), the value of the intercept's feature (0 for no intercept), and the parameter of the loss.
    """

    def __init__(self, loss: int, scale: float, parameter: float = 0.0) -> None: ...

class LinearTargets:
    """What the problems learn from the rows: labels or targets, and costs."""

    def __init__(self, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, targets: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, cost: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], positive: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], factors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class LinearPass:
    """
    The arrays of one pass over the rows of `order`: `beta`, `shrunk` and `stats` are changed by it.
    """

    def __init__(self, targets: LinearTargets, order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], running: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], sweeps: int, beta: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], shrunk: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')], stats: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> None: ...

def loss_names() -> list[str]:
    """Names of the losses, in the order of their numbers."""

def linear_pass(isa: str, rows: CodeRows, objective: LinearObjective, arrays: LinearPass, w: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Run one pass of block dual coordinate descent for each problem; `w` and `bias` are changed.
    """

def linear_decide(isa: str, rows: CodeRows, scale: float, w: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """Fill `out` (rows, problems) with decision values."""

def linear_accumulate(rows: CodeRows, beta: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """Add the beta of each row to `sums` (hashes, codes) at its codes."""

def measure(isa: str, rows: Rows, sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> tuple[float, float, bool]:
    """
    Fill `sizes` with the largest absolute value of each row, NaN if one is not finite; return the smallest and the largest value of all, and whether all are whole numbers from -255 to 255.
    """

def to_bytes(isa: str, rows: DenseRows, offset: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Fill `out` with values minus `offset`, and `sums` with the sums of the absolute values.
    """

def is_canonical(indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int, threads: int) -> bool:
    """
    Whether the indices of each row of a CSR matrix ascend within the features.
    """

class Symbols:
    """
    Rows as symbols, each of which stands for the codes of neighbouring hashes.
    """

    def __init__(self, rows: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], cells: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], mapped: bool = False) -> None: ...

class NewtonStep:
    """
    The arrays of one step of Newton's method: `beta`, `f` and `stats` are changed by it.
    """

    def __init__(self, targets: LinearTargets, symbols: Symbols, running: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], fresh: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], most: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tol: float, sample: int, beta: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], f: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], stats: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> None: ...

def newton_step(isa: str, rows: CodeRows, objective: LinearObjective, arrays: NewtonStep, w: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu')] | Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Make one step of Newton's method for each problem; `w` and `bias` are changed.
    """

def make_symbols(rows: CodeRows, together: int, out: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], first: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], threads: int, mapped: bool = False) -> bool:
    """
    Fill `out` with a symbol for each group of codes; false if a group has more than `first` has room for. `mapped` says that codes and `out` are maps of files.
    """

class HashView:
    """A group of columns, and its hash; `counts` is empty without gamma."""

    def __init__(self, seed: int, width: int, hashes: int, counts: Sequence[int]) -> None: ...

class PredictorHash:
    """The hash of a model; `center` is empty if there is none."""

    def __init__(self, views: Sequence[HashView], center: Sequence[float], p: float, bits: int, t_bits: int) -> None: ...

class Predictor:
    """A model with everything ready that does not depend on a row."""

    def __init__(self, isa: str, hash: PredictorHash, number_of: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], w: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def decide(self, rows: Rows, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> bool:
        """
        Fill `out` (rows, problems) with decision values. False if a value of the rows is not finite.
        """

class IndexVectors:
    """
    Rows to be compared exactly and their L1 norms: bytes, floats, both, or CSR rows.
    """

    def __init__(self, norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, dense: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, data: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_features: int = 0) -> None: ...

class IndexPostings:
    """
    Inverted lists: the rows in whose heavy part each feature is, found by a directory of keys.
    """

    def __init__(self, shift: int, directory: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], keys: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

class IndexGraph:
    """
    Links of rows to rows near them, and bytes by which they are compared: those of the vectors, or round(x * scale) + zero.
    """

    def __init__(self, links: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], entries: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], zero: int, scale: float, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None: ...

class IndexSegment:
    """Rows that were indexed together, with their LSH tables."""

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], vectors: IndexVectors | None = None, postings: IndexPostings | None = None, graph: IndexGraph | None = None) -> None: ...

class IndexQueries:
    """
    Query i is row `first` + i of segment `segment`, and no neighbour of itself; or `segment` is -1.
    """

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], empty: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], vectors: IndexVectors | None = None, segment: int = -1, first: int = 0) -> None: ...

class SearchParams:
    """
    What to look for. In `n_rerank` and `n_neighbors` 0 stands for all; with 0 `n_tables` every row is a candidate. With a `heavy_fraction` above 0 candidates share heavy features.
    """

    def __init__(self, hashes_per_table: int, n_tables: int, n_rerank: int, n_neighbors: int, min_similarity: float, exact: bool, later_only: bool, heavy_fraction: float = 0.0) -> None: ...

def index_tables(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], flags: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], hashes_per_table: int, bits: int, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), device='cpu')], starts: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """Fill the LSH tables of a segment."""

def index_norms(isa: str, rows: Rows, norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Fill `norms` with the L1 norms of float32 rows."""

def index_heavy(rows: CsrRows, norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], heavy_fraction: float, heavy: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """Fill `heavy` with 1 for each value in the heavy part of its row."""

def index_search(isa: str, queries: IndexQueries, segments: Sequence[IndexSegment], params: SearchParams, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Return where the neighbours of each query begin, their ids, and their similarities.
    """

def graph_bytes(values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], zero: int, scale: float, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')], norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None:
    """
    Fill `bytes` with round(x * scale) + zero, cut off to 0 .. 255, and `norms` with the L1 norms of bytes - zero.
    """

def graph_build(isa: str, bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], done: int, links: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """Link rows to rows near them, from order[done] on."""

def graph_search(isa: str, queries: IndexQueries, segments: Sequence[IndexSegment], n_rerank: int, n_neighbors: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Return what index_search returns, for neighbours found by the graphs of segments.
    """

def join_keys(rows: CsrRows, out: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), device='cpu')], threads: int) -> None: ...

def join_count(rows: CsrRows, counters: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def join_prefixes(rows: CsrRows, counters: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: float, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

def join_similarities(rows: CsrRows, left: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> None: ...

def quantile_levels(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], tables: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """
    Fill `out` (columns, rows) with the levels of numbers (rows, columns) in the tables (columns, quantiles).
    """

class CsvTaken:
    @property
    def rows(self) -> int: ...

    @property
    def lines(self) -> int: ...

    @property
    def bytes(self) -> int: ...

def csv_delimiter(delimiter: str) -> bool: ...

def distinct_texts(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], at: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

@overload
def csv_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, delimiter: str, label: int | None, values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None, label_at: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device='cpu')] | None = None, left_out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int) -> CsvTaken: ...

@overload
def csv_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, delimiter: str, label: int | None, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None = None, label_at: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device='cpu')] | None = None, left_out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int) -> CsvTaken: ...

class LibsvmParsed:
    @property
    def labels(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def label_at(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]: ...

    @property
    def qid(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def indptr(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def ids(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def values(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def largest_id(self) -> int: ...

    @property
    def first_text(self) -> int: ...

    @property
    def any_qid(self) -> bool: ...

    @property
    def error(self) -> int: ...

    @property
    def at(self) -> int: ...

    @property
    def length(self) -> int: ...

def libsvm_parse(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, base: int, single: bool, threads: int) -> LibsvmParsed: ...

def shingles(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], *, words: bool, n_min: int, n_max: int, lowercase: bool, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]: ...

def shingles_of_texts(texts: tuple[object, ...], *, words: bool, n_min: int, n_max: int, lowercase: bool, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]: ...

@overload
def text_lines(*, heads: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], head_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

@overload
def text_lines(*, heads: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], head_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

@overload
def text_lines(*, heads: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], head_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

@overload
def text_lines(*, heads: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], head_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], qid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], base: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

@overload
def text_numbers(values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

@overload
def text_numbers(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

@overload
def text_numbers(values: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

@overload
def text_numbers(values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

class GrowthSettings:
    """The size of trees, and the values of their leaves."""

    def __init__(self, leaves: int, leaf_rows: int, ridge: float, rate: float) -> None: ...

class GrownTrees:
    """Where the nodes of trees are written, (outputs, 2 leaves - 1) each."""

    def __init__(self, feature: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], bin: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], left: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], right: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), device='cpu')], value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> None: ...

class GrowthRows:
    """Training rows as bins (features, rows), on which trees grow."""

    def __init__(self, binned: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def grow(self, gradients: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], hessians: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], settings: GrowthSettings, trees: GrownTrees, values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> list[int]:
        """
        Grow one tree per output, fill in its nodes and the value of each row, and return their number.
        """

class Trees:
    """
    The nodes of an ensemble of decision trees, its roots, and a baseline per output.
    """

    def __init__(self, feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], roots: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], baseline: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

def trees_decide(isa: str, features: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], trees: Trees, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """
    Fill `out` (rows, outputs) with the baseline plus the values of the leaves that rows reach.
    """

def tree_shapley(features: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], background: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], trees: Trees, owners: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """
    Fill `out` (rows, columns times outputs) with Shapley values against background rows.
    """

class RowReader:
    """How the values of one row become numbers and positions of flags."""

    def __init__(self, exact: object, read: object) -> None: ...

    def add(self, name: str, kind: int, targets: Sequence[int], parts: Sequence[int], flagged: int, missing: int, known: dict[Any, int], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], positions: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Add a column of the kind 0 (not used), 1 (number), 2 (date) or 3 (category).
        """

class TableModel:
    """A model of tables with everything ready that does not depend on a row."""

    def __init__(self, isa: str, predictor: Predictor, trees: Trees | None, features: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], scales: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], quantiles: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sources: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], slopes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], intercepts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], finish: Sequence[float]) -> None: ...

    def values(self, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], positions: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], threads: int) -> bool:
        """
        Fill `out` (rows, problems) with logits or predictions. False if a value is not finite.
        """

    def row(self, reader: RowReader, row: object, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> int:
        """
        Do it for one row, a dict or a list: -1, the number of a column that it lacks, or -2 if not finite.
        """

def components(standard: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], directions: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu')], threads: int) -> None:
    """
    Fill `out` (rows, components) with the components of standardized features.
    """

def shares(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> None:
    """Fill `out` (rows, classes) with probabilities."""

def blended(logits: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], trees: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], share: float, temperature: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')]) -> None:
    """
    Fill `out` (rows, problems) with the logits of the blend of a linear model and trees.
    """
