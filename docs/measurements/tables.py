"""The tabular classifier and boosted trees on real tables: the table of docs/how-to/tables.rst.

Run ``python docs/measurements/tables.py``; it takes some minutes and writes tables.csv beside itself. The datasets are
those of kernelsketch-paper, split 0, with at most 10,000 training rows. Each model chooses the most accurate of four
settings by 3-fold cross-validation on the training rows. Times are processor seconds of training with tuning, on one
thread.
"""

import csv
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSTabularClassifier
from kernelsketch_paper.data import load

DATASETS = ["Covertype25k", "RobotNavi", "HiggsSample", "Adult", "SpamBase", "IJCNN", "Satimage", "Pendigits"]
MOST_ROWS = 10_000
TREES = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
MODELS = {
    "HistGradientBoosting": GridSearchCV(TREES, {"max_iter": [100, 300], "max_leaf_nodes": [7, 31]}, cv=3),
    "GCWSTabularClassifier": GCWSTabularClassifier(),
}


def main():
    rows = []
    for name in DATASETS:
        data = load(name, split=0, download=False)
        X, y = data.X_train, data.y_train
        kept = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        for label, model in MODELS.items():
            start = process_time()
            model.fit(X[kept], y[kept])
            seconds = process_time() - start
            accuracy = 100 * model.score(data.X_test, data.y_test)
            loss = log_loss(data.y_test, model.predict_proba(data.X_test), labels=model.classes_)
            sizes = len(kept), len(data.y_test), X.shape[1]
            rows.append((name, label, *sizes, f"{accuracy:.2f}", f"{loss:.4f}", f"{seconds:.1f}"))
            print(*rows[-1], sep="  ", flush=True)
    with Path(__file__).with_suffix(".csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        columns = ["n_train", "n_test", "n_features", "accuracy_percent", "log_loss", "training_seconds"]
        writer.writerow(["dataset", "model", *columns])
        writer.writerows(rows)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
