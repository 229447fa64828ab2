"""A parameter that cannot be used is refused before rows are hashed, which may take long."""

import numpy as np
import pytest

from kernelsketch import (
    GCWSClassifier,
    GCWSClassifierCV,
    GCWSRegressor,
    GCWSRegressorCV,
    GCWSTabularClassifier,
    GCWSTabularRegressor,
)
from kernelsketch.hashing import Hasher

X = np.random.default_rng(0).random((60, 4))
Y = (X[:, 0] > 0.5).astype(int)
ONE_FOLD = [(np.arange(30), np.arange(30, 60))]


def fitted_blocks(model, **options):
    return model.fit_blocks([(X[:30], Y[:30]), (X[30:], Y[30:])], **options)


CALLS = {
    "progress": lambda: GCWSClassifier(8).fit(X, Y, progress=3),
    "progress of blocks": lambda: fitted_blocks(GCWSRegressor(8), progress=3),
    "progress of CV": lambda: GCWSRegressorCV(8).fit(X, Y, progress=3),
    "progress of a table": lambda: GCWSTabularRegressor().fit(X, Y, progress=3),
    "class_weight": lambda: GCWSClassifier(8, class_weight={5: 1}).fit(X, Y),
    "class_weight of CV": lambda: GCWSClassifierCV(8, class_weight={5: 1}).fit(X, Y),
    "class_weight of a stream": lambda: GCWSClassifier(8, class_weight={5: 1}).partial_fit(X, Y, classes=[0, 1]),
    "class_weight of a table": lambda: GCWSTabularClassifier(class_weight={5: 1}).fit(X, Y),
    "probability": lambda: GCWSClassifier(8, probability="calibrated").fit(X[:2], [0, 1]),
    "cv that cannot calibrate": lambda: GCWSClassifierCV(8, cv=ONE_FOLD, scoring="neg_log_loss").fit(X, Y),
    "cv with an empty fold": lambda: GCWSClassifierCV(8, cv=100).fit(X, Y),
    "cv with one class": lambda: GCWSClassifierCV(8, cv=[(Y == 0, Y == 1)]).fit(X, Y),
    "C": lambda: GCWSClassifier(8, C=1e-31).fit(X, Y),
    "C of blocks": lambda: fitted_blocks(GCWSClassifier(8, C=1e-31)),
    "C of a stream": lambda: GCWSRegressor(8, C=1e-31).partial_fit(X, Y),
    "Cs": lambda: GCWSClassifierCV(8, Cs=[1e-31]).fit(X, Y),
    "Cs that are text": lambda: GCWSRegressorCV(8, Cs=["a"]).fit(X, Y),
    "scoring": lambda: GCWSRegressorCV(8, scoring="best").fit(X, Y),
    "n_jobs": lambda: GCWSClassifier(8, n_jobs=0).fit(X, Y),
    "n_jobs of blocks": lambda: fitted_blocks(GCWSClassifier(8, n_jobs=0)),
    "memory": lambda: fitted_blocks(GCWSClassifier(8), memory=0),
    "loss": lambda: GCWSClassifier(8, loss="best").fit(X, Y),
    "quantile": lambda: GCWSRegressor(8, quantile=2).fit(X, Y),
    "views": lambda: GCWSClassifier(8, views=3).fit(X, Y),
    "t_bits": lambda: GCWSRegressor(8, t_bits=1, gamma=2.0).fit(X, Y),
    "center": lambda: GCWSClassifier(8, center=[1.0]).fit(X, Y),
    "center of blocks": lambda: fitted_blocks(GCWSClassifier(8, center="mean")),
    "scale of blocks": lambda: fitted_blocks(GCWSClassifier(8, scale="standard")),
}


@pytest.mark.parametrize("call", CALLS)
def test_it_is_refused_before_rows_are_hashed(call, monkeypatch):
    monkeypatch.setattr(Hasher, "codes", lambda *_, **__: pytest.fail("rows were hashed"))
    with pytest.raises((ValueError, TypeError)) as caught:
        CALLS[call]()
    assert caught.value.parameter == call.split()[0]
