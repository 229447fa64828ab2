"""``kernelsketch index``: build an index, query it, find near-duplicates."""

from __future__ import annotations

import json as json_lines
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..._array import Array
from ..._validation import widened
from ...exceptions import InputError
from ...formats import DocumentWriter, encoded, open_text, row_files, written_format
from ...hashing import PackedCodes
from ...neighbors import GCWSIndex, layout_for
from ...text import Shingles
from .._dedup_results import cell, some
from .._errors import UsageError, set_by
from .._file_predictor import feature_columns
from .._memory import enough_memory, memory_left
from .._options import open_input
from .._progress import CountedRows, ProgressMeter, format_duration
from .._results import print_facts, print_json, size_of
from .._row_columns import RowColumns
from ..commands.index import Build, Dedup, Query
from .index_texts import TextParts, TextRows, learn_weights, new_shingles, open_texts
from .index_unanswered import Unanswered

LINES = 10_000  # per write
FEW_ROWS, MOST_ANSWERS = 64, 1 << 18  # rows that are searched for at first, and neighbours that are found at a time
_PARAMETERS = ("n_tables", "hashes_per_table", "n_components", "heavy_fraction", "n_neighbors", "p")
STEPS = 32 << 20  # bytes for hashing in steps


def build(task: Build) -> None:
    """Build an index of the rows of a file; a recall tunes its parameters."""
    shingles = new_shingles(task) if task.takes_texts else None
    made = GCWSIndex(
        **{name: getattr(task, name) for name in _PARAMETERS},
        store_vectors=not task.codes_only,
        random_state=task.seed,
        shingles=shingles,
        n_jobs=task.threads,
    )
    if shingles is None:
        _find_n_features(task)
    with ProgressMeter("indexing", task.quiet) as meter:
        if shingles is not None:
            learn_weights(shingles, task, [str(task.index)], meter)
        with _open(task, shingles, [str(task.index)]) as stream:
            counted = CountedRows(stream, meter)
            made = _indexed(made, counted, task, task.recall, stream)
            names = stream.feature_names
        if names is not None:
            made.feature_names_in_ = np.array(names, dtype=object)
        meter.begin("saving")
        made.save(task.index)
    facts = {"index": str(task.index), "bytes": task.index.stat().st_size, **index_facts(made)}
    facts |= {"expected": getattr(made, "tuning_", None), "seconds": meter.seconds}
    facts |= {} if shingles is None else {"skipped": stream.skipped}
    if task.json:
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
    what = f"texts, {shingles_text(facts)}" if shingles else f"rows of {facts['n_features']:,} features"
    lines = {
        "data": f"{facts['rows']:,} {what} ({stream.format})",
        **_skipped(stream),
        "method": method,
        "memory": f"{made.bytes_per_row_:.0f} bytes per row" + (" and the rows" if made.store_vectors else ""),
        "time": f"{format_duration(meter.seconds)}, {counted.rate:,.0f} rows per second",
        "index": f"{task.index}, {size_of(task.index)}",
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
    shingles = index.shingles
    has_codes = index.heavy_fraction is None and index.graph_degree is None
    return {
        "rows": index.n_samples_fit_,
        **({"n_features": int(index.n_features_in_)} if shingles is None else _shingle_facts(index)),
        "n_tables": index.n_tables if has_codes else None,
        "hashes_per_table": index.hashes_per_table if has_codes else None,
        "n_components": int(index.hasher_.n_components) if has_codes else None,
        "heavy_fraction": index.heavy_fraction,
        "n_rerank": "all" if index.n_rerank is None else index.n_rerank,
        "n_neighbors": index.n_neighbors,
        "bytes_per_row": round(index.bytes_per_row_, 1),
    }


def _shingle_facts(index: GCWSIndex) -> dict[str, Any]:
    shingles = index.shingles_
    return {
        "analyzer": shingles.analyzer,
        "ngram": shingles.ngram_range,
        "weight": shingles.weight,
        "normalize": shingles.normalize,
        "vocabulary": index.vocabulary_size_,
    }


def shingles_text(facts: dict[str, Any]) -> str:
    """Return how texts become rows, in words."""
    ngram = facts["ngram"] if isinstance(facts["ngram"], int) else "{} to {}".format(*facts["ngram"])
    unit = "word" if facts["analyzer"] == "word" else "character"
    known = "" if facts["vocabulary"] is None else f", {facts['vocabulary']:,} different ones"
    form = "" if facts["normalize"] is None else f", in {facts['normalize']}"
    return f"shingles of {ngram} {unit}{'' if ngram == 1 else 's'}, weight {facts['weight']}{known}{form}"


def query(task: Query) -> None:
    """Write the neighbours of the rows of a file."""
    found = GCWSIndex.load(task.index, mmap=True)
    if task.n_tables is not None and found.heavy_fraction:
        raise UsageError("--n-tables: this index was built with --heavy-fraction and has no tables.")
    given = {name: getattr(task, name) for name in ("n_rerank", "n_tables", "heavy_fraction")}
    given["fill_missing"] = task.fill_missing or None
    found.set_params(n_jobs=task.threads, **{name: value for name, value in given.items() if value is not None})
    n_neighbors = task.n_neighbors
    if n_neighbors is None and task.threshold is None:
        n_neighbors = min(found.n_neighbors, found.n_samples_fit_)
    if found.shingles is None:
        if task.takes_texts or task.new is not None:
            raise UsageError(
                f"{task.index} is an index of rows, not of texts: leave out --{_text_option(task)}, or build it with "
                "--text."
            )
        task.check_no_texts(f"{task.index} is an index of rows of numbers")
    else:
        task.check_no_numbers()
    shingles = None if found.shingles is None else found.shingles_
    outputs = [path for path in (str(task.index), task.output, task.new) if path is not None]
    unanswered = Unanswered(found, task)
    with (
        ProgressMeter("searching", task.quiet or (task.output == "-" and sys.stdout.isatty())) as meter,
        _open(task, shingles, outputs) as stream,
        open_text(task.output) as file,
        _new_records(task, stream) as records,
    ):
        names = getattr(found, "feature_names_in_", None)
        columns, counted = feature_columns(names, stream, "the index was built from"), CountedRows(stream, meter)
        names_of = _names_of(task, stream)
        if hasattr(found, "feature_names_in_"):
            del found.feature_names_in_  # feature_columns has compared them
        if not task.json:
            file.write(b"row\tneighbor\tsimilarity\n")
        for block in counted:
            X = _rows_of(block, task.input) if columns is None else block.X[:, columns]
            X = _with_width(found, X, task.input)
            before = counted.rows - X.shape[0]
            names, new = names_of(block), []
            for first, distances, ids in _answers(found, X, n_neighbors, task.threshold):
                for row, near, similarity in _neighbors(found, first, distances, ids):
                    why = None if near else unanswered.reason(X, row, stream, row)
                    new.append(why is not None)
                    shown = (names and names[row]) or before + row
                    file.write(encoded("".join(_neighbor_lines(shown, near, similarity, why, task.json))))
            if records is not None:
                records.write(stream, stream.block, new)
    lines = {**_skipped(stream), **({} if task.quiet else unanswered.lines(counted.rows))}
    if task.new is not None:
        lines["new"] = f"{task.new}, {unanswered.count:,} of {some(counted.rows, 'text')}"
    if task.output != "-":
        lines = {"searched": counted.summary, **lines, "output": task.output}
    if lines and not (task.quiet and task.output == "-"):
        print_facts(lines, to_stderr=True)


def _text_option(task: Query) -> str:
    return "new" if task.new is not None and not task.takes_texts else "text" if task.text is not None else "format"


@contextmanager
def _new_records(task: Query, stream: Any) -> Iterator[DocumentWriter | None]:
    """Open the file of the records without a neighbour, if there is one."""
    if task.new is None:
        yield None
        return
    with set_by(output="new"), DocumentWriter(task.new, written_format(task.new, stream.format)) as writer:
        yield writer


def _neighbors(index: GCWSIndex, first: int, distances: Array, ids: Array) -> Iterator[tuple[int, list[Any], Any]]:
    """Yield each row with its neighbours, by name if they have names, and their similarities."""
    for row, (away, there) in enumerate(zip(distances, ids, strict=True), first):
        kept = np.isfinite(away)
        near = there[kept]
        yield row, _shown(index, near), (1 - away[kept]).tolist()


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


def dedup(task: Dedup) -> None:
    """Write the near-duplicate pairs of the rows of a file."""
    n_tables, hashes_per_table, *_ = layout_for(task.threshold, task.recall)
    made = GCWSIndex(
        hashes_per_table=hashes_per_table, n_tables=n_tables, p=task.p, random_state=task.seed, n_jobs=task.threads
    )
    shingles = new_shingles(task) if task.takes_texts else None
    if shingles is None:
        _find_n_features(task)
    with ProgressMeter("indexing", task.quiet) as meter:
        if shingles is not None:
            learn_weights(shingles, task, [task.output], meter)
        with _open(task, shingles, [task.output]) as stream:
            counted = CountedRows(stream, meter)
            made = _indexed(made, counted, task, None, stream)
        meter.begin("comparing")
        pairs, exact = made.query_pairs(task.threshold)
        estimated = made.estimate_pairs(pairs)
        with open_text(task.output) as file:
            if not task.json:
                file.write(b"row\tother\testimated\texact\n")
            for start in range(0, len(pairs), LINES):
                some = slice(start, start + LINES)
                shown = zip(*(_shown(made, part) for part in pairs[some].T), strict=True)
                file.write(encoded("".join(_pair_lines(shown, estimated[some], exact[some], task.json))))
    repeated = len(np.unique(pairs[:, 1]))
    facts = {
        "pairs": f"{len(pairs):,} with a similarity of at least {task.threshold:g}",
        "rows": f"{counted.rows:,}, of which {repeated:,} are near-duplicates of an earlier row",
        **_skipped(stream),
        "time": f"{format_duration(meter.seconds)}, {n_tables} LSH tables of {hashes_per_table} hashes",
    }
    if not task.quiet:
        print_facts(facts, to_stderr=True)


def _open(task: Build | Dedup | Query, shingles: Shingles | None, own: list[str]) -> Any:
    """Open a file of rows, or of texts that become rows; ``own`` are files of the command."""
    if shingles is None:
        return open_input(_inputs(task), task)
    return open_texts(task, shingles, own)


def _inputs(task: Build | Dedup | Query) -> list[str]:
    return task.inputs if isinstance(task, Build) else [task.input]


def _skipped(stream: Any) -> dict[str, str]:
    """Return the line of the summary about records without a text, if there are some."""
    count = getattr(stream, "skipped", 0)
    them = "it" if count == 1 else "them"
    return {"skipped": f"{some(count, 'record')} without a text; no row is similar to {them}"} if count else {}


def _shown(index: GCWSIndex, ids: Array) -> list[Any]:
    """Return the names of rows, or their ids if they have no names."""
    return index.names_of(ids) if index.has_names_ else ids.tolist()


def _pair_lines(pairs: Iterable[tuple[Any, Any]], estimated: Array, exact: Array, json: bool) -> Iterator[str]:
    for (a, b), guess, value in zip(pairs, estimated.tolist(), exact.tolist(), strict=True):
        if json:
            found = {"row": a, "other": b, "estimated": round(guess, 4), "exact": value}
            yield json_lines.dumps(found, ensure_ascii=False) + "\n"
        else:
            yield f"{cell(a)}\t{cell(b)}\t{guess:.4f}\t{value:.6g}\n"


def _neighbor_lines(row: Any, neighbors: list[Any], similarity: Any, why: str | None, json: bool) -> Iterator[str]:
    if json:
        reason = {} if why is None else {"reason": why}
        found = {"row": row, "neighbors": neighbors, "similarity": similarity} | reason
        yield json_lines.dumps(found, ensure_ascii=False) + "\n"
    else:
        yield from (f"{cell(row)}\t{cell(one)}\t{v:.6g}\n" for one, v in zip(neighbors, similarity, strict=True))


def _find_n_features(task: Build | Dedup) -> None:
    """Read LIBSVM text once to find the number of features, which an index needs before the first row."""
    if task.n_features is not None:
        return
    if not all(Path(path).is_file() for path in row_files(_inputs(task))):
        raise InputError(
            f"{task.input} is not a file that can be read twice, which an index needs to find the number of features: "
            "check the name, or pass --n-features. If it holds texts, pass --text FIELD or --format lines."
        )
    with open_input(_inputs(task), task) as stream:
        if stream.format != "libsvm":
            return
        task.n_features = max((rows.X.shape[1] for rows in stream), default=1)


def _names_of(task: Build | Dedup | Query, stream: Any) -> Callable[[Any], list[str] | None]:
    """Return a function from a block to the ids of its rows as text, if the command line names them."""
    if isinstance(stream, (TextRows, TextParts)):
        return lambda _: stream.names
    return RowColumns(stream, task).names


def _indexed(
    made: GCWSIndex, counted: CountedRows, task: Build | Dedup, recall: float | None, stream: Any = None
) -> GCWSIndex:
    """Return the index of all rows: fitted to the first block, tuned for it if a recall is given."""
    shingles = made.shingles
    fitted, room, names_of = False, memory_left(task), _names_of(task, stream)
    for block in counted:
        X, names = _rows_of(block, task.input), names_of(block)
        if not fitted:
            if recall is not None:
                made = made.tune(X, recall=recall, n_rows=counted.expected).set_params(shingles=shingles)
            made.fit(X, names=names)
        n = max(counted.expected, counted.rows)
        needed = 2 * int(made.nbytes_ * n / made.n_samples_fit_) + STEPS  # a merge holds the old and the new segment
        if needed > room:
            about = "" if n == counted.rows else "about "
            raise InputError(
                f"--memory {task.memory} is too small for an index of {about}{n:,} rows: pass --memory "
                f"{enough_memory(task, room, needed)} or more, or --codes-only to build."
            )
        if fitted:
            made.add(X, names=names)
        fitted = True
    if not fitted:
        raise InputError(f"{task.input} has no rows.")
    return made


def _rows_of(block: Any, name: str) -> Any:
    if isinstance(block.X, PackedCodes):
        raise InputError(f"{name} holds codes, but an index needs rows: pass the file that the codes were made from.")
    return block.X


def _with_width(made: GCWSIndex, X: Any, name: str) -> Any:
    """Give sparse rows the width of the index. Absent features are zeros; new ones count in the norm of a row."""
    if not sparse.issparse(X) or made.hasher_.center_ is not None:
        return X
    if X.shape[1] > made.n_features_in_:
        try:
            made.widen(X.shape[1])
        except InputError:
            raise InputError(
                f"{name} has {X.shape[1]:,} features, but the index has {made.n_features_in_:,} features of dense "
                "rows: check that the file belongs to the index."
            ) from None
    return widened(X, made.n_features_in_)
