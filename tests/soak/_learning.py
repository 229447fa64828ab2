"""Models and codes under random parameters, compared with sums over dictionaries and lists."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from helpers.models import decision_values
from kernelsketch import GCWS, GCWSClassifier, GCWSRegressor, PackedCodes, load_model
from kernelsketch.serving import Predictor


def random_hash(rng: random.Random, d: int, dense: bool) -> dict[str, Any]:
    options: dict[str, Any] = {
        "n_components": rng.choice([1, 7, 16, 33, 64]),
        "bits": rng.randint(1, 12),
        "p": rng.choice([1.0, 0.3, 2.5]),
        "random_state": rng.getrandbits(63),
    }
    if rng.random() < 0.3:
        options["gamma"] = rng.choice([0.4, 2.0])
    else:
        options["t_bits"] = rng.choice([0, 0, 2])
    if dense and rng.random() < 0.3:
        options["center"] = rng.choice(["mean", "median"])
    if rng.random() < 0.3 and d > 1:
        cut = rng.randint(1, d - 1)
        options["views"] = [cut, d - cut]
        options["n_components"] = max(2, options["n_components"])
    return options


def random_rows(rng: random.Random, n: int, d: int) -> np.ndarray:
    draw = np.random.default_rng(rng.getrandbits(64))
    X = draw.normal(size=(n, d)) * 10.0 ** draw.integers(-3, 4, size=d)
    X[draw.random(X.shape) < rng.choice([0.0, 0.6])] = 0
    if rng.random() < 0.3:
        X = np.abs(X)
    return X


def soak_models(rng: random.Random, folder: Path) -> int:
    """A random model: its decision values are sums of its coefficients, in every form that it has."""
    d, n = rng.choice([1, 4, 12]), rng.randint(20, 120)
    dense = rng.random() < 0.7
    X, new = random_rows(rng, n, d), random_rows(rng, 30, d)
    options = random_hash(rng, d, dense) | {"C": 10 ** rng.uniform(-2, 2), "tol": 0.1}
    if not dense:
        X, new = sparse.csr_array(X), sparse.csr_array(new)
        options.pop("views", None)
    if rng.random() < 0.4:
        options["scale"] = rng.choice(["standard", "robust", "quantile"]) if dense else "standard"
    score = np.asarray(X @ np.ones(d)).ravel()
    is_class = rng.random() < 0.7
    if is_class:
        classes = rng.choice([2, 3])
        y: Any = np.argsort(np.argsort(score, kind="stable"), kind="stable") * classes // n
        options["loss"] = rng.choice(["squared_hinge", "hinge", "log_loss"])
        if rng.random() < 0.3:
            options["probability"] = "calibrated"
        model: Any = GCWSClassifier(**options).fit(X, y)
        values = decision_values(model, new)
    else:
        model = GCWSRegressor(**options).fit(X, np.clip(score, -100, 100))
        values = decision_values(model, new)
    rows = new if model.fitted_.scaling is None else model.fitted_.scaling.apply(_rows(model, new))
    plain = rows if model.fitted_.scaling is None else (rows.to_scipy() if rows.sparse else rows.values)
    _compare_with_sums(model, plain, values)
    model.save(folder / "model.safetensors")
    again, predictor = load_model(folder / "model.safetensors"), Predictor.load(folder / "model.safetensors")
    for other in (again, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(decision_values(other, new), values)
    for other in (predictor, model.predictor()):
        np.testing.assert_array_equal(other.predict(new), model.predict(new))
        if is_class:
            np.testing.assert_array_equal(other.decision_function(new), model.decision_function(new))
    if "scale" not in options and is_class and options.get("probability") is None and "center" not in options:
        parts = [slice(0, n // 3), slice(n // 3, n)]
        blocks = GCWSClassifier(**options).fit_blocks(((X[part], y[part]) for part in parts), memory=1 << 27)
        np.testing.assert_array_equal(decision_values(blocks, new), values)
    return 1


def _rows(model: Any, X: Any) -> Any:
    from kernelsketch._rows import estimator_rows

    return estimator_rows(model, X, reset=False)


def _compare_with_sums(model: Any, X: Any, values: np.ndarray) -> None:
    """Add up weights by their definition: hash by hash, in a loop."""
    codes = model.hasher_.codes(X)
    tables = [
        [dict(zip(model.used_codes_.tolist(), weights, strict=False)) for weights in table.tolist()]
        for table in model.fitted_.weights[:, :, : len(model.used_codes_)]
    ]
    for i, row in enumerate(codes.unpack().tolist()):
        for p, table in enumerate(tables):
            total = float(model.fitted_.intercepts[p])
            if not codes.empty[i]:
                total += sum(table[j].get(code, 0.0) for j, code in enumerate(row))
            assert abs(total - values[i, p]) <= 1e-3 + 1e-4 * abs(total), (total, values[i, p])


def soak_codes(rng: random.Random, folder: Path) -> int:
    """Random operations on packed codes and on lists of lists."""
    d = rng.choice([2, 9])
    options = random_hash(rng, d, True)
    X = random_rows(rng, rng.randint(2, 40), d)
    X[0] = 0
    codes = GCWS(**options).fit(X).codes(X)
    lists = [None if empty else row for row, empty in zip(codes.unpack().tolist(), codes.empty, strict=True)]
    steps = rng.randint(3, 12)
    for _ in range(steps):
        choice = rng.random()
        if choice < 0.25 and len(lists) > 1:
            start, stop = sorted(rng.sample(range(len(lists) + 1), 2))
            codes, lists = codes[start:stop], lists[start:stop]
        elif choice < 0.4:
            chosen = [rng.randrange(len(lists)) for _ in range(rng.randint(1, 30))]
            codes, lists = codes[chosen], [lists[i] for i in chosen]
        elif choice < 0.55 and not codes.hasher.views:
            k = rng.randint(1, codes.n_components)
            codes, lists = codes[:, :k], [None if row is None else row[:k] for row in lists]
        elif choice < 0.75 and len(lists) < 200:
            codes, lists = PackedCodes.concatenate([codes, codes]), lists + lists
        else:
            codes.save(folder / "codes.safetensors")
            codes = PackedCodes.load(folder / "codes.safetensors", mmap=rng.random() < 0.5)
        found = codes.unpack().tolist()
        assert [None if empty else row for row, empty in zip(found, codes.empty, strict=True)] == lists
        counts = codes.match_counts(codes[: min(5, len(lists))])
        for i, a in enumerate(lists):
            for j, b in enumerate(lists[: counts.shape[1]]):
                expected = 0 if a is None or b is None else sum(x == y for x, y in zip(a, b, strict=True))
                assert counts[i, j] == expected
    return steps
