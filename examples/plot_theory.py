"""
How many samples for an error of ten percent?
=============================================

The theorems in ``kernelsketch.theory`` predict how far an estimate is from its kernel. This example uses them to find
how many hashes or random features an estimate of a kernel value needs, and checks the answer with a short simulation.
"""

# %%
# The relative variance of one sample, Var / E\ :sup:`2`, divided by k is the squared relative error of k samples. So an
# error of 10 % needs a hundred times the relative variance as the number of samples.

import matplotlib.pyplot as plt
import numpy as np

from kernelsketch.theory import relative_variance, rff_mean
from kernelsketch_paper.simulations import simulate_fourier, simulate_gcws

METHODS = {"gcws": ("GCWS, of GMM", "#009E73"), "rff": ("RFF, of RBF", "#D55E00"), "nrff": ("NRFF, of RBF", "#0072B2")}
ERROR = 0.1
K = 256

fourier = simulate_fourier([(0.5, 4.0), (0.5, 1.0), (0.9, 1.0)], k_max=K, repetitions=1000)
hashed = simulate_gcws([0.1, 0.4, 0.8], k_max=K, repetitions=1000)
kernels = np.array([rff_mean(rho, gamma) for rho, gamma in fourier.panels])
simulated = {  # kernels, and the mean squared error that K samples had
    "gcws": (np.array(hashed.similarities), hashed.full.mse[:, -1]),
    "rff": (kernels, fourier.rff.mse[:, -1]),
    "nrff": (kernels, fourier.nrff.mse[:, -1]),
}

# %%
# For small kernel values, which most pairs of rows have, hashes need 1/E times fewer samples than random features do.
# For nearly equal rows, normalized features (NRFF) need the fewest samples; plain features (RFF) do not need fewer
# than fifty.

fig, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
kernel = np.geomspace(0.02, 0.99, 200)
for method, (label, color) in METHODS.items():
    ax.plot(kernel, relative_variance(method, kernel) / ERROR**2, "--", color=color, label=label)
    at, mse = simulated[method]
    needed = K * mse / at**2 / ERROR**2
    ax.plot(at, needed, "o", color=color)
    print(f"{label}:", ", ".join(f"E = {e:.2f} needs {k:.0f}" for e, k in zip(at, needed, strict=True)))
ax.plot([], [], "o", color="0.4", label="simulated")
ax.set_xscale("log")
ax.set_yscale("log")
ax.set_ylim(1, None)
ax.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], ["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
ax.set_xlabel("kernel value E")
ax.set_ylabel("samples for a relative error of 10 %")
ax.set_title("Small kernel values take many random features, fewer hashes")
ax.legend()
plt.show()
