"""``kernelsketch index``: build an index, query it, find near-duplicates."""

from __future__ import annotations

import json as json_lines
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..._array import Array
from ..._validation import widened
from ...exceptions import InputError
from ...formats import open_text
from ...hashing import PackedCodes
from ...neighbors import GCWSIndex, layout_for
from ...text import Shingles
from .._errors import UsageError
from .._options import InputOptions, RunOptions, TextRecords, open_input
from .._predictor import feature_columns
from .._process_memory import enough_memory, memory_left
from .._progress import CountedRows, ProgressMeter, format_duration
from .._results import print_facts, print_json, size_of
from .._text_rows import TextRows

LINES = 10_000  # per write
FEW_ROWS, MOST_ANSWERS = 64, 1 << 18  # rows that are searched for at first, and neighbours that are found at a time
STEPS = 32 << 20  # bytes for hashing in steps


def build_index(
    input: str,
    path: Path,
    options: dict[str, Any],
    recall: float | None,
    texts: TextRecords | None,
    reading: InputOptions,
    running: RunOptions,
    json: bool,
) -> None:
    """Build an index of the rows of a file. ``options`` are its parameters; a recall tunes them.

    ``texts`` are None for rows of numbers.
    """
    shingles = None if texts is None else Shingles(texts.ngram)
    made = GCWSIndex(**options, shingles=shingles, n_jobs=running.threads)
    if texts is None:
        _find_n_features(input, reading, running)
    opened = _open(input, texts, shingles, reading, running, [str(path)])
    with ProgressMeter("indexing", running.quiet) as meter, opened as stream:
        counted = CountedRows(stream, meter)
        made = _indexed(made, counted, input, running, recall)
        names = stream.feature_names
    if names is not None:
        made.feature_names_in_ = np.array(names, dtype=object)
    made.save(path)
    facts = {"index": str(path), "bytes": path.stat().st_size, **index_facts(made)}
    facts |= {"expected": getattr(made, "tuning_", None), "seconds": meter.seconds}
    facts |= {} if texts is None else {"skipped": stream.skipped}
    if json:
        print_json(facts)
        return
    if facts["heavy_fraction"]:
        method = f"inverted lists of the features that hold {facts['heavy_fraction']:g} of a row"
    elif facts["n_tables"]:
        tables = f"{facts['n_tables']} LSH tables of {facts['hashes_per_table']} hashes"
        method = f"{tables}, {facts['n_components']} hashes per row"
    elif facts["n_rerank"] == "all":
        method = "exact comparison of all rows"
    else:
        method = f"comparison of all codes, {facts['n_components']} hashes per row"
    what = f"rows of {facts['n_features']:,} features" if texts is None else f"texts, shingles of {texts.ngram} words"
    lines = {
        "data": f"{facts['rows']:,} {what} ({stream.format})",
        **_skipped(stream),
        "method": method,
        "memory": f"{made.bytes_per_row_:.0f} bytes per row" + (" and the rows" if made.store_vectors else ""),
        "time": f"{format_duration(meter.seconds)}, {counted.rate:,.0f} rows per second",
        "index": f"{path}, {size_of(path)}",
    }
    if facts["expected"] is not None:
        found = facts["expected"]
        lines["recall"] = (
            "1, since all rows are compared"
            if facts["n_rerank"] == "all"
            else f"{found['recall']:.3f} ± {found['standard_error']:.3f}, estimated from the first rows"
        )
    print_facts(lines)


def index_facts(index: GCWSIndex) -> dict[str, Any]:
    """Return the size and the parameters of an index; None for those that it does not use."""
    heavy_fraction = index.heavy_fraction
    return {
        "rows": index.n_samples_fit_,
        "n_features": int(index.n_features_in_),
        "n_tables": None if heavy_fraction else index.n_tables,
        "hashes_per_table": None if heavy_fraction else index.hashes_per_table,
        "n_components": None if heavy_fraction else int(index.hasher_.n_components),
        "heavy_fraction": heavy_fraction,
        "n_rerank": "all" if index.n_rerank is None else index.n_rerank,
        "n_neighbors": index.n_neighbors,
        "bytes_per_row": round(index.bytes_per_row_, 1),
    }


