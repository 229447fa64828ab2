"""The machine of a measurement."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    cpu = next((x.split(":")[1].strip() for x in lines_of("/proc/cpuinfo") if x.startswith("model name")), "unknown")
    return {
        "cpu": cpu,
        "cores": len(affinity()),
        "instruction_set": instruction_set(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
        **{name: installed(name) for name in ("kernelsketch", "numpy", "scipy", "scikit-learn")},
    }


def installed(name: str) -> str:
    """Return the version of a package; a machine that measures peers alone does not have this library."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def instruction_set() -> str:
    try:
        from kernelsketch.backends import backend_for
    except ImportError:
        return "unknown"
    return backend_for().name


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
