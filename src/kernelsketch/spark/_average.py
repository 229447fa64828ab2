"""Distributed training by iterative parameter mixing on packed codes (``solver="average"``).

In each round every partition starts from the same weights, learns from its rows as ``partial_fit`` does, and returns
its weights. Their average, weighted by the numbers of rows, is the start of the next round. A hash of the codes assigns
rows to partitions and sorts them, so the original order of the rows, which often follows classes or days, has no
effect. Averages are computed in the order of the partitions, so repeated runs give the same model bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, xxhash64

from .. import linear
from .._array import Array
from ..exceptions import InputError
from ..hashing import PackedCodes
from ..linear import OnlineState, Training, find_used_codes
from ..serving import LinearModel, stride_of
from ._arrow import codes_of
from ._gcws import hasher_of

CODES, LABEL, WEIGHT = "_codes", "_label", "_weight"  # columns that exist only during a fit
CALL_ROWS = 8192  # rows per call of partial_fit, independent of the sizes of Arrow batches
FAN_IN = 8  # number of weight tables that one task averages
MOST_BYTES = 1 << 30  # limit of the weight tables of a partition, which are sent as one value

TABLE = "part int, rows double, blocks double, tables binary"
FIELDS = pa.schema(
    [("part", pa.int32()), ("rows", pa.float64()), ("blocks", pa.float64()), ("tables", pa.binary())]
)  # the same in Arrow


def average(
    rows: DataFrame, local: linear.GCWSClassifier, classes: Array, width: int, parts: int, rounds: int
) -> linear.GCWSClassifier:
    """Learn from rows of codes, label and weight, and return the fitted single-machine estimator."""
    order = xxhash64(CODES, LABEL, WEIGHT)
    dealt = rows.repartition(parts, order).sortWithinPartitions(order, CODES, LABEL, WEIGHT)
    dealt = dealt.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        state = _start(dealt, local, len(classes), width)
        for _ in range(rounds):
            learned = dealt.mapInArrow(partial(_learn, local, len(classes), width, state), TABLE)
            state = _collected(learned, parts, state)
    finally:
        dealt.unpersist()
    fitted = _restored(local, len(classes), width, state)
    fitted.fitted_ = replace(fitted.fitted_, classes=classes)
    fitted.training_ = replace(fitted.training_, n_iter=rounds)
    return fitted


def _start(dealt: DataFrame, local: linear.GCWSClassifier, classes: int, width: int) -> OnlineState:
    """Return zero weights for every code that occurs."""
    found = dealt.select(CODES).mapInArrow(partial(_used, local, width), "used binary").collect()
    if not found:
        raise InputError("no row is left to learn from: at least one row is needed.")
    used = np.bitwise_or.reduce([np.frombuffer(row.used, np.uint8) for row in found])
    used_codes = np.flatnonzero(np.unpackbits(used))
    problems = classes if classes > 2 else 1
    shape = (problems, int(local.n_components), stride_of(len(used_codes)))
    if 8 * np.prod(shape, dtype=float) > MOST_BYTES:
        raise InputError(
            f"the weights of {problems} problems, {shape[1]} hashes and {len(used_codes)} used codes exceed "
            f"{MOST_BYTES} bytes, the most that a worker can return: use fewer bits or hashes, or solver='spark'."
        )
    w, bias = np.zeros(shape, np.float32), np.zeros(problems)
    return OnlineState(used_codes, w, bias, w.copy(), bias.copy(), 0)


def _used(local: linear.GCWSClassifier, width: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield which codes occur in a partition, as one bit per code."""
    used = None
    for batch in batches:
        if batch.num_rows:
            codes = _codes(local, width, batch.column(0))
            used = np.zeros(1 << codes.width, bool) if used is None else used
            used[find_used_codes(codes)] = True
    if used is not None:
        yield pa.RecordBatch.from_pydict({"used": [np.packbits(used).tobytes()]})


def _learn(
    local: linear.GCWSClassifier, classes: int, width: int, state: OnlineState, batches: Iterator[Any]
) -> Iterator[Any]:
    """Make one pass over a partition and yield the learned weights."""
    model, rows = _restored(local, classes, width, state), 0
    for table in _calls(batches):
        weight = np.asarray(table.column(WEIGHT))
        if not weight.any():
            continue
        codes = _codes(local, width, table.column(CODES))
        model.partial_fit(codes, np.asarray(table.column(LABEL)), sample_weight=weight)
        rows += len(codes)
    learned = model.training_.stream
    if rows and learned is not None:
        task = TaskContext.get()
        part = 0 if task is None else task.partitionId()
        yield _batch(part, rows, learned.blocks, _joined(learned))


