"""``make soak``: hours of random work against plain models of it.

``python tests/soak/run.py [--seconds 3600] [--seed N] [PART ...]`` gives each part the same share of the time. Every
round has a seed of its own, which the report of a failure names: ``--seed N PART`` runs it again. After that, broken
files meet the parsers under sanitizers, as in ``make fuzz`` (``--no-fuzz`` leaves it out).
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from soak._arithmetic import soak_backends, soak_statistics  # noqa: E402
from soak._files import soak_kills, soak_parsers  # noqa: E402
from soak._index import soak_index  # noqa: E402
from soak._learning import soak_codes, soak_models  # noqa: E402

PARTS: dict[str, Callable[[random.Random, Path], int]] = {
    "index": soak_index,
    "models": soak_models,
    "codes": soak_codes,
    "backends": soak_backends,
    "statistics": soak_statistics,
    "parsers": soak_parsers,
    "kills": soak_kills,
}
FUZZ_SHARE = 0.2  # of the time


def one_round(part: str, seed: int, folder: Path) -> int:
    """Run one round of a part; its count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PARTS[part](random.Random(seed), folder)


def soak(parts: list[str], seconds: float, seed: int) -> tuple[dict[str, list[int]], list[str]]:
    """Run rounds in turns; the number of rounds and the counts by part, and what failed."""
    end, rng = time.monotonic() + seconds, random.Random(seed)
    counts, spent = {part: [0, 0] for part in parts}, dict.fromkeys(parts, 0.0)
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            part = min(parts, key=spent.__getitem__)  # each gets the same time
            number, start = seed if counts[part][0] == 0 else rng.getrandbits(48), time.monotonic()
            try:
                counts[part][1] += one_round(part, number, Path(folder))
            except Exception:
                failures.append(f"{part}: --seed {number} {part} --seconds 0.001\n{traceback.format_exc()}")
                print(f"FAILED {failures[-1]}", flush=True)
            counts[part][0] += 1
            spent[part] += time.monotonic() - start
    return counts, failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="by default all")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=random.randrange(2**48))
    parser.add_argument("--no-fuzz", action="store_true")
    given = parser.parse_args()
    parts, fuzz = given.parts or list(PARTS), not (given.no_fuzz or given.parts)
    print(f"seed {given.seed}, {given.seconds:g} seconds for {', '.join(parts)}", flush=True)
    counts, failures = soak(parts, given.seconds * (1 - FUZZ_SHARE if fuzz else 1), given.seed)
    for part, (rounds, count) in counts.items():
        print(f"{part}: {rounds} rounds, {count} checks", flush=True)
    failed = bool(failures)
    if fuzz:
        command = [sys.executable, str(HERE.parent / "native" / "fuzz.py"), "--seed", str(given.seed % 2**32)]
        command += ["--seconds", str(given.seconds * FUZZ_SHARE)]
        failed |= bool(
            subprocess.run(command, env=os.environ | {"PYTHONPATH": str(HERE.parent)}, check=False).returncode
        )
    sys.exit(f"{len(failures)} rounds failed." if failed else None)


if __name__ == "__main__":
    main()
