"""``kernelsketch info``: describe files of every kind, and the installation."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ... import __version__
from ..._losses import loss_named
from ...backends import backend_for
from ...hashing import CODES_FORMAT, CODES_SCHEMA, load_codes
from ...neighbors import (
    INDEX_FORMAT,
    INDEX_SCHEMA,
    DocumentCollection,
    GCWSIndex,
    index_list,
    is_collection,
    shingles_of,
)
from ...serving import MODEL_SCHEMA
from ...storage import is_container, read_header
from ...tabular import TABULAR_SCHEMA, load_model, plan_column
from .._errors import UsageError
from .._file_versions import abilities, version_facts, version_lines
from .._label_facts import label_facts, label_lines
from .._options import open_input
from .._progress import CountedRows, ProgressMeter
from .._results import format_bytes, label_value, labels_text, print_facts, print_json
from .._table_facts import column_facts, important_columns, plan_facts, print_columns
from .._tables import joined_table
from ..commands.info import Info
from .index import index_facts

MOST_LABELS = 1000
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyarrow", "pyspark", "kernelsketch-paper")


def describe(task: Info) -> None:
    if task.input is None:
        _describe_installation(task.json)
    else:
        _describe_file(task.input, task)


def _describe_installation(json: bool) -> None:
    facts = {
        "kernelsketch": __version__,
        "instruction_set": backend_for().name,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        **{name: _version(name) for name in LIBRARIES},
    }
    if json:
        print_json(facts)
    else:
        print_facts({name.replace("_", " "): str(value or "not installed") for name, value in facts.items()})


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _describe_file(input: str, task: Info) -> None:
    kind = _kind(input)
    readers = {"model": _model, "codes": _codes, "index": _index, "collection": _collection}
    if task.upgrade is not None:
        _upgrade(kind, Path(input), Path(task.upgrade))
    if kind in readers:
        with ProgressMeter("checking", task.quiet):
            facts = readers[kind](Path(input))
    else:
        facts = _rows(input, task)
    if input != "-" and Path(input).is_file():
        facts["bytes"] = os.stat(input).st_size
    if task.json:
        print_json(facts)
    else:
        columns = facts.pop("columns", None)
        of_labels = label_lines(facts.pop("outputs", []))
        of_version = version_lines(facts, input, task.upgrade)
        shown = {
            _NAMES.get(name, name.replace("_", " ")): _text(name, value)
            for name, value in facts.items()
            if value is not None
        }
        shown |= of_labels | of_version
        if columns is None:
            print_facts(shown)
        else:
            important = {"important": important_columns(columns)} if "importance" in columns[0] else {}
            print_facts({**shown, **important})
            print_columns(columns)


_NAMES = {
    "bytes": "size",
    "n_features": "features",
    "n_components": "hashes per row",
    "views": "widths of views",
    "view_names": "views",
    "n_tables": "tables",
    "n_rerank": "candidates re-ranked",
    "n_neighbors": "neighbours per query",
}


def _upgrade(kind: str, path: Path, target: Path) -> None:
    """Write the content of a file as the current version does."""
    if kind in ("rows", "collection"):
        raise UsageError(
            f"--upgrade: {path} is no model, index or file of codes. Leave --upgrade out; kernelsketch convert writes "
            "rows in another format."
        )
    if kind == "codes":
        codes, labels, names = load_codes(path)
        codes.save(target, labels if names is None or labels is None else names[labels])
    elif kind == "index":
        GCWSIndex.load(path).save(target)
    else:
        load_model(path).save(target)


def _kind(path: str) -> str:
    """Return the kind of a file, by its header if it is one of ours, whatever its name is."""
    if os.path.isdir(path):  # of rows in parts, unless it is ours
        return "collection" if is_collection(path) else "rows" if index_list(Path(path)) is None else "index"
    if path == "-" or not (path.endswith(".safetensors") or is_container(Path(path))):
        return "rows"
    found = read_header(Path(path))
    return {CODES_FORMAT: "codes", INDEX_FORMAT: "index"}.get(str(found.get("format")), "model")


def _model(path: Path) -> dict[str, Any]:
    model = load_model(path)
    if getattr(model, "_has_several", False):
        return _several(model, read_header(path))
    header, inner = read_header(path), getattr(model, "model_", model)
    is_tabular = inner is not model
    hasher = inner.hasher_
    gap = getattr(inner, "dual_gap_", None)
    return {
        "kind": f"model ({type(model).__name__})",
        "n_features": int(model.n_features_in_),
        "feature_names": None if is_tabular else list(getattr(model, "feature_names_in_", [])) or None,
        "classes": [label_value(label) for label in model.classes_.tolist()] if hasattr(model, "classes_") else None,
        **(_tabular(model, header) if is_tabular else {}),
        **_hash(hasher, hasher.seed_, hasher.center_ is not None),
        "C": float(getattr(inner, "C_", None) or inner.C),
        "loss": getattr(model, "loss", inner.loss),  # a table of counts learns their logarithms by squared_error
        **_loss_parameter(inner),
        "passes": int(inner.n_iter_),
        "duality_gap": None if gap is None else float(np.max(gap / np.maximum(inner.objective_, np.finfo(float).tiny))),
        "weights": int(np.size(inner.intercept_)) * int(hasher.n_components) * len(inner.used_codes_),
        "trained_rows": inner.training_.rows,
        "can": abilities(model),
        "versions": header["versions"],
        **version_facts(header, TABULAR_SCHEMA if is_tabular else MODEL_SCHEMA),
        **({"columns": column_facts(model)} if is_tabular else {}),
    }


def _loss_parameter(model: Any) -> dict[str, Any]:
    name = loss_named(model.loss).parameter
    return {} if name is None else {name: float(getattr(model, name))}


def _tabular(model: Any, header: dict[str, Any]) -> dict[str, Any]:
    return {
        "effort": model.effort_["effort"],
        "view_names": header["views"].split(","),
        "trees_share": model.trees_share_,
        "held_out_metric": model.held_out_metric_,
        "held_out_score": model.held_out_score_,
        "held_out_error": model.held_out_error_ if np.isfinite(model.held_out_error_) else None,
    }


def _several(model: Any, header: dict[str, Any]) -> dict[str, Any]:
    """Return facts about a model of several labels."""
    outputs, is_classifier = model.estimators_, hasattr(model, "classes_")
    columns = [one.model_.fitted_.label_column for one in outputs]
    labels = range(len(outputs)) if None in columns else columns
    return {
        "kind": f"model ({type(model).__name__}) of {len(outputs)} labels",
        "n_features": int(model.n_features_in_),
        "effort": outputs[0].effort_["effort"],
        "trained_rows": outputs[0].model_.training_.rows,
        "can": ["predict", "predict --proba"] if is_classifier else ["predict"],
        "versions": header["output_0"]["versions"],
        "outputs": [label_facts(one, label) for one, label in zip(outputs, labels, strict=True)],
    }


def _index(path: Path) -> dict[str, Any]:
    index = GCWSIndex.load(path)
    return {
        "kind": "index" if index.shingles is None else "index of texts",
        "feature_names": list(getattr(index, "feature_names_in_", [])) or None,
        **index_facts(index),
        "stores_rows": "yes" if index.store_vectors else "no",
        "has_ids": None if index.shingles is None else "yes" if index.has_names_ else "no",
        "p": float(index.hasher_.p),
        "seed": index.hasher_.seed_,
        **version_facts(read_header(index_list(path) or path), INDEX_SCHEMA),
    }


def _collection(path: Path) -> dict[str, Any]:
    collection = DocumentCollection(path)
    shingles = shingles_of(collection)
    return {
        "kind": "collection of documents",
        "documents": len(collection),
        "threshold": collection.threshold,
        "analyzer": shingles["analyzer"],
        "ngram": shingles["n_max"],
        "weight": shingles["weight"],
        "normalize": shingles["normalize"],
    }


def _codes(path: Path) -> dict[str, Any]:
    codes, *_ = load_codes(path, mmap=True, verify=True)
    return {
        "kind": "codes",
        "rows": len(codes.empty),
        "empty_rows": int(codes.empty.sum()),
        "n_features": codes.n_features,
        **_hash(codes.hasher, codes.hasher.seed, codes.hasher.center is not None),
        "bytes_per_row": codes.packed.shape[1],
        **version_facts(read_header(path), CODES_SCHEMA),
    }


def _hash(hashed: Any, seed: int, center: bool) -> dict[str, Any]:
    names = ("n_components", "bits", "t_bits")
    return {
        **{name: int(getattr(hashed, name)) for name in names},
        "p": float(hashed.p),
        "gamma": hashed.gamma,
        "center": "yes" if center else None,
        "views": list(hashed.views or ()) or None,
        "seed": seed,
    }


def _rows(path: str, task: Info) -> dict[str, Any]:
    counts: dict[Any, int] = {}
    nonzeros, is_sparse, columns = 0, False, None
    with ProgressMeter("reading", task.quiet) as meter, open_input(path, task, as_table=True) as stream:
        counted = CountedRows(stream, meter)
        for rows in counted:
            if not stream.is_table:
                is_sparse = sparse.issparse(rows.X)
                nonzeros += int(np.count_nonzero(rows.X.data if is_sparse else rows.X))
            elif columns is None:
                plans = map(plan_column, joined_table([rows.X], stream.feature_names).columns)
                columns = [plan_facts(plan) for plan in plans]
            if rows.y is not None and len(counts) <= MOST_LABELS:
                for label, count in zip(*np.unique(rows.y, return_counts=True), strict=True):
                    counts[label_value(label.item())] = counts.get(label_value(label.item()), 0) + int(count)
            if not task.scan:
                break
        whole = task.scan or stream.fraction == 1  # of parts, only as long as they are open
    kind = f"table ({stream.format})" if stream.is_table else f"rows ({stream.format}, {_density(is_sparse)})"
    return {
        "kind": kind,
        "rows": counted.rows if whole else stream.n_rows,
        "rows_read": None if whole else counted.rows,
        "n_features": counted.n_features if counted.rows else stream.n_features or 0,
        "feature_names": None if columns or stream.feature_names is None else list(stream.feature_names),
        "nonzeros_per_row": None if stream.is_table else nonzeros / max(1, counted.rows),
        "labels": None if not counts or len(counts) > MOST_LABELS else counts,
        "distinct_labels": f"more than {MOST_LABELS}" if len(counts) > MOST_LABELS else None,
        **({"columns": columns} if columns else {}),
    }


def _density(is_sparse: bool) -> str:
    return "sparse" if is_sparse else "dense"


def _text(name: str, value: Any) -> str:
    if name == "bytes":
        return format_bytes(value)
    if name == "classes":
        return labels_text(value)
    if name == "duality_gap":
        return f"{value:.1e}, relative to the objective"
    if isinstance(value, dict):
        shown = list(value.items())[:8]
        return ", ".join(f"{key}: {part}" for key, part in shown) + (", ..." if len(value) > 8 else "")
    if isinstance(value, list):
        return f"{', '.join(map(str, value[:8]))}{', ...' if len(value) > 8 else ''}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
