"""Which format a file has: the ending of its name decides, otherwise its first bytes."""

from __future__ import annotations

import re

from ..exceptions import InputError, Setting
from ._encoding import check_marks
from ._lines import BOM
from ._source import Source

READABLE = ("libsvm", "csv", "tsv", "parquet", "arrow", "npy", "npz", "codes")
BY_ENDING = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
    ".safetensors": "codes",
}
_BY_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
}
_SAFETENSORS = re.compile(rb".{5}\0{3}\{[\s\"]", re.DOTALL)  # the length of a header of less than 1 TiB, and the header
JSON_START = re.compile(rb"(\xef\xbb\xbf)?\s*\[?\s*\{\s*(\"|\}\s*$)")  # an object, perhaps in a list
_PAIR = re.compile(rb"[ \t](qid|\d+):\S")


def format_of(source: Source) -> str:
    """Return the format. Names such as ``a9a`` and ``data.txt`` leave the decision to the first bytes."""
    found = BY_ENDING.get(source.suffix)
    if found in READABLE:
        return found
    for magic, format in _BY_MAGIC.items():
        if source.head.startswith(magic):
            return format
    if _SAFETENSORS.match(source.head):
        return "codes"
    if JSON_START.match(source.head):
        raise InputError(
            f"{source.name} holds JSON, which is read for its texts only: by kernelsketch dedup, and by kernelsketch "
            "index with --text. To use its fields as columns, store them as a table first, for example with "
            "pandas.read_json(name, lines=True).to_parquet('rows.parquet')."
        )
    check_marks(source.head, source.name)
    for line in source.head.removeprefix(BOM).splitlines():
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        if _PAIR.search(line):
            return "libsvm"
        if b"\t" in line or b"," in line:
            return "tsv" if line.count(b"\t") > line.count(b",") else "csv"
        break
    raise InputError(
        f"{source.name}: the format cannot be recognized by the name or by the first bytes. Pass ",
        Setting("format", ...),
        f" with one of {', '.join(READABLE)}.",
        parameter="format",
    )
