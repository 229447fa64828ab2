"""Index files: their schema, and the conversion between a fitted index and a file.

A file holds one segment: the codes and LSH tables of its rows, or the inverted lists of their features, and the rows
themselves where the index re-ranks candidates by them. ``_folder.py`` makes an index of several such files.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .._hash_parameters import checked_hasher
from ..backends import (
    HASH_VERSION,
    MOST_CODES,
    MOST_HASHES_PER_TABLE,
    SHINGLE_VERSION,
    Graph,
    Postings,
    Segment,
    Vectors,
)
from ..exceptions import InputError
from ..hashing import HASH_FIELDS, HASH_TENSORS
from ..storage import OPTIONAL, Field, Rule, Schema, Tensor, Tensors, Text, When, With, load_file, save_file
from ..text import DocumentFrequencies, Shingles
from . import _segments
from ._graph import MOST_LINKS, MOST_ZERO
from ._vectors import VectorTransform

INDEX_FORMAT = "kernelsketch.GCWSIndex"
# Parameters that may change after fit.
SETTINGS = ("n_neighbors", "n_tables", "n_rerank", "heavy_fraction", "fill_missing", "n_jobs")
ROWS = ("codes", "flags", "ids", "table_rows", "table_starts")  # tensors of any segment
GRAPH = "graph_"
POSTING = "posting_"  # begins the names of tensors of inverted lists

_VECTORS, _SPARSE, _LISTS = When("vectors"), When("vectors", ("sparse",)), When("heavy_fraction")
_GRAPH = When("graph.degree")


def _degree(header: Any) -> int:
    return int(header["graph"]["degree"]) if "graph" in header else 0


def _directory_fits(header: Any, sizes: Any) -> bool:
    return header["tables"] == 0 or bool(sizes["directory"] == 1 << _segments.directory_bits(sizes["live rows"]))


INDEX_SCHEMA = Schema(
    kind="an index",
    format=INDEX_FORMAT,
    version=1,
    fields={
        "hash": Field(
            dict,
            fields={name: HASH_FIELDS[name] for name in ("version", "seed", "p", "n_features")}
            | {"n_components": Field(int, 1, MOST_CODES)},
        ),
        "tables": Field(int, 0, MOST_CODES),
        "hashes_per_table": Field(int, 1, MOST_HASHES_PER_TABLE),
        "heavy_fraction": Field(float, above=0, most=1, nullable=True),  # null: LSH tables
        "graph": Field(
            dict,
            required=False,
            fields={
                "degree": Field(int, 2, MOST_LINKS),
                "rounded": Field(bool),  # whether rows are compared as bytes that are not those of the vectors
                "zero": Field(int, -MOST_ZERO, MOST_ZERO),  # floats are compared as bytes: round(x * scale) + zero
                "scale": Field(float, above=0),
            },
        ),
        "vectors": Field(str, choices=("bytes", "dense", "sparse"), nullable=True),  # null: codes only
        "exponent": Field(int, -2000, 2000),  # the stored vectors are the rows divided by two to this power
        "parameters": Field(dict),  # of the estimator
        "shingles": Field(dict, required=False),  # how texts become rows: the parameters of Shingles, and its version
    },
    tensors={
        "codes": Tensor("u1", ("rows", "n_components")),
        "flags": Tensor("u1", ("rows",)),
        "ids": Tensor("i8", ("rows",)),
        "table_rows": Tensor("u4", ("tables", "live rows")),
        "table_starts": Tensor("u4", ("tables", "directory + 1")),
        "norms": Tensor("f8", ("rows",), _VECTORS),
        "bytes": Tensor("u1", ("rows", "features"), When("vectors", ("bytes",))),
        "dense": Tensor("f4", ("rows", "features"), When("vectors", ("dense",))),
        "indptr": Tensor("i8", ("rows + 1",), _SPARSE),
        "indices": Tensor("i4 i8", ("values",), _SPARSE),
        "data": Tensor("f4", ("values",), _SPARSE),
        POSTING + "directory": Tensor("u4", ("groups",), _LISTS),
        POSTING + "keys": Tensor("i8", ("keys",), _LISTS),
        POSTING + "starts": Tensor("i8", ("keys + 1",), _LISTS),
        POSTING + "entries": Tensor("u4", ("entries", 2), _LISTS),  # row and value
        GRAPH + "links": Tensor("u4", ("rows", "degree"), _GRAPH),
        GRAPH + "entries": Tensor("u4", ("entry rows",), _GRAPH),
        GRAPH + "norms": Tensor("f4", ("rows",), _GRAPH),
        GRAPH + "bytes": Tensor("u1", ("rows", "features"), When("graph.rounded", (True,))),
        "center": HASH_TENSORS["center"],
        "feature_names": Text("features"),
        "row_names": Text("rows"),
        "frequent_features": Tensor("i8", ("frequencies",), OPTIONAL),  # of texts, for weight="idf"
        "frequent_counts": Tensor("i8", ("frequencies",), With("frequent_features")),
    },
    sizes={"n_components": "hash.n_components", "features": "hash.n_features", "tables": "tables", "degree": _degree},
    rules=(
        Rule(
            "its tables use more hashes than it has codes per row",
            lambda header, sizes: header["hashes_per_table"] * header["tables"] <= sizes["n_components"],
        ),
        Rule("table_rows has more rows than codes has", lambda _, sizes: sizes["live rows"] <= sizes["rows"]),
        Rule("table_starts does not have the size of a directory of its rows", _directory_fits),
        Rule("posting_directory has fewer than 2 values", lambda _, sizes: sizes.get("groups", 2) >= 2),
        Rule(
            "inverted lists need sparse vectors",
            lambda header, _: header["heavy_fraction"] is None or header["vectors"] == "sparse",
        ),
        Rule(
            "a graph needs the bytes of dense vectors",
            lambda header, _: (
                not _degree(header) or header["vectors"] == ("dense" if header["graph"]["rounded"] else "bytes")
            ),
        ),
    ),
)


def save_index(index: Any, path: Any) -> None:
    """Write a fitted index atomically to a file, as one segment without its removed rows."""
    if Path(path).is_dir() or os.fspath(path).endswith(("/", os.sep)):
        raise IsADirectoryError(errno.EISDIR, "It is a folder: call save_folder to save the index there", str(path))
    save_file(Path(path), INDEX_SCHEMA, *index_parts(index, _segments.whole(index._segments, index._layout)))


def index_parts(index: Any, segment: Segment) -> tuple[dict[str, Any], Tensors]:
    """Return the header and the tensors of a file that holds an index with this segment."""
    n_tables, hashes_per_table, heavy_fraction, graph_degree = index._layout
    tensors: Tensors = dict(zip(ROWS, segment, strict=False))
    if segment.vectors is not None:
        parts = segment.vectors._asdict()
        tensors |= {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    if segment.postings is not None:
        tensors |= {POSTING + name: part for name, part in segment.postings._asdict().items()}
    if segment.graph is not None:
        tensors |= {
            GRAPH + name: part for name, part in segment.graph._asdict().items() if isinstance(part, np.ndarray)
        }
    if segment.names is not None:
        tensors["row_names"] = segment.names
    hasher = index._hasher
    if hasher.center is not None:
        tensors["center"] = hasher.center
    if hasattr(index, "feature_names_in_"):
        tensors["feature_names"] = index.feature_names_in_
    n_codes = int(segment.codes.shape[1])
    stored = {"version": HASH_VERSION, "seed": hasher.seed, "p": hasher.p, "n_features": int(index.n_features_in_)}
    parameters = {name: getattr(index, name) for name in SETTINGS}
    parameters["n_components"] = int(index.n_components) if heavy_fraction or graph_degree else n_codes
    header = {
        "hash": stored | {"n_components": n_codes},
        "tables": n_tables,
        "hashes_per_table": hashes_per_table,
        "heavy_fraction": heavy_fraction or None,
        "vectors": _kind_of(segment.vectors),
        "exponent": 0 if index._vector_transform is None else index._vector_transform.exponent,
        "parameters": {
            name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()
        },
    }
    if segment.graph is not None:
        header["graph"] = {
            "degree": graph_degree,
            "rounded": segment.graph.bytes is not None,
            "zero": segment.graph.zero,
            "scale": segment.graph.scale,
        }
    if index.shingles is not None:
        shingles = index._shingles
        header["shingles"] = {**shingles.get_params(), "version": SHINGLE_VERSION, "n_jobs": None}
        if hasattr(shingles, "frequencies_"):
            count, tensors["frequent_features"], tensors["frequent_counts"] = shingles.frequencies_
            header["shingles"]["n_documents"] = count
    return header, tensors


def load_index(cls: Any, path: Path, mmap: bool) -> Any:
    """Read an index, or map its file: queries then read what they need, and the tensors are not checksummed."""
    return load_file(path, INDEX_SCHEMA, lambda header, tensors: restored(cls, header, tensors), mmap=mmap)


def restored(cls: Any, header: dict[str, Any], tensors: Tensors) -> Any:
    """Return the index of a file."""
    stored, kind, center = header["hash"], header["vectors"], tensors.get("center")
    hashes_per_table, heavy_fraction = header["hashes_per_table"], float(header["heavy_fraction"] or 0)
    hasher: dict[str, Any] = {"p": float(stored["p"]), "center": center}
    index = cls(
        **header["parameters"],
        **hasher,
        hashes_per_table=hashes_per_table,
        graph_degree=_degree(header) or None,
        store_vectors=kind is not None,
        random_state=stored["seed"],
    )
    index._validate_params()
    transform = None
    if kind is not None:
        transform = VectorTransform(center, hasher["p"], header["exponent"], kind == "sparse")
    learned: dict[str, Any] = {
        "n_features_in_": stored["n_features"],
        "_hasher": checked_hasher(n_components=stored["n_components"], seed=stored["seed"], **hasher),
        "_vector_transform": transform,
        "_layout": _segments.TableLayout(header["tables"], hashes_per_table, heavy_fraction, _degree(header)),
        "_segments": [segment_of(header, tensors)],
        "_n_rows": len(tensors["ids"]),  # a file has no removed rows: the flags of a mapped file need not be read
    }
    if "feature_names" in tensors:
        learned["feature_names_in_"] = np.array(tensors["feature_names"], dtype=object)
    if "shingles" in header:
        learned["_shingles"] = _restored_shingles(header["shingles"], tensors)
        learned["shingles"] = clone(learned["_shingles"])
    return index._snapshot(**learned)


def segment_of(header: dict[str, Any], tensors: Tensors) -> Segment:
    """Return the segment of a file."""
    vectors = postings = graph = None
    if header["vectors"] is not None:
        parts = {name: tensors[name] for name in Vectors._fields if name in tensors}
        vectors = Vectors(**parts, n_features=header["hash"]["n_features"] if header["vectors"] == "sparse" else 0)
    if header["heavy_fraction"]:
        postings = Postings(*(tensors[POSTING + name] for name in Postings._fields))
    if _degree(header):
        found = header["graph"]
        links, entries, norms = (tensors[GRAPH + name] for name in ("links", "entries", "norms"))
        graph = Graph(links, entries, norms, found["zero"], float(found["scale"]), tensors.get(GRAPH + "bytes"))
    codes, flags, ids, rows, starts = (tensors[name] for name in ROWS)
    names = np.array(tensors["row_names"], dtype=object) if "row_names" in tensors else None
    return Segment(codes, flags, ids, rows, starts, vectors, postings, names, graph)


def _restored_shingles(stored: dict[str, Any], tensors: Tensors) -> Shingles:
    """Return how texts become rows. Content that is not valid raises an error that names the file's damage."""
    parameters = dict(stored)
    version, count = parameters.pop("version", None), parameters.pop("n_documents", None)
    if version != SHINGLE_VERSION:
        raise InputError(
            f"its shingles have version {version}, but this kernelsketch has {SHINGLE_VERSION}: update it."
        )
    if isinstance(parameters.get("ngram_range"), list):
        parameters["ngram_range"] = tuple(parameters["ngram_range"])
    made = Shingles(**parameters)
    made.fit([])
    if made.weight == "idf":
        made.frequencies_ = DocumentFrequencies(
            int(count or 0), np.asarray(tensors["frequent_features"]), np.asarray(tensors["frequent_counts"])
        )
    return made


def _kind_of(vectors: Vectors | None) -> str | None:
    if vectors is None:
        return None
    return "sparse" if vectors.indptr is not None else "dense" if vectors.bytes is None else "bytes"
