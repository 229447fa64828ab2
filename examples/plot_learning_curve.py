"""
Accuracy and time of a classifier on codes
==========================================

:class:`~kernelsketch.GCWSClassifier` hashes rows and learns on their codes. The number of hashes k sets its size: more
hashes take more time and give better accuracy. How many hashes does it need to reach a kernel machine, and how long
does training take?
"""

# %%
# The data are handwritten digits, half for training and half for testing. The results are means over three random
# halves. C of every model, and gamma of the RBF kernel, are chosen by cross-validation on the training half. The time
# is that of a fit with the chosen parameters.

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
    """Return the test accuracy in percent, and the milliseconds of the fastest of three fits."""
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
# 128 hashes beat the linear model on the 64 pixels, and 1024 hashes come within about one point of the RBF machine.
# Up to 256 hashes the time hardly depends on k, but 16 hashes take longer than 32, because more rows keep a nonzero
# dual variable. On 900 rows ``SVC`` is faster. Its time grows with the square of the number of rows, while that of a
# fit on codes grows linearly.

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
left.set_title("128 hashes beat the linear model")
left.legend(title="mean of 3 splits, ± standard deviation", loc="lower right")
right.set_ylim(0, 1.35 * mean[:, 1].max())
right.set_ylabel("time of a fit (ms), one thread")
right.set_title("From 256 hashes on, time grows with k")
right.legend(loc="upper left")
for k, (score, time) in zip(SIZES, mean, strict=True):
    print(f"k={k:<4} {score:.1f} % {time:6.1f} ms")
plt.show()
