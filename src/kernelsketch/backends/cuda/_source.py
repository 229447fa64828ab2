"""The sources of the kernels: one ``.cu`` file per concept, with its headers written into it.

NVRTC gets one text without includes, so that CuPy's cache of compiled kernels notices every change of a header.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
CONCEPTS = ("codes", "descent", "fourier", "gcws", "gcws_bounds", "gmm", "index", "linear")
# No product and sum may be contracted: results equal those of the reference bit for bit.
OPTIONS = ("--std=c++17", "--fmad=false")


def options_for(shared_kib: int) -> tuple[str, ...]:
    """Return the options of the compiler for a card with so many kibibytes of shared memory per block."""
    return (*OPTIONS, f"-DKS_SHARED_KIB={shared_kib}")


@cache
def source_of(concept: str) -> str:
    """Return the source of a concept's kernels as one text."""
    return _with_headers(f"{concept}.cu", set())


def _with_headers(name: str, included: set[str]) -> str:
    text = []
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        header = re.fullmatch(r'#include "(\w+\.h)"', line)
        if line == "#pragma once" or (header and header[1] in included):
            continue
        if header and (FOLDER / header[1]).exists():
            included.add(header[1])
            text.append(_with_headers(header[1], included))
        else:
            text.append(line)
    return "\n".join(text)
