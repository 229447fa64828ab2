"""
Codes as indices of a PyTorch EmbeddingBag
==========================================

A linear model on one-hot codes is a sum of k rows of a table, which is what :class:`torch.nn.EmbeddingBag` computes.
Code c of hash number j selects row ``j * 2**width + c``, and the one-hot matrix is never made. The table is an
ordinary layer: you can put other layers behind it, train it with them, and move it to a GPU.

This example needs PyTorch: ``pip install torch``.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kernelsketch import GCWS

try:
    import torch
except ModuleNotFoundError:
    sys.exit("PyTorch is not installed: run  pip install torch")

K, EPOCHS, BATCH = 256, 5, 100
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

# %%
# The rows are hashed once. A code takes one byte; indices are made only for the rows of a batch.

hasher = GCWS(n_components=K).fit(X_train)
train, test = hasher.codes(X_train), hasher.codes(X_test)
first = np.arange(K) * 2**train.width  # row of code 0 of each hash


def indices(codes):
    return torch.from_numpy(codes.unpack() + first)


# %%
# The mean of k rows times sqrt(k) is the product with a one-hot row of unit norm. One hidden layer follows.

torch.manual_seed(0)
bag = torch.nn.EmbeddingBag(K * 2**train.width, 32, mode="mean", sparse=True)
head = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(32, 10))
torch.nn.init.normal_(bag.weight, std=0.5)
tables = torch.optim.SparseAdam(bag.parameters(), lr=0.02)
layers = torch.optim.Adam(head.parameters(), lr=0.01)
labels = torch.from_numpy(y_train)


def logits(codes):
    return head(K**0.5 * bag(indices(codes)))


for epoch in range(EPOCHS):
    order = np.random.default_rng(epoch).permutation(len(y_train))
    total = 0.0
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        loss = torch.nn.functional.cross_entropy(logits(train[rows]), labels[rows])
        tables.zero_grad()
        layers.zero_grad()
        loss.backward()
        tables.step()
        layers.step()
        total += loss.item() * len(rows)
    with torch.no_grad():
        right = (logits(test).argmax(dim=1).numpy() == y_test).mean()
    print(f"epoch {epoch + 1}: training loss {total / len(order):.3f}, test accuracy {100 * right:.1f} %")
