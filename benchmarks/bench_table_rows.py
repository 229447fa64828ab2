"""Predictions of one row of a table at a time: from data frames of one row, and from lists with one dict."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from harness import Method, Problem
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from kernelsketch import GCWSTabularClassifier

ROWS = 100


def problems() -> Iterator[Problem]:
    rng, n = np.random.default_rng(0), 3000
    frame = pd.DataFrame(
        {
            "spending": np.exp(rng.normal(4, 1, n)),
            "visits": rng.poisson(6, n),
            "plan": rng.choice(["free", "basic", "pro"], n),
            "city": rng.choice([f"city {i}" for i in range(30)], n),
            "newsletter": rng.random(n) < 0.4,
        }
    )
    y = (np.log(frame["spending"]) - np.log1p(frame["visits"]) + (frame["plan"] == "free") > 2).to_numpy()
    encoder = make_column_transformer((OneHotEncoder(), ["plan", "city"]), remainder=StandardScaler())
    linear = make_pipeline(encoder, LinearSVC()).fit(frame, y)
    frames = [frame.iloc[[i]] for i in range(ROWS)]
    records = [[record] for record in frame[:ROWS].to_dict("records")]
    arrays = list(frame[:ROWS].to_numpy(dtype=object))

    def one_by_one(predict: Any, rows: Any) -> Any:
        return lambda: np.concatenate([predict(row) for row in rows])

    def first_of(predictor: Any, rows: Any) -> Any:
        return [predictor.predict(rows[0])]

    def of_array(predictor: Any, row: Any) -> Any:
        return [predictor.predict(row)]

    def error(found: Any, _: Any) -> float:
        return float(np.mean(found != y[:ROWS]))

    for effort in ("quick", "default"):
        model = GCWSTabularClassifier(effort).fit(frame, y)
        predictor = model.predictor()
        methods = [
            Method("LinearSVC in a pipeline, data frames", one_by_one(linear.predict, frames), rounds=15),
            Method("GCWSTabularClassifier.predict, data frames", one_by_one(model.predict, frames), rounds=15),
            Method("GCWSTabularClassifier.predict, dicts", one_by_one(model.predict, records), rounds=15),
            Method("Predictor.predict, data frames", one_by_one(predictor.predict, frames), rounds=15),
            Method("Predictor.predict, dicts", one_by_one(partial(first_of, predictor), records), rounds=15),
            Method("Predictor.predict, arrays", one_by_one(partial(of_array, predictor), arrays), rounds=15),
        ]
        yield Problem(f"{ROWS} rows of a table one by one, effort {effort}", methods, ROWS, error)
