"""An index in a safetensors file: one segment, its vectors, and what the hash depends on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._tensors import Declared, keep_text, map_tensors, read_tensors, text_of, write_tensors
from .._validation import check_power
from ..backends import HASH_VERSION, MOST_CODES, MOST_HASHES_PER_TABLE, Postings, Segment, Vectors
from ..exceptions import InputError
from ..hashing import checked_hasher
from . import _segments
from ._vectors import Kept

Array = NDArray[Any]

FORMAT = "kernelsketch.GCWSIndex"
FORMAT_VERSION = 1

# Types and sides of each tensor; sides of one name have one size.
TENSORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "codes": ("u1", ("rows", "codes")),
    "flags": ("u1", ("rows",)),
    "ids": ("i8", ("rows",)),
    "table_rows": ("u4", ("tables", "live")),
    "table_starts": ("u4", ("tables", "directory")),
    "norms": ("f8", ("rows",)),
    "bytes": ("u1", ("rows", "features")),
    "dense": ("f4", ("rows", "features")),
    "indptr": ("i8", ("rows + 1",)),
    "indices": ("i4 i8", ("values",)),
    "data": ("f4", ("values",)),
    "posting_directory": ("u4", ("groups",)),
    "posting_keys": ("i8", ("keys",)),
    "posting_starts": ("i8", ("keys + 1",)),
    "posting_entries": ("u4", ("entries", "row and value")),
    "center": ("f8", ("features",)),
    "feature_names": ("u1", ("letters",)),
    "feature_names_ends": ("i8", ("features",)),
}
NEEDED = {"codes", "flags", "ids", "table_rows", "table_starts"}
VECTORS: tuple[set[str], ...] = ({"norms", "bytes"}, {"norms", "dense"}, {"norms", "indptr", "indices", "data"}, set())
POSTINGS = {f"posting_{name}" for name in Postings._fields}
SETTINGS = ("n_neighbors", "n_tables", "depth", "mass", "complete", "n_jobs")


def save_index(index: Any, path: Path) -> None:
    tables, band, mass = index._layout
    s = _segments.whole(index._segments, index._layout)
    tensors = {"codes": s.codes, "flags": s.flags, "ids": s.ids, "table_rows": s.rows, "table_starts": s.starts}
    if s.vectors is not None:
        parts = s.vectors._asdict()
        tensors |= {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    if s.postings is not None:
        tensors |= {f"posting_{name}": part for name, part in s.postings._asdict().items()}
    if index._hasher.center is not None:
        tensors["center"] = index._hasher.center
    if hasattr(index, "feature_names_in_"):
        keep_text(index.feature_names_in_, "feature_names", tensors)
    kept = index._kept
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "hash_version": HASH_VERSION,
        "seed": index._hasher.seed,
        "p": index._hasher.p,
        "n_features": int(index.n_features_in_),
        "band": band,
        "tables": tables,
        "mass": mass,
        "n_components": int(index.n_components) if mass else int(s.codes.shape[1]),
        "kept": None if kept is None else {"exponent": kept.exponent, "sparse": kept.sparse},
        "settings": {name: _plain(getattr(index, name)) for name in SETTINGS},
    }
    write_tensors(path, header | {"digest": _digest(header)}, tensors)


def load_index(cls: Any, path: Path, mmap: bool) -> Any:
    def check(header: dict[str, Any], declared: dict[str, Declared]) -> None:
        check_layout(str(path), header, declared)

    try:
        if mmap:
            header, tensors = map_tensors(path, check)
        else:
            with path.open("rb") as file:
                header, tensors = read_tensors(file, str(path), check)
        return _restore(cls, header, tensors, str(path))
    except (InputError, OSError):
        raise
    except Exception as error:  # whatever a damaged or hostile file makes the readers say
        raise InputError(f"{path} cannot be read as an index: {type(error).__name__}: {error}") from error


def check_layout(path: str, header: dict[str, Any], declared: dict[str, Declared]) -> None:
    """Refuse a file whose header or tensors are not those of an index."""
    if header.get("format") != FORMAT:
        raise InputError(f"{path} holds no index: its header does not name {FORMAT}.")
    if header["format_version"] > FORMAT_VERSION or header["hash_version"] > HASH_VERSION:
        raise InputError(f"{path} was written by a newer kernelsketch: update to read it.")
    content = {name: value for name, value in header.items() if name not in ("sha256", "digest")}
    if header.get("digest") != _digest(content):
        raise InputError(f"{path} is damaged: its header is not the one that was written.")
    mass = header.get("mass", 0.0)  # earlier files have none
    found = set(declared) & set().union(*VECTORS)
    names = {"feature_names", "feature_names_ends"}
    needed = NEEDED | POSTINGS if mass else NEEDED
    wrong = sorted((needed - set(declared)) | (set(declared) - set(TENSORS)) | (POSTINGS & set(declared)) - needed)
    if found not in VECTORS or len(names & set(declared)) == 1 or bool(found) != (header["kept"] is not None):
        wrong.append("a vector")
    sides = {"features": header["n_features"], "tables": header["tables"]}
    for name, (dtype, shape) in declared.items():
        dtypes, names_of_sides = TENSORS.get(name, ("", ()))
        fits = dtype.str[1:] in dtypes.split() and len(shape) == len(names_of_sides)
        if not fits or any(sides.setdefault(a, b) != b for a, b in zip(names_of_sides, shape, strict=True)):
            wrong.append(name)
    buckets = sides.get("directory", 0) - 1
    if (
        wrong
        or not 1 <= sides["codes"] <= MOST_CODES
        or not 1 <= header["band"] <= MOST_HASHES_PER_TABLE
        or header["band"] * header["tables"] > sides["codes"]
        or sides["live"] > sides["rows"]
        or (header["tables"] and buckets != 1 << _segments.directory_bits(sides["live"]))
        or sides.get("rows + 1", sides["rows"] + 1) != sides["rows"] + 1
        or not 0 <= mass <= 1
        or (mass and not (sides["keys"] + 1 == sides["keys + 1"] and sides["row and value"] == 2))
        or (mass and (sides["groups"] < 2 or "indptr" not in found))
    ):
        what = wrong[0] if wrong else "a tensor"
        raise InputError(f"{path} is damaged: {what} is missing, unknown or of the wrong type or shape.")


def _restore(cls: Any, header: dict[str, Any], tensors: dict[str, Array], path: str) -> Any:
    codes, kept = tensors["codes"], header["kept"]
    center = tensors.get("center")
    p, seed, mass = check_power(header["p"]), header["seed"], float(header.get("mass", 0.0))
    index = cls(
        **header["settings"],
        band=header["band"],
        n_components=header.get("n_components", codes.shape[1]),
        store_vectors=kept is not None,
        p=p,
        center=center,
        random_state=seed,
    )
    index._validate_params()
    index._hasher = checked_hasher(n_components=codes.shape[1], p=p, center=center, seed=seed)
    index.n_features_in_ = header["n_features"]
    if "feature_names" in tensors:
        index.feature_names_in_ = np.array(text_of(tensors, "feature_names"), dtype=object)
    index._kept = None if kept is None else Kept(center, p, int(kept["exponent"]), bool(kept["sparse"]))
    index._layout = _segments.Layout(header["tables"], header["band"], mass)
    vectors = None
    if kept is not None:
        if kept["sparse"] != ("indptr" in tensors):
            raise InputError(f"{path} is damaged: its vectors are not those that its header names.")
        parts = {name: tensors[name] for name in Vectors._fields if name in tensors}
        vectors = Vectors(**parts, n_features=header["n_features"] if kept["sparse"] else 0)
    tables = tensors["table_rows"], tensors["table_starts"]
    postings = Postings(*(tensors[f"posting_{name}"] for name in Postings._fields)) if mass else None
    index._segments = [Segment(codes, tensors["flags"], tensors["ids"], *tables, vectors, postings)]
    index._n_rows = len(codes)  # none of which is removed: nothing is read
    return index


def _digest(header: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
