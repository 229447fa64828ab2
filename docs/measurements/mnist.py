"""Accuracy on the variations of MNIST that kernelsketch_paper.data makes, beside the paper's: docs/how-to/datasets.rst.

Run ``KERNELSKETCH_DATA=... python docs/measurements/mnist.py``. It takes ten minutes and writes mnist.csv beside
itself. Kernel machines learn from all training rows of split 0 and are tested on the first 10,000 test rows. C is 10
and gamma is that of the paper, which has the best C and all test rows. The standard error is that of a binomial
proportion.
"""

import csv
from pathlib import Path

from sklearn.svm import SVC

from kernelsketch import gmm_kernel, rbf_kernel
from kernelsketch_paper.data import entry, load, names
from kernelsketch_paper.experiments import published

C, TESTED = 10, 10_000


def accuracy(kernel, data):
    """Percent of the tested rows."""
    rows = data.test[:TESTED]
    machine = SVC(kernel="precomputed", C=C, cache_size=1000).fit(kernel(data.X_train), data.y_train)
    return 100 * machine.score(kernel(data.X[rows], data.X_train), data.y[rows])


def main():
    path = Path(__file__).with_name("mnist.csv")
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["dataset", "rbf", "rbf_paper", "gmm", "gmm_paper", "standard_error"])
        for name in names():
            if not entry(name).recipe:
                continue
            data, paper = load(name), published()[name]
            rbf = accuracy(lambda X, Y=None, gamma=paper.rbf_gamma: rbf_kernel(X, Y, gamma=gamma), data)
            gmm = accuracy(gmm_kernel, data)
            error = (rbf * (100 - rbf) / min(TESTED, len(data.test))) ** 0.5
            table.writerow([name, f"{rbf:.2f}", paper.rbf, f"{gmm:.2f}", paper.gmm, f"{error:.2f}"])
            file.flush()


if __name__ == "__main__":
    main()
