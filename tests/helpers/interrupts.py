"""What Ctrl-C does to a call that takes long, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

LONGEST = 900  # seconds: what takes longer hangs, also on a machine that does much else
LITTLE = "interrupted after little work\n"
_PROGRAM = """
import os, signal, threading, time, numpy as np, kernelsketch
from scipy import sparse
signal.pthread_sigmask(signal.SIG_SETMASK, [])
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests without it
rng = np.random.default_rng(0)
{make}
begin = time.process_time()

def interrupt():
    while time.process_time() < begin + 0.7:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted after", "little" if time.process_time() < begin + 3 else "much", "work", flush=True)
    os._exit(0)  # without waiting for what a library still computes
"""


def after_ctrl_c(make: str, call: str) -> str:
    """Return LITTLE if Ctrl-C ends a call soon. The signal comes once the call has worked for some time.

    ``make`` and ``call`` are Python source; ``np``, ``sparse``, ``rng`` and ``kernelsketch`` are there. The call must
    take far longer than the seconds of the processor that are "little".
    """
    program = _PROGRAM.format(make=textwrap.dedent(make), call=call)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=LONGEST, env=environment
    )
    return found.stdout or found.stderr
