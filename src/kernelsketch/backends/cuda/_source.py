"""The sources of the kernels: one ``.cu`` file per concept, with its headers written into it.

NVRTC gets one text without includes, so that CuPy's cache of compiled kernels notices every change of a header.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ..._core import INCLUDE, with_headers
from ..._losses import LOSS_TABLE, LOSSES

FOLDER = Path(__file__).parent
# No product and sum may be contracted: results equal those of the reference bit for bit. Functions without an
# annotation, such as generic lambdas, are for the GPU.
OPTIONS = ("--std=c++17", "--fmad=false", "--device-as-default-execution-space")


def options_for(shared_kib: int) -> tuple[str, ...]:
    """Return the options of the compiler for a GPU with so many kibibytes of shared memory per block."""
    return (*OPTIONS, f"-DKS_SHARED_KIB={shared_kib}")


@cache
def kernel_losses() -> tuple[str, ...]:
    """Return the names of the losses that kernels know, in the order of their numbers there."""
    text = (INCLUDE / "core/losses.h").read_text(encoding="utf-8")
    return tuple(re.findall(r"^  LOSS\((\w+), ", text, re.MULTILINE))


def check_loss(number: int, *, smooth: bool = False) -> None:
    """Refuse a loss that kernels do not know, or with ``smooth`` one that Newton's method cannot learn with."""
    if not 0 <= number < len(LOSSES) or kernel_losses()[number : number + 1] != LOSSES[number : number + 1]:
        raise ValueError(f"loss: unknown number {number}")
    if smooth and not LOSS_TABLE[number].is_smooth:
        raise ValueError("loss: not smooth")


@cache
def source_of(concept: str) -> str:
    """Return the source of a concept's kernels as one text."""
    return with_headers(f"{concept}.cu", (FOLDER, INCLUDE))
