"""
What a kernel matrix looks like
===============================

This example compares thirty images of each digit, sorted by digit, with each other: once by the GMM kernel, which has
no parameter to set, and once by scikit-learn's RBF kernel with the ``gamma`` that ``SVC`` uses by default.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from kernelsketch import gmm_kernel

X, y = load_digits(return_X_y=True)
rows = np.concatenate([np.flatnonzero(y == digit)[:30] for digit in range(10)])
X, y = X[rows], y[rows]

matrices = {
    "GMM kernel": gmm_kernel(X),
    "RBF kernel, gamma='scale'": rbf_kernel(X, gamma=1 / (X.shape[1] * X.var())),
}

# %%
# There are ten light squares along the diagonal, because images of the same digit are similar. Light patches
# elsewhere are digits that are easily confused, above all 3 and 9. The title of each matrix states the mean
# similarity of two images of the same digit, and of different digits. Without any parameter the GMM kernel shows the
# same picture as an RBF kernel whose ``gamma`` fits the data. With ``gamma=1/64``, the default of ``rbf_kernel``, the
# right matrix would be black except for its diagonal.

same = y[:, None] == y[None, :]
other = ~np.eye(len(y), dtype=bool)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.9), layout="constrained")
for ax, (name, K) in zip(axes, matrices.items(), strict=True):
    image = ax.imshow(K, vmin=0, vmax=1, cmap="magma", interpolation="nearest")
    alike, different = K[same & other].mean(), K[~same].mean()
    ax.set_title(f"{name}\nsame digit {alike:.2f}, different digits {different:.2f}")
    ax.set_xticks(np.arange(15, 300, 30), range(10))
    ax.set_yticks(np.arange(15, 300, 30), range(10))
    ax.tick_params(length=0)
    ax.set_xlabel("digit (30 images each)")
axes[0].set_ylabel("digit (30 images each)")
fig.colorbar(image, ax=axes, label="similarity, 0 to 1", shrink=0.85)
plt.show()
