"""Test accuracy of kernel machines on raw and on scaled columns: the tables of docs/guide/kernels.rst.

Run ``python docs/measurements/scaling.py``; it takes some minutes and writes scaling.csv beside itself. Half
of the rows train and half test, stratified, on random splits. C, and p or gamma where there is one, are
chosen by 5-fold cross-validation on the training half.
"""

import csv
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from kernelsketch import correlation_kernel, gmm_kernel, ngmm_kernel, rbf_kernel

C = [0.1, 1, 10, 100, 1000]
POWERS = [0.25, 0.5, 1, 2, 4]
DATA = {  # name: loader, random splits
    "wine": (load_wine, 20),
    "breast cancer": (load_breast_cancer, 20),
    "digits": (load_digits, 5),
    "iris": (load_iris, 20),
}
SCALERS = {"raw": FunctionTransformer(), "standardized": StandardScaler(), "min-max": MinMaxScaler()}
KERNELS = {  # name: grid of SVC parameters beside C, given the scaled training rows
    "GMM": lambda Z: {"kernel": [gmm_kernel]},
    "GMM, center=mean": lambda Z: {"kernel": [partial(gmm_kernel, center="mean")]},
    "pGMM": lambda Z: {"kernel": [partial(gmm_kernel, p=p) for p in POWERS]},
    "NGMM": lambda Z: {"kernel": [ngmm_kernel]},
    "correlation": lambda Z: {"kernel": [correlation_kernel]},
    "RBF on unit rows": lambda Z: {"kernel": [partial(rbf_kernel, gamma=2.0**e) for e in range(-1, 9)]},
    "RBF of scikit-learn": lambda Z: {
        "kernel": ["rbf"],
        "gamma": (np.array([0.01, 0.03, 0.1, 0.3, 1, 3, 10]) / (Z.shape[1] * Z.var())).tolist(),
    },
}
CASES = [
    ("GMM", "raw"),
    ("GMM, center=mean", "raw"),
    ("GMM", "standardized"),
    ("GMM", "min-max"),
    ("pGMM", "raw"),
    ("NGMM", "raw"),
    ("NGMM", "standardized"),
    ("correlation", "raw"),
    ("correlation", "standardized"),
    ("RBF on unit rows", "raw"),
    ("RBF on unit rows", "standardized"),
    ("RBF of scikit-learn", "raw"),
    ("RBF of scikit-learn", "standardized"),
]


def accuracy(X, y, kernel, scaler, split):
    """Test accuracy in percent."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=split, stratify=y)
    grid = {"C": C, **KERNELS[kernel](SCALERS[scaler].fit_transform(X_train))}
    model = make_pipeline(SCALERS[scaler], SVC())
    search = GridSearchCV(model, {f"svc__{name}": values for name, values in grid.items()}, cv=5)
    return 100 * search.fit(X_train, y_train).score(X_test, y_test)


def main():
    rows = []
    for data, (load, n_splits) in DATA.items():
        X, y = load(return_X_y=True)
        for kernel, scaler in CASES:
            scores = [accuracy(X, y, kernel, scaler, split) for split in range(n_splits)]
            error = np.std(scores, ddof=1) / np.sqrt(n_splits)
            rows.append((data, kernel, scaler, n_splits, f"{np.mean(scores):.2f}", f"{error:.2f}"))
            print(*rows[-1], sep="  ", flush=True)
    with Path(__file__).with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "kernel", "columns", "splits", "accuracy_percent", "standard_error"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
