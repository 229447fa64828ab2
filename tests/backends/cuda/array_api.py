"""What scikit-learn does with arrays of a GPU, with its array API dispatch; test_gpu.py runs this script."""

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import kernelsketch as ks


def main():
    import cupy
    import torch

    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    folds = KFold(3, shuffle=True, random_state=0)
    expected = cross_val_score(ks.GCWSClassifier(64), X, y, cv=folds)
    sklearn.set_config(array_api_dispatch=True)
    for place in (cupy.asarray, lambda x: torch.from_numpy(x).cuda()):
        rows, labels = place(X), place(y)
        kind = type(rows)
        scores = cross_val_score(ks.GCWSClassifier(64), rows, labels, cv=folds)
        np.testing.assert_allclose(scores, expected, atol=0.02)
        train, test, y_train, y_test = train_test_split(rows, labels, random_state=0)
        assert type(train) is kind
        pipeline = make_pipeline(MinMaxScaler(), ks.GCWSClassifier(64)).fit(train, y_train)
        assert type(pipeline.predict(test)) is kind
        assert pipeline.score(test, y_test) > 0.8
        assert accuracy_score(y_test, pipeline.predict(test)) == pipeline.score(test, y_test)
        search = GridSearchCV(pipeline, {"gcwsclassifier__C": [0.1, 1.0]}, cv=folds).fit(rows, labels)
        assert search.best_score_ > 0.8
        regressor = ks.GCWSRegressor(64).fit(train, y_train)
        assert r2_score(y_test, regressor.predict(test)) > 0.5


if __name__ == "__main__":
    main()
