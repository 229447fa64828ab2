"""``kernelsketch index build | query | dedup``: near neighbours of the rows of files."""

from __future__ import annotations

import json as json_lines
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy import sparse

from .._validation import widened
from ..exceptions import InputError
from ..formats import RowBlock, open_text
from ..hashing import PackedCodes
from ..neighbors import GCWSIndex, find_copies, tables_for
from ..storage import check_target
from ._errors import UsageError
from ._groups import examples, grouped
from ._models import columns_of
from ._options import Input, Json, Reading, Running, open_input
from ._output import bytes_text, memory_left, size_of, tell, tell_json
from ._progress import Counted, Meter, duration

Array = NDArray[Any]
INDEX = "Index"
LINES = 10_000  # that are written at a time

index_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

IndexFile = Annotated[Path, typer.Option("--index", "-i", metavar="FILE", help="The index's file.", show_default=False)]
Power = Annotated[float, typer.Option("--p", "-p", help="Power of the min-max kernel.", rich_help_panel=INDEX)]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of the hash.", rich_help_panel=INDEX)]
Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="- is standard output; may end in .gz and the like.")
]


@index_app.callback()
def index() -> None:
    """Near neighbours under the GMM kernel (weighted Jaccard similarity, signs allowed), by hash tables."""


@index_app.command(
    epilog=examples(
        "kernelsketch index build news.svm.gz -i news.safetensors",
        "kernelsketch index build images.npy -i images.safetensors --recall 0.95 --n-neighbors 10",
    )
)
@grouped
def build(
    *,
    input: Input,
    index: IndexFile,
    n_tables: Annotated[
        int, typer.Option("--n-tables", min=0, help="More find more; 0 scans all codes.", rich_help_panel=INDEX)
    ] = 32,
    band: Annotated[
        int,
        typer.Option("--band", min=1, max=8, help="Codes that must agree: more are stricter.", rich_help_panel=INDEX),
    ] = 4,
    n_components: Annotated[
        int, typer.Option("--n-components", "-k", min=1, help="Codes of a row, a byte each.", rich_help_panel=INDEX)
    ] = 128,
    mass: Annotated[
        float | None,
        typer.Option(
            "--mass",
            help="Sparse rows, without tables: found by the heaviest features, those that hold this part of a row.",
            show_default=False,
            rich_help_panel=INDEX,
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            "--recall",
            help="Choose all these by the first rows, so that this share of neighbours is found.",
            show_default=False,
            rich_help_panel=INDEX,
        ),
    ] = None,
    n_neighbors: Annotated[
        int, typer.Option("--n-neighbors", "-n", min=1, help="That queries will ask for.", rich_help_panel=INDEX)
    ] = 10,
    codes_only: Annotated[
        bool,
        typer.Option("--codes-only", help="Keep no rows: smaller; similarities are estimates.", rich_help_panel=INDEX),
    ] = False,
    p: Power = 1.0,
    seed: Seed = 0,
    reading: Reading,
    running: Running,
    json: Json = False,
) -> None:
    """Build an index of the rows of a file; they are numbered from 0.

    The index is built in memory and holds the rows, as bytes where they are small whole numbers, unless --codes-only.
    """
    if mass is not None and recall is not None:
        raise UsageError("--mass and --recall exclude each other: a recall chooses the mass, or tables.")
    if mass is not None and codes_only:
        raise UsageError("--mass and --codes-only exclude each other: features are those of rows that are kept.")
    made = GCWSIndex(
        n_neighbors,
        n_tables=n_tables,
        band=band,
        n_components=n_components,
        mass=_check_mass(mass),
        store_vectors=not codes_only,
        p=p,
        random_state=seed,
        n_jobs=running.threads,
    )
    check_target(index)
    _set_width(input, reading, running)
    with Meter("indexing", running.quiet) as meter, open_input(input, reading, running) as stream:
        counted = Counted(stream, meter)
        _fill(made, counted, input, running, recall)
        names = stream.feature_names
    if names is not None:
        made.feature_names_in_ = np.array(names, dtype=object)
    made.save(index)
    facts: dict[str, Any] = {
        "index": str(index),
        "bytes": index.stat().st_size,
        "rows": made.n_samples_fit_,
        "n_features": int(made.n_features_in_),
        "n_tables": None if made.mass else made.n_tables,
        "band": None if made.mass else made.band,
        "n_components": None if made.mass else int(made.hasher_.n_components),
        "mass": made.mass,
        "depth": made.depth,
        "bytes_a_row": made.bytes_per_row_,
        "expected": getattr(made, "tuning_", None),
        "seconds": meter.seconds,
    }
    if json:
        tell_json(facts)
        return
    by_tables = f"{made.n_tables} tables of {made.band} codes, {facts['n_components']} codes a row"
    lines = {
        "rows": f"{facts['rows']:,} of {facts['n_features']:,} features ({stream.format})",
        "found by": f"features that hold {made.mass:g} of a row" if made.mass else by_tables,
        "memory": f"{made.bytes_per_row_:.0f} bytes a row" + ("" if codes_only else ", and the rows"),
        "time": f"{duration(meter.seconds)}, {counted.rate:,.0f} rows a second",
        "index": f"{index}, {size_of(index)}",
    }
    if facts["expected"] is not None:
        found = facts["expected"]
        lines["expected"] = f"recall {found['recall']:.3f} ± {found['standard_error']:.3f}, from the first rows"
    tell(lines)


