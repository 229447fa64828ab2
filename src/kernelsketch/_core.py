"""The headers of ``native/core``: scalar arithmetic that native code, CUDA kernels and exported C programs share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_INSTALLED = Path(__file__).parent / "native"
INCLUDE = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[2] / "native"  # an editable install has a tree


def with_headers(name: str, folders: Sequence[Path] = (INCLUDE,), included: set[str] | None = None) -> str:
    """Return a source file as one text, with each header of the folders in place of its first ``#include``."""
    included = set() if included is None else included
    path = next(folder / name for folder in folders if (folder / name).is_file())
    text = []
    for line in path.read_text(encoding="utf-8").splitlines():
        header = re.fullmatch(r'#include "([\w/]+\.h)"', line)
        if header and any((folder / header[1]).is_file() for folder in folders):
            if header[1] not in included:
                included.add(header[1])
                text.append(with_headers(header[1], folders, included))
        elif line != "#pragma once":
            text.append(line)
    return "\n".join(text)