def query_index(
    input: str,
    path: Path,
    n_neighbors: int | None,
    threshold: float | None,
    changes: dict[str, Any],
    texts: TextRecords | None,
    output: str,
    reading: InputOptions,
    running: RunOptions,
    json: bool,
) -> None:
    """Write the neighbours of the rows of a file. ``changes``: parameters for this search; None keeps the index's."""
    found = GCWSIndex.load(path, mmap=True)
    if changes["n_tables"] is not None and found.heavy_fraction:
        raise UsageError("--n-tables: this index was built with --heavy-fraction and has no tables.")
    given = {name: value for name, value in changes.items() if value is not None}
    found.set_params(n_jobs=running.threads, **given)
    if n_neighbors is None and threshold is None:
        n_neighbors = min(found.n_neighbors, found.n_samples_fit_)
    meter = ProgressMeter("searching", running.quiet or (output == "-" and sys.stdout.isatty()))
    if texts is None and found.shingles is not None:
        raise UsageError(f"{path} is an index of texts: name the field of the texts with --text.")
    if texts is not None and found.shingles is None:
        raise UsageError(f"{path} is an index of rows, not of texts: leave out --text, or build it with --text.")
    shingles = None if texts is None else found.shingles_
    opened = _open(input, texts, shingles, reading, running, [str(path), output])
    with meter, opened as stream, open_text(output) as file:
        names = getattr(found, "feature_names_in_", None)
        columns, counted = feature_columns(names, stream, "the index was built from"), CountedRows(stream, meter)
        if hasattr(found, "feature_names_in_"):
            del found.feature_names_in_  # feature_columns has compared them
        if not json:
            file.write(b"row\tneighbor\tsimilarity\n")
        for block in counted:
            X = _with_width(found, _rows_of(block, input) if columns is None else block.X[:, columns])
            before = counted.rows - X.shape[0]
            for first, distances, ids in _answers(found, X, n_neighbors, threshold):
                file.write("".join(_neighbor_lines(before + first, distances, ids, json)).encode())
    skipped = _skipped(stream)
    if output != "-" or (skipped and not running.quiet):
        print_facts({"searched": counted.summary, **skipped, "output": output}, to_stderr=True)


