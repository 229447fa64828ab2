"""
Accuracy and time of a classifier on codes
==========================================

:class:`~kernelsketch.GCWSClassifier` hashes rows and learns on their codes. Its one parameter of size is the number of
hashes k: more of them cost time and gain accuracy. How many does it take to reach a kernel machine, and what do they
cost?
"""

# %%
# Handwritten digits, half to train and half to test, mean of three random halves. C of every model, and gamma of the
# RBF kernel, are chosen by cross-validation on the training half. Time is that of a fit with the chosen parameters.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC, LinearSVC

from kernelsketch import GCWSClassifier, GCWSClassifierCV

X, y = load_digits(return_X_y=True)
X /= 16
SIZES = [16, 32, 64, 128, 256, 512, 1024]
CS = [0.1, 1.0, 10.0, 100.0]
SEEDS = range(3)


def measure(model, halves):
    """Test accuracy in percent, and milliseconds of a fit, the fastest of three."""
    X_train, X_test, y_train, y_test = halves
    times = []
    for _ in range(3):
        start = perf_counter()
        model.fit(X_train, y_train)
        times.append(perf_counter() - start)
    return 100 * model.score(X_test, y_test), 1e3 * min(times)


def on_codes(k, seed, halves):
    X_train, _, y_train, _ = halves
    C = GCWSClassifierCV(k, Cs=CS, cv=3, random_state=seed, refit=False).fit(X_train, y_train).C_
    return measure(GCWSClassifier(k, C=C, random_state=seed), halves)


def searched(model, grid, halves):
    X_train, _, y_train, _ = halves
    best = GridSearchCV(model, grid, cv=3, refit=False).fit(X_train, y_train).best_params_
    return measure(model.set_params(**best), halves)


def split(seed):
    return train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)


codes = np.array([[on_codes(k, seed, split(seed)) for k in SIZES] for seed in SEEDS])
rbf_grid = {"C": CS, "gamma": [0.03, 0.1, 0.3]}
rbf = np.mean([searched(SVC(), rbf_grid, split(seed)) for seed in SEEDS], axis=0)
linear = np.mean([searched(LinearSVC(random_state=0), {"C": CS}, split(seed)) for seed in SEEDS], axis=0)

# %%
# What to see: 128 hashes pass the linear model on the 64 pixels, 1024 come within about a point of the RBF machine.
# Up to 256 hashes the time hardly depends on k, but sixteen take longer than 32; more rows keep a nonzero dual
# variable there. On 900 rows ``SVC`` is faster. Its time grows with the square of the rows, that of a fit on codes with
# the rows.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
mean, spread = codes.mean(axis=0), codes.std(axis=0, ddof=1)
for ax, what in (left, 0), (right, 1):
    ax.errorbar(
        SIZES, mean[:, what], yerr=spread[:, what], marker="o", capsize=3, color="tab:blue", label="GCWSClassifier"
    )
    unit = "%" if what == 0 else "ms"
    ax.axhline(rbf[what], color="0.3", linestyle="--", label=f"SVC, RBF kernel: {rbf[what]:.1f} {unit}")
    ax.axhline(linear[what], color="tab:orange", linestyle=":", label=f"LinearSVC on pixels: {linear[what]:.1f} {unit}")
    ax.set_xscale("log", base=2)
    ax.set_xticks(SIZES, [str(k) for k in SIZES])
    ax.set_xlabel("n_components (hashes, k)")
left.set_ylim(80, 100)
left.set_ylabel("test accuracy (%)")
left.set_title("128 hashes pass the linear model")
left.legend(title="mean of 3 splits, ± standard deviation", loc="lower right")
right.set_ylim(0, 1.35 * mean[:, 1].max())
right.set_ylabel("time of a fit (ms), one thread")
right.set_title("From 256 hashes on, time grows with k")
right.legend(loc="upper left")
for k, (score, time) in zip(SIZES, mean, strict=True):
    print(f"k={k:<4} {score:.1f} % {time:6.1f} ms")
plt.show()
