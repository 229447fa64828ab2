"""
A million rows on a GPU
=======================

Rows are generated, hashed and learned on an NVIDIA GPU, and the same is done on the processor. A plot shows the time
against the number of rows. The codes are the same, and so is the duality gap at which learning stops.

This example needs CuPy and a GPU: ``pip install 'kernelsketch[gpu]'``.
"""

import sys
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from kernelsketch import GCWSClassifier, use_backend
from kernelsketch.exceptions import BackendError, MissingExtraError

try:
    with use_backend("cuda"):
        import cupy
except (BackendError, MissingExtraError) as error:
    sys.exit(str(error))

D, K = 28, 256
SIZES = (10_000, 100_000, 1_000_000)
rng = np.random.default_rng(0)
X = rng.standard_normal((max(SIZES), D), dtype=np.float32)
hidden = np.tanh(X @ rng.normal(size=(D, 8)).astype(np.float32)).sum(axis=1)
y = hidden + rng.normal(size=len(X)) > 0

# %%
# One call hashes and learns. The first one on the GPU also compiles the kernels.

model = GCWSClassifier(K, n_jobs=-1)
model.fit(cupy.asarray(X[:1000]), y[:1000])


def seconds(rows, labels):
    """Return the time of a fit, and the objective that it reached."""
    start = perf_counter()
    model.fit(rows, labels)
    cupy.cuda.Device().synchronize()
    return perf_counter() - start, float(model.objective_[0])


times = {"GPU": [], "processor": []}
for n in SIZES:
    on_card, objective = seconds(cupy.asarray(X[:n]), y[:n])
    on_processor, expected = seconds(X[:n], y[:n])
    times["GPU"].append(on_card)
    times["processor"].append(on_processor)
    print(f"{n:9,} rows: GPU {on_card:.2f} s, processor {on_processor:.2f} s, objectives {objective / expected:.4f}")

# %%
# Both axes are logarithmic.

for name, values in times.items():
    plt.loglog(SIZES, values, "o-", label=name)
plt.xlabel("rows")
plt.ylabel("seconds to hash and learn")
plt.legend()
plt.savefig("gpu_million_rows.png")
