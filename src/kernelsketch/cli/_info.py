"""``kernelsketch info``: what a file is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse

from ..hashing import CODES_FORMAT, load_codes
from ..linear import load_model
from ..neighbors import INDEX_FORMAT, GCWSIndex
from ..storage import read_header
from ._groups import grouped
from ._options import Input, Json, Reading, Running, open_input
from ._output import bytes_text, label_value, labels_text, tell, tell_json
from ._progress import Counted, Meter

MOST_LABELS = 1000


@grouped
def info(
    input: Input,
    reading: Reading,
    running: Running,
    scan: Annotated[bool, typer.Option("--scan", help="Read all rows, and count them.")] = False,
    json: Json = False,
) -> None:
    """Say what a file is: a model, packed codes, an index, or rows in any format.

    The first three are checked to the last byte. Of rows the first are read; all of them with --scan, which also finds
    the first line that cannot be read.
    """
    kind = _kind(input)
    readers = {"model": _model, "codes": _codes, "index": _index}
    facts = readers[kind](Path(input)) if kind in readers else _rows(input, reading, running, scan)
    if input != "-" and Path(input).is_file():
        facts["bytes"] = os.stat(input).st_size
    if json:
        tell_json(facts)
    else:
        tell({name.replace("_", " "): _text(name, value) for name, value in facts.items() if value is not None})


def _kind(path: str) -> str:
    """By the header, where it is ours."""
    if not path.endswith(".safetensors"):
        return "rows"
    found = read_header(Path(path))
    return {CODES_FORMAT: "codes", INDEX_FORMAT: "index"}.get(str(found.get("format")), "model")


def _model(path: Path) -> dict[str, Any]:
    model = load_model(path)
    hasher = model.hasher_
    gap = getattr(model, "dual_gap_", None)
    return {
        "kind": f"model ({type(model).__name__})",
        "n_features": int(model.n_features_in_),
        "feature_names": list(getattr(model, "feature_names_in_", [])) or None,
        "classes": [label_value(label) for label in model.classes_.tolist()] if hasattr(model, "classes_") else None,
        **_hash(hasher, hasher.seed_, hasher.center_ is not None),
        "C": float(getattr(model, "C_", None) or model.C),
        "loss": model.loss,
        "passes": int(model.n_iter_),
        "gap": None if gap is None else float(np.max(gap / np.maximum(model.objective_, np.finfo(float).tiny))),
        "weights": int(np.prod(model._w.shape[:2]) * len(model.alphabet_)),
        "versions": read_header(path)["versions"],
    }


def _index(path: Path) -> dict[str, Any]:
    index = GCWSIndex.load(path)
    hasher = index.hasher_
    return {
        "kind": "index",
        "rows": index.n_samples_fit_,
        "n_features": int(index.n_features_in_),
        "feature_names": list(getattr(index, "feature_names_in_", [])) or None,
        "n_tables": None if index.mass else index.n_tables,
        "mass": index.mass,
        "band": None if index.mass else index.band,
        "n_components": None if index.mass else int(hasher.n_components),
        "depth": index.depth,
        "n_neighbors": index.n_neighbors,
        "rows_are_kept": "yes" if index.store_vectors else "no",
        "p": float(hasher.p),
        "seed": hasher.seed_,
        "bytes_a_row": round(index.bytes_per_row_, 1),
    }


def _codes(path: Path) -> dict[str, Any]:
    codes = load_codes(path, mmap=True, verify=True)
    return {
        "kind": "codes",
        "rows": len(codes.empty),
        "empty_rows": int(codes.empty.sum()),
        "n_features": codes.n_features,
        **_hash(codes.hasher, codes.hasher.seed, codes.hasher.center is not None),
        "bytes_a_row": codes.packed.shape[1],
    }


def _hash(hashed: Any, seed: int, center: bool) -> dict[str, Any]:
    names = ("n_components", "bits", "t_bits")
    return {
        **{name: int(getattr(hashed, name)) for name in names},
        "p": float(hashed.p),
        "gamma": hashed.gamma,
        "center": "yes" if center else None,
        "seed": seed,
    }


def _rows(path: str, reading: Reading, running: Running, scan: bool) -> dict[str, Any]:
    counts: dict[Any, int] = {}
    nonzeros, is_sparse = 0, False
    with Meter("reading", running.quiet) as meter, open_input(path, reading, running) as stream:
        counted = Counted(stream, meter)
        for rows in counted:
            is_sparse = sparse.issparse(rows.X)
            nonzeros += int(np.count_nonzero(rows.X.data if is_sparse else rows.X))
            if rows.y is not None and len(counts) <= MOST_LABELS:
                for label, count in zip(*np.unique(rows.y, return_counts=True), strict=True):
                    counts[label_value(label.item())] = counts.get(label_value(label.item()), 0) + int(count)
            if not scan:
                break
    whole = scan or stream.fraction == 1
    return {
        "kind": f"rows ({stream.format}, {'sparse' if is_sparse else 'dense'})",
        "rows": counted.rows if whole else stream.n_rows,
        "rows_read": None if whole else counted.rows,
        "n_features": counted.n_features,
        "feature_names": None if stream.feature_names is None else list(stream.feature_names),
        "nonzeros_a_row": nonzeros / max(1, counted.rows),
        "labels": None if not counts or len(counts) > MOST_LABELS else counts,
        "distinct_labels": f"more than {MOST_LABELS}" if len(counts) > MOST_LABELS else None,
    }


def _text(name: str, value: Any) -> str:
    if name == "bytes":
        return bytes_text(value)
    if name == "classes":
        return labels_text(value)
    if name == "gap":
        return f"{value:.1e} of the objective"
    if isinstance(value, dict):
        shown = list(value.items())[:8]
        return ", ".join(f"{key}: {part}" for key, part in shown) + (", ..." if len(value) > 8 else "")
    if isinstance(value, list):
        return f"{', '.join(map(str, value[:8]))}{', ...' if len(value) > 8 else ''}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
