"""How much memory a call takes beyond its result, measured in a process of its own (Linux)."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

_PROGRAM = """
    import gc, re, numpy as np
    from scipy import sparse
    {imports}

    def status(key):
        return int(re.search(key + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024

    rng = np.random.default_rng(0)
    n = 5000

    def csr(d, row):
        indices = np.sort(rng.integers(0, d // row, (n, row)) + d // row * np.arange(row), axis=1)
        data = rng.random(n * row, dtype=np.float32)
        return sparse.csr_array((data, indices.ravel(), row * np.arange(n + 1)), (n, d))

    X = {make}
    {warm_up}  # loads what is loaded once
    gc.collect()
    open("/proc/self/clear_refs", "w").write("5")  # the peak starts from here
    before = status("VmRSS")
    result = {call}
    print(status("VmHWM") - before - result.nbytes / 2**20)
"""


def extra_memory(make: str, warm_up: str, call: str, imports: str) -> float:
    """MiB of ``call`` at its peak beyond the bytes of its result; Python source, on ``X = make``.

    ``make`` can use ``rng``, ``n`` = 5000 and ``csr(d, row)``, rows of ``row`` nonzeros.
    """
    program = textwrap.dedent(_PROGRAM).format(make=make, warm_up=warm_up, call=call, imports=imports)
    # By default glibc changes after the warm-up what it gives back to the system, and the peak then varies by 240 MiB.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment
    )
    if found.returncode:
        raise RuntimeError(found.stderr)
    return float(found.stdout)