def _calls(batches: Iterator[Any]) -> Iterator[Any]:
    """Regroup the rows of Arrow batches into batches of CALL_ROWS rows."""
    waiting: list[Any] = []
    have = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, CALL_ROWS - have)
            waiting.append(part)
            start, have = start + part.num_rows, have + part.num_rows
            if have == CALL_ROWS:
                yield _whole(waiting)
                waiting, have = [], 0
    if have:
        yield _whole(waiting)


def _whole(waiting: list[Any]) -> Any:
    return pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]


def _collected(learned: DataFrame, parts: int, state: OnlineState) -> OnlineState:
    """Average the weights of all partitions in a tree, in which each node averages FAN_IN tables."""
    while parts > FAN_IN:
        parts = -(-parts // FAN_IN)
        group = (col("part") / FAN_IN).cast("int")
        learned = learned.repartition(parts, group).mapInArrow(partial(_average_groups, FAN_IN, state.w.shape), TABLE)
    found = learned.toArrow().sort_by("part")
    if not found.num_rows:
        raise InputError("every row has weight 0: at least one row must have a weight above 0.")
    _, blocks, tables = _averaged(found, state.w.shape)
    return _split(tables, state, round(blocks))


def _average_groups(fan_in: int, shape: tuple[int, ...], batches: Iterator[Any]) -> Iterator[Any]:
    """Average groups of ``fan_in`` successive parts. A partition may hold several such groups, or none."""
    found = list(batches)
    if not found:
        return
    table = pa.Table.from_batches(found).sort_by("part")
    groups = table.column("part").to_numpy() // fan_in
    for group in np.unique(groups):
        rows, blocks, tables = _averaged(table.filter(pa.array(groups == group)), shape)
        yield _batch(int(group), rows, blocks, tables)


def _averaged(table: Any, shape: tuple[int, ...]) -> tuple[float, float, bytes]:
    """Average tables in float64 in the order of the rows of ``table``, weighted by their numbers of rows."""
    rows = table.column("rows").to_numpy()
    total = float(rows.sum())
    size = 2 * int(np.prod(shape))
    floats, doubles = np.zeros(size), np.zeros(2 * shape[0])
    for share, tables in zip(rows / total, table.column("tables"), strict=True):
        whole = tables.as_buffer()
        floats += share * np.frombuffer(whole, np.float32, size)
        doubles += share * np.frombuffer(whole, np.float64, offset=4 * size)
    blocks = float(np.dot(rows / total, table.column("blocks").to_numpy()))
    return total, blocks, floats.astype(np.float32).tobytes() + doubles.tobytes()


def _joined(state: OnlineState) -> bytes:
    """Return the tables as bytes: w and its mean in float32, then the biases in float64."""
    return b"".join(array.tobytes() for array in (state.w, state.mean_w, state.bias, state.mean_bias))


def _split(tables: bytes, state: OnlineState, blocks: int) -> OnlineState:
    size, problems = state.w.size, len(state.bias)
    floats = np.frombuffer(tables, np.float32, 2 * size).reshape(2, *state.w.shape).copy()
    doubles = np.frombuffer(tables, np.float64, offset=8 * size).reshape(2, problems).copy()
    return OnlineState(state.used_codes, floats[0], doubles[0], floats[1], doubles[1], blocks)


def _batch(part: int, rows: float, blocks: float, tables: bytes) -> Any:
    return pa.RecordBatch.from_pydict(
        {"part": [part], "rows": [rows], "blocks": [blocks], "tables": [tables]}, schema=FIELDS
    )


def _codes(local: linear.GCWSClassifier, width: int, column: Any) -> PackedCodes:
    return codes_of(column, hasher_of(local, width), width)


def _restored(local: linear.GCWSClassifier, classes: int, width: int, state: OnlineState) -> linear.GCWSClassifier:
    """Return an estimator that continues from a state. Its classes are numbers."""
    model = linear.GCWSClassifier(**local.get_params())
    model.n_features_in_, intercept = width, float(local.intercept_scaling) if local.fit_intercept else 0.0
    table = state.used_codes, state.mean_w, intercept * state.mean_bias
    model.fitted_ = LinearModel(hasher_of(local, width), width, *table, local.loss, classes=np.arange(classes))
    model.training_ = Training(state.mean_bias, 1, stream=state)
    return model
