"""Test accuracy of a linear model on GCWS features: the tables and figures of docs/guide/hashing.rst.

Run ``KERNELSKETCH_DATA=folder python docs/measurements/hashing.py``; it takes some minutes and writes hashing.csv and
two figures beside itself. With ``--draw`` it draws the figures from the CSV that is there. The folder holds NAME.npz
files with arrays X, y and is_test; a dataset without one is skipped. Digits comes with scikit-learn.

At most 5000 rows train and 5000 test. The model is LinearSVC with C=1 on rows of unit norm; scores are the mean over
the seeds of the hash. C of the exact kernel, and of the linear model on the columns, comes from 3-fold
cross-validation.
"""

import csv
import os
import sys
from collections import defaultdict
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize
from sklearn.svm import SVC, LinearSVC

from kernelsketch import GCWS, gmm_kernel

HERE = Path(__file__).parent
TABLE = HERE / "hashing.csv"
FIELDS = ["part", "dataset", "columns", "setting", "k", "bits", "t_bits", "seeds", "accuracy_percent", "standard_error"]
FIELDS += ["hash_seconds"]
ROWS = 5000
SEEDS = range(3)
SIZES = [16, 32, 64, 128, 256, 512, 1024]
WIDTHS = [(1, 0), (2, 0), (4, 0), (8, 0), (8, 2)]
USUAL = {  # name: columns as they are used where nothing else is said
    "MNIST": "raw",
    "digits": "raw",
    "Letter": "to [-1, 1]",
    "Satimage": "standardized",
    "SpamBase": "standardized",
}
SCALINGS = {
    "raw": lambda train, test: (train, test),
    "standardized": lambda train, test: fit_scaler(StandardScaler(), train, test),
    "min-max": lambda train, test: fit_scaler(MinMaxScaler(), train, test),
    "to [-1, 1]": lambda train, test: (train / 7.5 - 1, test / 7.5 - 1),
}


def fit_scaler(scaler, train, test):
    return scaler.fit_transform(train), scaler.transform(test)


