"""The machine of a measurement."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    cpu = next((x.split(":")[1].strip() for x in lines_of("/proc/cpuinfo") if x.startswith("model name")), "unknown")
    from kernelsketch.backends import backend_for

    return {
        "cpu": cpu,
        "cores": len(affinity()),
        "instruction_set": backend_for().name,
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
        **{name: version(name) for name in ("kernelsketch", "numpy", "scipy", "scikit-learn")},
    }


def affinity() -> Any:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


def lines_of(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    except OSError:  # no git on this machine
        return "unknown"
    return found.stdout.strip() or "unknown"