@index_app.command(
    epilog=examples(
        "kernelsketch index query new.svm -i news.safetensors -n 5",
        "kernelsketch index query new.svm -i news.safetensors --similarity 0.8 --json",
    )
)
@grouped
def query(
    *,
    input: Input,
    index: IndexFile,
    n_neighbors: Annotated[int | None, typer.Option("--n-neighbors", "-n", min=1, help="Of each row.")] = None,
    similarity: Annotated[
        float | None, typer.Option("--similarity", help="All of at least this similarity instead.", show_default=False)
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="Candidates that are compared exactly.", show_default=False)
    ] = None,
    n_tables: Annotated[
        int | None, typer.Option("--n-tables", min=0, help="Use the first ones only: faster.", show_default=False)
    ] = None,
    mass: Annotated[
        float | None, typer.Option("--mass", help="Less than the index has: faster.", show_default=False)
    ] = None,
    output: Output = "-",
    reading: Reading,
    running: Running,
    json: Annotated[bool, typer.Option("--json", help="An object a row.")] = False,
) -> None:
    """Find the nearest indexed rows of each row of a file.

    A line a neighbour, tab-separated: the number of the row, that of the neighbour, their similarity, which is exact
    unless the index was built with --codes-only. The index's file is mapped: what queries do not need is not read.
    """
    if similarity is not None and n_neighbors is not None:
        raise UsageError("--n-neighbors and --similarity exclude each other.")
    found = GCWSIndex.load(index, mmap=True)
    if n_tables is not None and found.mass:
        raise UsageError("--n-tables: this index has no tables, it was built with --mass.")
    changes = {"n_jobs": running.threads, "depth": depth, "n_tables": n_tables, "mass": _check_mass(mass)}
    found.set_params(**{name: value for name, value in changes.items() if value is not None})
    if n_neighbors is None and similarity is None:
        n_neighbors = min(found.n_neighbors, found.n_samples_fit_)
    meter = Meter("searching", running.quiet or (output == "-" and sys.stdout.isatty()))
    with meter, open_input(input, reading, running) as stream, open_text(output) as file:
        columns, counted = columns_of(found, stream), Counted(stream, meter)
        if hasattr(found, "feature_names_in_"):
            del found.feature_names_in_  # which have been looked at
        if not json:
            file.write(b"row\tneighbor\tsimilarity\n")
        for rows in counted:
            X = _as_wide(found, _checked(rows, input) if columns is None else rows.X[:, columns])
            if similarity is None:
                distances, ids = found.kneighbors(X, n_neighbors)
            else:
                distances, ids = found.radius_neighbors(X, similarity)
            first = counted.rows - X.shape[0]
            file.write("".join(_answer_lines(first, distances, ids, json)).encode())
    if output != "-":
        text = f"{counted.rows:,} rows in {duration(meter.seconds)}, {counted.rate:,.0f} a second"
        tell({"searched": text, "output": output}, to_stderr=True)


@index_app.command(
    epilog=examples(
        "kernelsketch index dedup news.svm.gz --threshold 0.9",
        "kernelsketch index dedup images.npy --threshold 0.7 --recall 0.99 -o pairs.tsv",
    )
)
@grouped
def dedup(
    *,
    input: Input,
    threshold: Annotated[float, typer.Option("--threshold", "-t", help="The least similarity of a pair.")] = 0.8,
    recall: Annotated[
        float, typer.Option("--recall", help="Of pairs at the threshold; more similar ones are found more often.")
    ] = 0.95,
    output: Output = "-",
    p: Power = 1.0,
    seed: Seed = 0,
    reading: Reading,
    running: Running,
    json: Annotated[bool, typer.Option("--json", help="An object a pair.")] = False,
) -> None:
    """Find pairs of rows of a file that are near duplicates.

    A line a pair, tab-separated: the numbers of the rows, counted from 0, their similarity as their codes estimate it,
    and the exact one, which is at least --threshold. A row that equals an earlier one is listed once, with the first
    that it equals.
    """
    if not 0 < threshold <= 1:
        raise UsageError(f"--threshold must be above 0 and at most 1, got {threshold:g}.")
    if not 0 < recall < 1:
        raise UsageError(f"--recall must be above 0 and below 1, got {recall:g}.")
    band, n_tables = tables_for(threshold, recall)
    made = GCWSIndex(n_tables=n_tables, band=band, p=p, random_state=seed, n_jobs=running.threads)
    _set_width(input, reading, running)
    with Meter("indexing", running.quiet) as meter:
        with open_input(input, reading, running) as stream:
            counted = Counted(stream, meter)
            _fill(made, counted, input, running, None)
        meter.begin("comparing")
        pairs, estimated, exact = _near_and_equal(made, threshold)
        with open_text(output) as file:
            if not json:
                file.write(b"row\tother\testimated\texact\n")
            for start in range(0, len(pairs), LINES):
                some = slice(start, start + LINES)
                file.write("".join(_pair_lines(pairs[some], estimated[some], exact[some], json)).encode())
    distinct = len(np.unique(pairs[:, 1]))
    facts = {
        "pairs": f"{len(pairs):,} of at least {threshold:g}",
        "rows": f"{counted.rows:,}, {distinct:,} of which repeat an earlier one",
        "time": f"{duration(meter.seconds)}, {n_tables} tables of {band} codes",
    }
    if not running.quiet:
        tell(facts, to_stderr=True)