def load(name):
    """Training rows, test rows and their labels; None where the data are absent."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        path = Path(os.environ.get("KERNELSKETCH_DATA", "")) / f"{name}.npz"
        if not path.is_file():
            print(f"{name}: skipped, KERNELSKETCH_DATA names no folder with {name}.npz")
            return None
        with np.load(path) as file:
            X, y = file["X"].astype(np.float64), file["y"]
            if "is_test" in file:
                train, test = np.flatnonzero(~file["is_test"]), np.flatnonzero(file["is_test"])
                rng = np.random.default_rng(0)
                train, test = (rng.permutation(part)[:ROWS] for part in (train, test))
                return X[train], X[test], y[train], y[test]
    return train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)


def accuracy(train, test, y_train, y_test, C=1.0):
    return 100 * LinearSVC(C=C, random_state=0).fit(train, y_train).score(test, y_test)


class Recorder:
    def __init__(self):
        self.rows = []

    def __call__(self, part, data, columns, setting, k, width, scores, seconds=""):
        error = f"{np.std(scores, ddof=1) / np.sqrt(len(scores)):.2f}" if len(scores) > 1 else ""
        mean = f"{np.mean(scores):.2f}" if len(scores) else ""
        self.rows.append((part, data, columns, setting, k, *width, len(scores), mean, error, seconds))
        print(*self.rows[-1], sep="  ", flush=True)
        with TABLE.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(FIELDS)
            writer.writerows(self.rows)


def hashed(split, record, part, data, columns, setting, k=512, width=(8, 0), C=1.0, **params):
    train, test, y_train, y_test = split
    scores, seconds = [], []
    for seed in SEEDS:
        model = GCWS(k, bits=width[0], t_bits=width[1], random_state=seed, **params).fit(train)
        start = perf_counter()
        features = model.transform(train)
        seconds.append(perf_counter() - start)
        scores.append(accuracy(features, model.transform(test), y_train, y_test, C))
    record(part, data, columns, setting, k, width, scores, f"{min(seconds):.4f}")


def egmm_times(split, record, data, columns):
    """Seconds for the codes of the training rows, best of five, one thread."""
    for gamma in (None, 1.0, 2.0, 4.0, 8.0):
        model, seconds = GCWS(512, gamma=gamma).fit(split[0]), []
        for _ in range(5):
            start = perf_counter()
            model.codes(split[0])
            seconds.append(perf_counter() - start)
        record("codes only", data, columns, f"gamma={gamma}", 512, (8, 0), [], f"{min(seconds):.4f}")


def exact(split, record, part, data, columns, **params):
    train, test, y_train, y_test = split
    grid = {"C": [0.1, 1, 10, 100]}
    search = GridSearchCV(SVC(kernel="precomputed"), grid, cv=3).fit(gmm_kernel(train, **params), y_train)
    score = 100 * search.score(gmm_kernel(test, train, **params), y_test)
    setting = ", ".join(["exact GMM", *(f"{k}={v}" for k, v in params.items()), f"C={search.best_params_['C']}"])
    record(part, data, columns, setting, "", ("", ""), [score])


def linear(split, record, data, columns):
    train, test, y_train, y_test = split
    grid = {"C": [0.1, 1, 10]}
    search = GridSearchCV(LinearSVC(random_state=0, dual=False), grid, cv=3).fit(normalize(train), y_train)
    score = 100 * search.score(normalize(test), y_test)
    record("baseline", data, columns, f"linear, C={search.best_params_['C']}", "", ("", ""), [score])


def codings(split, record):
    """Our b-bit code against the low bits of the interleaved slot, on the same samples."""
    train, test, y_train, y_test = split
    k = 128
    for bits in (1, 2, 4, 8):
        scores = {"feature, sign on top": [], "interleaved slot": []}
        for seed in SEEDS:
            model = GCWS(k, bits=bits, random_state=seed).fit(train)
            parts = model.transform(train), model.transform(test)
            scores["feature, sign on top"].append(accuracy(*parts, y_train, y_test))
            parts = [one_hot(model.signatures(rows)[0] % 2**bits, 2**bits) for rows in (train, test)]
            scores["interleaved slot"].append(accuracy(*parts, y_train, y_test))
        for coding, found in scores.items():
            record("coding", "MNIST", "raw", coding, k, (bits, 0), found)


def one_hot(codes, size):
    n, k = codes.shape
    columns = (codes + np.arange(k) * size).ravel()
    return sparse.csr_matrix((np.full(n * k, k**-0.5), columns, np.arange(n + 1) * k), shape=(n, k * size))


def main():
    record = Recorder()
    raw = {name: load(name) for name in USUAL}
    raw = {name: split for name, split in raw.items() if split is not None}
    usual = {name: (*SCALINGS[USUAL[name]](*split[:2]), *split[2:]) for name, split in raw.items()}
    for name, split in usual.items():
        exact(split, record, "baseline", name, USUAL[name])
        linear(split, record, name, USUAL[name])
    if "MNIST" in usual:
        codings(usual["MNIST"], record)
    for name, split in raw.items():
        for scaling in ("raw", "standardized", "min-max"):
            scaled = (*SCALINGS[scaling](*split[:2]), *split[2:])
            hashed(scaled, record, "scaling", name, scaling, "")
            if scaling == "raw":
                hashed(scaled, record, "scaling", name, scaling, "center=mean", center="mean")
                hashed(scaled, record, "scaling", name, scaling, "center=median", center="median")
                exact(scaled, record, "scaling", name, scaling)
                exact(scaled, record, "scaling", name, scaling, center="median")
    for name, split in usual.items():
        for p in (0.25, 0.5, 1.0, 2.0, 4.0):
            hashed(split, record, "p", name, USUAL[name], f"p={p}", p=p)
        for gamma in (None, 1.0, 2.0, 4.0, 8.0, 16.0):
            hashed(split, record, "gamma", name, USUAL[name], f"gamma={gamma}", gamma=gamma)
        for C in (0.1, 1.0, 10.0):
            hashed(split, record, "C", name, USUAL[name], f"C={C}", C=C)
    for name in ("MNIST", "Letter"):
        if name in usual:
            egmm_times(usual[name], record, name, USUAL[name])
    if "MNIST" in usual:
        for k in (128, 512):
            hashed(usual["MNIST"], record, "all bits", "MNIST", "raw", "", k, (10, 0))
    if "Letter" in raw:
        for center in (None, "median"):
            hashed(raw["Letter"], record, "scaling, C=10", "Letter", "raw", f"center={center}", C=10.0, center=center)
    if "Letter" in usual:
        for width in [(5, 0), (5, 1), (5, 2), (5, 4), (5, 8)]:
            for k in (128, 512):
                hashed(usual["Letter"], record, "t_bits", "Letter", USUAL["Letter"], "", k, width)
    for name, split in usual.items():
        for width in WIDTHS:
            for k in SIZES:
                hashed(split, record, "size", name, USUAL[name], "", k, width)


def draw():
    with TABLE.open() as file:
        rows = list(csv.DictReader(file))
    parts = defaultdict(list)
    for row in rows:
        parts[row["part"]].append(row)
    names = [name for name in USUAL if any(row["dataset"] == name for row in parts["size"])]
    draw_sizes(parts, [name for name in names if name != "digits"])
    draw_kernels(parts, names)


def draw_sizes(parts, names):
    styles = {
        ("1", "0"): ("#c6dbef", "-", "b = 1"),
        ("2", "0"): ("#6baed6", "-", "b = 2"),
        ("4", "0"): ("#2171b5", "-", "b = 4"),
        ("8", "0"): ("#08306b", "-", "b = 8"),
        ("8", "2"): ("tab:orange", "-", "b = 8, 2 bits of t*"),
    }
    fig, axes = plt.subplots(2, 2, figsize=(9, 6.6), layout="constrained", sharex=True)
    for ax, name in zip(axes.flat, names, strict=False):
        lines = defaultdict(list)
        for row in parts["size"]:
            if row["dataset"] == name:
                lines[row["bits"], row["t_bits"]].append((int(row["k"]), float(row["accuracy_percent"])))
        for width, points in lines.items():
            color, style, label = styles[width]
            ax.plot(*zip(*points, strict=True), color=color, linestyle=style, marker="o", markersize=4, label=label)
        for row in parts["baseline"]:
            if row["dataset"] == name:
                exact = row["setting"].startswith("exact")
                label = "exact GMM kernel" if exact else "linear model on the columns"
                ax.axhline(
                    float(row["accuracy_percent"]), color="0.3", linestyle="--" if exact else ":", zorder=0, label=label
                )
        best = max(value for points in lines.values() for _, value in points)
        at_16 = lines["8", "0"][0][1]
        ax.set_ylim(at_16 - 0.4 * (best - at_16), best + 0.2 * (best - at_16))
        ax.set_xscale("log", base=2)
        ax.set_xticks(SIZES, [str(k) for k in SIZES])
        ax.minorticks_off()
        ax.grid(color="0.93")
        ax.set_title(name, loc="left", fontsize=11)
    for ax in axes[1]:
        ax.set_xlabel("k (n_components)")
    for ax in axes[:, 0]:
        ax.set_ylabel("test accuracy (%)")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    fig.savefig(HERE / "hashing-size.png", dpi=120)


def draw_kernels(parts, names):
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained", sharey=True)
    for ax, part, xs in zip(axes, ("p", "gamma"), ([0.25, 0.5, 1, 2, 4], [0.5, 1, 2, 4, 8, 16]), strict=True):
        for name in names:
            values = [float(row["accuracy_percent"]) for row in parts[part] if row["dataset"] == name]
            start = values[xs.index(1)] if part == "p" else values[0]
            ax.plot(xs, np.array(values) - start, marker="o", markersize=4, label=name)
        ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xscale("log", base=2)
        labels = [f"{x:g}" for x in xs] if part == "p" else ["GMM", *(f"{x:g}" for x in xs[1:])]
        ax.set_xticks(xs, labels)
        ax.minorticks_off()
        ax.grid(color="0.93")
        ax.set_xlabel("p of pGMM" if part == "p" else "gamma of eGMM")
    axes[0].set_ylim(-7, 4)  # gamma=16 is below
    axes[0].set_ylabel("accuracy gained over GMM (points)")
    axes[1].legend(frameon=False, loc="lower left")
    fig.savefig(HERE / "hashing-kernel.png", dpi=120)


if __name__ == "__main__":
    if "--draw" not in sys.argv:
        main()
    draw()
