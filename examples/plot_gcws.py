"""
How many hashes, of how many bits?
==================================

:class:`~kernelsketch.GCWS` turns a row into ``n_components`` small integers, such that two rows agree on as large a
share of them as their GMM kernel says. A linear model on these integers, as one-hot features, approximates a kernel
machine without a kernel matrix. How many hashes does it need, and how many bits of each?
"""

# %%
# The data are handwritten digits, half for training and half for testing. The results are means over three random
# halves. The linear model is ``LinearSVC`` with its default C, which suits rows of unit norm.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC

from kernelsketch import GCWS, gmm_kernel

X, y = load_digits(return_X_y=True)
SIZES = [16, 32, 64, 128, 256, 512, 1024]
BITS = {1: "#9ecae1", 2: "#4292c6", 4: "#08519c", 8: "tab:orange"}
SEEDS = range(3)


def accuracy(model, seed):
    """Return the test accuracy in percent on one random half."""
    halves = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    X_train, X_test, y_train, y_test = halves
    return 100 * model.fit(X_train, y_train).score(X_test, y_test)


def hashed(k, bits, seed):
    return make_pipeline(GCWS(k, bits=bits, random_state=seed), LinearSVC())


exact = np.mean([accuracy(SVC(kernel=gmm_kernel, C=10), seed) for seed in SEEDS])
on_pixels = make_pipeline(Normalizer(), LinearSVC(C=10))
linear = np.mean([accuracy(on_pixels, seed) for seed in SEEDS])

# %%
# The figure shows that 128 hashes of 4 bits (64 bytes per row) are level with the linear model on the 64 pixels, and
# that 1024 hashes of 8 bits come within one point of the exact kernel machine. Below 4 bits more hashes are needed,
# because codes also agree by chance: 512 hashes of 1 bit do about as well as 128 hashes of 4 bits.

fig, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
ax.axhline(exact, color="0.3", linestyle="--", label=f"exact GMM kernel, SVC: {exact:.1f} %")
for bits, color in reversed(BITS.items()):
    scores = np.array([[accuracy(hashed(k, bits, seed), seed) for k in SIZES] for seed in SEEDS])
    mean = scores.mean(axis=0)
    label = f"GCWS + LinearSVC, {bits} bit{'s' if bits > 1 else ''}"
    ax.errorbar(SIZES, mean, yerr=scores.std(axis=0, ddof=1), marker="o", capsize=3, color=color, label=label)
    print(f"bits={bits}:", ", ".join(f"k={k} {value:.1f} %" for k, value in zip(SIZES, mean, strict=True)))
ax.axhline(linear, color="0.3", linestyle=":", label=f"LinearSVC on pixels: {linear:.1f} %")
ax.set_xscale("log", base=2)
ax.set_xticks(SIZES, [str(k) for k in SIZES])
ax.set_ylim(70, 100)
ax.set_xlabel("n_components (hashes, k)")
ax.set_ylabel("test accuracy (%)")
ax.set_title("More hashes approach the exact kernel; below 4 bits more are needed")
ax.legend(title="mean of 3 splits, ± standard deviation", loc="lower right")
plt.show()
