"""``python benchmarks/run.py [AREA ...]``: run the benchmarks and write ``results/AREA.csv``.

An area is a file ``bench_AREA.py`` with a function ``problems()``, or with a function ``main()`` that does it all.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from harness import run_area
from rich.console import Console

FOLDER = Path(__file__).parent


def main() -> None:
    known = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))
    wanted = sys.argv[1:] or known
    for area in wanted:
        if area not in known:
            sys.exit(f"no benchmark {area!r}: there are {', '.join(known)}")
    for area in wanted:
        module = importlib.import_module(f"bench_{area}")
        if hasattr(module, "main"):
            module.main()
        else:
            run_area(area, module.problems(), Console())


if __name__ == "__main__":
    main()