def _near_and_equal(made: GCWSIndex, threshold: float) -> tuple[Array, Array, Array]:
    """Pairs with their estimated and exact similarities; those of equal rows with the first of them only."""
    equal = np.stack(find_copies(made), axis=1)
    if len(equal):
        made.remove(equal[:, 1])
    near, exact = made.query_pairs(threshold)
    pairs, ones = np.concatenate([near, equal]), np.ones(len(equal))
    order = np.lexsort(pairs.T[::-1])
    estimated = np.concatenate([made.estimate_pairs(near), ones])
    return pairs[order], estimated[order], np.concatenate([exact, ones])[order]


def _check_mass(mass: float | None) -> float | None:
    if mass is not None and not 0 < mass <= 1:
        raise UsageError(f"--mass must be above 0 and at most 1, got {mass:g}.")
    return mass


def _pair_lines(pairs: Array, estimated: Array, exact: Array, json: bool) -> Iterator[str]:
    for (a, b), guess, value in zip(pairs.tolist(), estimated.tolist(), exact.tolist(), strict=True):
        if json:
            yield json_lines.dumps({"row": a, "other": b, "estimated": round(guess, 4), "exact": value}) + "\n"
        else:
            yield f"{a}\t{b}\t{guess:.4f}\t{value:.6g}\n"


def _answer_lines(first: int, distances: Array, ids: Array, json: bool) -> Iterator[str]:
    for number, (away, there) in enumerate(zip(distances, ids, strict=True), first):
        kept = np.isfinite(away)
        found = list(zip(there[kept].tolist(), (1 - away[kept]).tolist(), strict=True))
        if json:
            one = {"row": number, "neighbors": [i for i, _ in found], "similarity": [s for _, s in found]}
            yield json_lines.dumps(one) + "\n"
            continue
        for neighbor, similarity in found:
            yield f"{number}\t{neighbor}\t{similarity:.6g}\n"


def _set_width(path: str, reading: Reading, running: Running) -> None:
    """LIBSVM text does not tell how many features there are, and an index wants to know: look."""
    if reading.n_features is not None:
        return
    if not Path(path).is_file():
        raise InputError(f"{path} can be read once only, and its width must be known before: pass --n-features.")
    with open_input(path, reading, running) as stream:
        if stream.format != "libsvm":
            return
        reading.n_features = max((rows.X.shape[1] for rows in stream), default=1)


def _fill(made: GCWSIndex, counted: Counted, name: str, running: Running, recall: float | None) -> None:
    fitted, room = False, memory_left(running)
    for rows in counted:
        X = _checked(rows, name)
        if not fitted:
            if recall is not None:
                made.tune(X, recall)
            made.fit(X)
            fitted = True
        else:
            made.add(X)
        if 2 * made.nbytes_ > room:  # tables are merged as they grow
            raise InputError(
                f"--memory {running.memory} is too small: the index takes {bytes_text(made.nbytes_)} after "
                f"{counted.rows:,} rows. Raise it, or pass --codes-only to build."
            )
    if not fitted:
        raise InputError(f"{name} has no rows.")


def _checked(rows: RowBlock, name: str) -> Any:
    if isinstance(rows.X, PackedCodes):
        raise InputError(f"{name} holds codes: an index is built from rows, and asked with rows.")
    return rows.X


def _as_wide(made: GCWSIndex, X: Any) -> Any:
    """Sparse rows of any width: features that are not there are zeros, and new ones count in the norm of a row."""
    if not sparse.issparse(X) or made.hasher_.center_ is not None:
        return X
    if X.shape[1] > made.n_features_in_:
        made.widen(X.shape[1])
    return widened(X, made.n_features_in_)