def _answers(
    index: GCWSIndex, X: Any, n_neighbors: int | None, threshold: float | None
) -> Iterator[tuple[int, Any, Any]]:
    """Yield the first row, the distances and the neighbours of a few rows at a time, since all rows may be similar."""
    first, step = 0, FEW_ROWS if n_neighbors is None else max(1, MOST_ANSWERS // n_neighbors)
    while first < X.shape[0]:
        rows = X[first : first + step]
        if threshold is None:
            distances, ids = index.kneighbors(rows, n_neighbors)
        else:
            distances, ids = index.neighbors_above(rows, threshold=threshold)
            most = max(1, max(map(len, ids))) * len(ids)
            step = max(1, min(4 * step, step * MOST_ANSWERS // most))
        yield first, distances, ids
        first += rows.shape[0]


def find_near_duplicates(
    input: str,
    threshold: float,
    recall: float,
    output: str,
    hash_parameters: dict[str, Any],
    texts: TextRecords | None,
    reading: InputOptions,
    running: RunOptions,
    json: bool,
) -> None:
    """Write the near-duplicate pairs of the rows of a file."""
    n_tables, hashes_per_table, _ = layout_for(threshold, recall)
    parameters = {"hashes_per_table": hashes_per_table, "n_tables": n_tables, **hash_parameters}
    made = GCWSIndex(**parameters, n_jobs=running.threads)
    shingles = None if texts is None else Shingles(texts.ngram)
    if texts is None:
        _find_n_features(input, reading, running)
    with ProgressMeter("indexing", running.quiet) as meter:
        with _open(input, texts, shingles, reading, running, [output]) as stream:
            counted = CountedRows(stream, meter)
            made = _indexed(made, counted, input, running, None)
        meter.begin("comparing")
        pairs, estimated, exact = _similar_and_equal(made, threshold)
        with open_text(output) as file:
            if not json:
                file.write(b"row\tother\testimated\texact\n")
            for start in range(0, len(pairs), LINES):
                some = slice(start, start + LINES)
                file.write("".join(_pair_lines(pairs[some], estimated[some], exact[some], json)).encode())
    repeated = len(np.unique(pairs[:, 1]))
    facts = {
        "pairs": f"{len(pairs):,} with a similarity of at least {threshold:g}",
        "rows": f"{counted.rows:,}, of which {repeated:,} are near-duplicates of an earlier row",
        **_skipped(stream),
        "time": f"{format_duration(meter.seconds)}, {n_tables} LSH tables of {hashes_per_table} hashes",
    }
    if not running.quiet:
        print_facts(facts, to_stderr=True)


def _open(
    input: str,
    texts: TextRecords | None,
    shingles: Shingles | None,
    reading: InputOptions,
    running: RunOptions,
    own: list[str],
) -> Any:
    """Open a file of rows, or of texts that become rows. ``own`` files of the command are no texts of a folder."""
    if texts is None or shingles is None:
        return open_input(input, reading, running)
    texts = texts._replace(delimiter=reading.delimiter)
    return TextRows(input, texts, shingles.set_params(n_jobs=running.threads), running, own)


def _skipped(stream: Any) -> dict[str, str]:
    """Return the line of the summary about records without a text, if there are some."""
    count = getattr(stream, "skipped", 0)
    return {"skipped": f"{count:,} records without a text; no row is similar to them"} if count else {}


def _similar_and_equal(made: GCWSIndex, threshold: float) -> tuple[Array, Array, Array]:
    """Return pairs with their estimated and exact similarities. Equal rows are paired with the first of them only."""
    pairs, exact = made.query_pairs(threshold)
    return pairs, made.estimate_pairs(pairs), exact


def _pair_lines(pairs: Array, estimated: Array, exact: Array, json: bool) -> Iterator[str]:
    for (a, b), guess, value in zip(pairs.tolist(), estimated.tolist(), exact.tolist(), strict=True):
        if json:
            yield json_lines.dumps({"row": a, "other": b, "estimated": round(guess, 4), "exact": value}) + "\n"
        else:
            yield f"{a}\t{b}\t{guess:.4f}\t{value:.6g}\n"


def _neighbor_lines(first: int, distances: Array, ids: Array, json: bool) -> Iterator[str]:
    for number, (away, there) in enumerate(zip(distances, ids, strict=True), first):
        kept = np.isfinite(away)
        found = list(zip(there[kept].tolist(), (1 - away[kept]).tolist(), strict=True))
        if json:
            one = {"row": number, "neighbors": [i for i, _ in found], "similarity": [s for _, s in found]}
            yield json_lines.dumps(one) + "\n"
            continue
        for neighbor, similarity in found:
            yield f"{number}\t{neighbor}\t{similarity:.6g}\n"


def _find_n_features(path: str, reading: InputOptions, running: RunOptions) -> None:
    """Read LIBSVM text once to learn how many features it has, which an index must know before it begins."""
    if reading.n_features is not None:
        return
    if not Path(path).is_file():
        raise InputError(
            f"{path} is not a file that can be read twice, as an index needs to learn the number of features: check "
            "the name, or pass --n-features."
        )
    with open_input(path, reading, running) as stream:
        if stream.format != "libsvm":
            return
        reading.n_features = max((rows.X.shape[1] for rows in stream), default=1)


def _indexed(made: GCWSIndex, counted: CountedRows, name: str, running: RunOptions, recall: float | None) -> GCWSIndex:
    """Return the index of all rows: fitted to the first block, tuned for it if a recall is given."""
    fitted, room = False, memory_left(running)
    for block in counted:
        X = _rows_of(block, name)
        if not fitted:
            if recall is not None:
                made = made.tune(X, recall=recall, n_rows=counted.expected)
            made.fit(X)
        n = max(counted.expected, counted.rows)
        needed = 2 * int(made.nbytes_ * n / made.n_samples_fit_) + STEPS  # a merge holds the old and the new segment
        if needed > room:
            about = "" if n == counted.rows else "about "
            raise InputError(
                f"--memory {running.memory} is too small for an index of {about}{n:,} rows: pass --memory "
                f"{enough_memory(running, room, needed)} or more, or --codes-only to build."
            )
        if fitted:
            made.add(X)
        fitted = True
    if not fitted:
        raise InputError(f"{name} has no rows.")
    return made


def _rows_of(block: Any, name: str) -> Any:
    if isinstance(block.X, PackedCodes):
        raise InputError(f"{name} holds codes, but an index needs rows: pass the file that the codes were made from.")
    return block.X


def _with_width(made: GCWSIndex, X: Any) -> Any:
    """Give sparse rows the width of the index. Absent features are zeros; new ones count in the norm of a row."""
    if not sparse.issparse(X) or made.hasher_.center_ is not None:
        return X
    if X.shape[1] > made.n_features_in_:
        made.widen(X.shape[1])
    return widened(X, made.n_features_in_)
