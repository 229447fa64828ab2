"""The models that ``compare_mixed.py`` compares on tables: ours, boosted trees, a kernel machine and a network.

``MODELS`` has them by name. Each is a function ``fit(X, y, split, n_classes)`` of a data frame and its targets (class
numbers, or numbers if ``n_classes`` is 0). It returns a fitted model, and a function that predicts the rows of another
frame. ``warm_up`` imports the package of a peer before its first fit, and names the pip command if it is absent.

Tuning is the same for LightGBM, XGBoost and CatBoost: the best of the defaults and 19 random settings by log-loss or
squared error on a quarter of the training rows (three folds below 1,500 rows), where early stopping finds the number of
trees; then the best setting is fitted to all rows. xRFM takes the best of its defaults and four random settings with
the L2 kernel by the same held-out rows, and predicts with the models that were fitted beside them, because it chooses
its iteration by held-out rows. HistGradientBoosting, RealMLP-TD and ChimeraBoost split off rows by themselves, as their
defaults say; RealMLP-TD stops by the log-loss, as its documentation advises where probabilities count.

Boosted trees get categories as such. xRFM and RealMLP refuse gaps in numbers: they get medians, and a column that says
where the gaps were. A column of text that differs in nearly every row is left out. Every model has one thread.
"""

from __future__ import annotations

import pickle
import tempfile
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

SETTINGS, ROUNDS, PATIENCE = 20, 800, 20


def load_package(name, to_install=None):
    """Import the package of a peer, or say how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"This model needs the package {name}: pip install {to_install or name} ({error})") from error


def random_settings(n, **ranges):
    """Return no setting, for the defaults, and n - 1 random ones: each range is a function of a random generator."""
    rng = np.random.default_rng(7)
    return [{}] + [{name: draw(rng) for name, draw in ranges.items()} for _ in range(n - 1)]


def log_uniform(low, high, kind=float):
    return lambda rng: kind(np.exp(rng.uniform(np.log(low), np.log(high))))


def uniform(low, high):
    return lambda rng: float(rng.uniform(low, high))


def folds_of(y, split, is_class):
    """Return training and held-out rows of the tuning: a quarter held out, or three folds below 1,500 rows."""
    rows = np.arange(len(y))
    if len(y) >= 1500:
        return [train_test_split(rows, test_size=0.25, random_state=split, stratify=y if is_class else None)]
    return list((StratifiedKFold if is_class else KFold)(3, shuffle=True, random_state=split).split(rows, y))


def best_of(tried, folds, fit_fold):
    """Return the best setting and the number of trees for it.

    ``fit_fold(setting, train, held_out)`` returns a loss, a number of trees, and what the setting resolves to. Losses
    and numbers of trees are means over folds.
    """
    found = []
    for setting in tried:
        losses, trees, resolved = zip(*(fit_fold(setting, *fold) for fold in folds), strict=True)
        found.append((float(np.mean(losses)), round(float(np.mean(trees))), resolved[0]))
    return min(found, key=lambda one: one[0])[1:]


def reader(X, most=None):
    """Return a function that gives a frame numbers and categories, by what ``X`` has.

    A column of text that differs in nearly every row is left out. Beyond the ``most`` frequent values, a category is
    missing.
    """
    known = {}
    for name in X:
        if pd.api.types.is_numeric_dtype(X[name]):
            known[name] = None
        elif X[name].nunique() <= 0.9 * len(X):
            known[name] = sorted(X[name].value_counts().index[:most], key=str)

    def read(frame):
        columns = ((frame[name], values) for name, values in known.items())
        made = [
            x.astype(float) if values is None else pd.Categorical(x.where(x.isin(values)), values)
            for x, values in columns
        ]
        return pd.DataFrame({f"c{i}": column for i, column in enumerate(made)})

    return read


def categories_of(frame):
    return [name for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)]


def two_columns(found, n_classes):
    """Return the probabilities of both classes where a model gives those of the second."""
    return np.column_stack([1 - found, found]) if n_classes == 2 else found


def loss_of(predicted, y, n_classes):
    """Return the log-loss, or the squared error."""
    if n_classes == 0:
        return np.mean((predicted - y) ** 2)
    return -np.log(np.clip(predicted[np.arange(len(y)), y], 1e-7, 1)).mean()


def lightgbm(X, y, split, n_classes, tried):
    package, read = load_package("lightgbm"), reader(X)
    X = read(X)
    kinds = {0: {"objective": "l2"}, 2: {"objective": "binary"}}
    common = kinds.get(n_classes, {"objective": "multiclass", "num_class": n_classes})
    common |= {"verbosity": -1, "num_threads": 1, "seed": split, "deterministic": True, "force_row_wise": True}
    common |= {"min_data_in_bin": 3, "feature_pre_filter": False}
    best = (np.inf, 100, {})
    data = package.Dataset(X, y, free_raw_data=False, params=common)
    for setting in tried:  # its cv stops all folds at the same number of trees
        stop = [package.early_stopping(PATIENCE, verbose=False)]
        folds = folds_of(y, split, n_classes > 0)
        found = package.cv({**common, **setting}, data, num_boost_round=ROUNDS, folds=folds, callbacks=stop)
        losses = next(values for name, values in found.items() if name.endswith("-mean"))
        best = min(best, (min(losses), len(losses), setting), key=lambda one: one[0])
    model = package.train({**common, **best[2]}, package.Dataset(X, y, params=common), num_boost_round=best[1])
    return model, lambda rows: two_columns(model.predict(read(rows), num_threads=1), n_classes)


LIGHTGBM_SETTINGS = random_settings(
    SETTINGS,
    learning_rate=log_uniform(0.02, 0.2),
    num_leaves=log_uniform(4, 96, int),
    min_data_in_leaf=log_uniform(2, 60, int),
    feature_fraction=uniform(0.4, 1),
    bagging_fraction=uniform(0.6, 1),
    bagging_freq=lambda rng: 1,
    lambda_l2=log_uniform(0.01, 10),
    cat_smooth=log_uniform(1, 100),
    min_data_per_group=log_uniform(5, 100, int),
)


def xgboost(X, y, split, n_classes, tried):
    package, read = load_package("xgboost", "xgboost-cpu"), reader(X)
    X = read(X)
    kinds = {0: {"objective": "reg:squarederror"}, 2: {"objective": "binary:logistic", "eval_metric": "logloss"}}
    several = {"objective": "multi:softprob", "num_class": n_classes, "eval_metric": "mlogloss"}
    common = {**kinds.get(n_classes, several), "nthread": 1, "seed": split, "tree_method": "hist", "verbosity": 0}

    def matrix(rows, targets=None):
        return package.DMatrix(rows, targets, nthread=1, enable_categorical=True)

    parts = [[matrix(X.iloc[rows], y[rows]) for rows in fold] for fold in folds_of(y, split, n_classes > 0)]

    def fit_fold(setting, train, held_out):
        stop = {"evals": [(held_out, "")], "early_stopping_rounds": PATIENCE, "verbose_eval": False}
        model = package.train({**common, **setting}, train, ROUNDS, **stop)
        return model.best_score, model.best_iteration + 1, setting

    trees, setting = best_of(tried, parts, fit_fold) if tried else (100, {})
    model = package.train({**common, **setting}, matrix(X, y), trees)
    return model, lambda rows: two_columns(model.predict(matrix(read(rows))), n_classes)


XGBOOST_SETTINGS = random_settings(
    SETTINGS,
    learning_rate=log_uniform(0.02, 0.3),
    max_depth=lambda rng: int(rng.integers(2, 10)),
    min_child_weight=log_uniform(0.5, 20),
    subsample=uniform(0.6, 1),
    colsample_bytree=uniform(0.4, 1),
    reg_lambda=log_uniform(0.01, 10),
    max_cat_to_onehot=log_uniform(2, 32, int),
)


def catboost(X, y, split, n_classes, tried):
    package, base = load_package("catboost"), reader(X)
    names = categories_of(base(X))

    def read(rows):
        frame = base(rows)
        for name in names:  # categories are text here, and a gap is one of them
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "missing").astype(str)
        return frame

    X = read(X)
    kind = package.CatBoostClassifier if n_classes else package.CatBoostRegressor
    common = {"cat_features": names, "thread_count": 1, "random_seed": split, "verbose": 0}
    common |= {"allow_writing_files": False}

    def fit_fold(setting, train, held_out):
        stop = {"iterations": ROUNDS, "early_stopping_rounds": PATIENCE, "use_best_model": True}
        model = kind(**common, **setting, **stop)
        model.fit(X.iloc[train], y[train], eval_set=(X.iloc[held_out], y[held_out]))
        loss = next(value for name, value in model.get_best_score()["validation"].items() if name != "AUC")
        resolved = {**setting, "learning_rate": model.learning_rate_}  # the default depends on the number of trees
        return loss, model.get_best_iteration() + 1, resolved

    folds = folds_of(y, split, n_classes > 0)
    trees, setting = best_of(tried, folds, fit_fold) if tried else (None, {})
    model = kind(**common, **setting, iterations=trees).fit(X, y)
    return model, lambda rows: (model.predict_proba if n_classes else model.predict)(read(rows))


CATBOOST_SETTINGS = random_settings(
    SETTINGS,
    learning_rate=log_uniform(0.02, 0.3),
    depth=lambda rng: int(rng.integers(3, 9)),
    l2_leaf_reg=log_uniform(0.5, 20),
    random_strength=log_uniform(0.3, 5),
    bagging_temperature=uniform(0, 1),
    one_hot_max_size=log_uniform(2, 32, int),
)


def hist_gradient_boosting(X, y, split, n_classes):
    read = reader(X, most=254)  # it takes at most 255 categories
    kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    model = kind(categorical_features="from_dtype", early_stopping=True, random_state=split).fit(read(X), y)
    return model, lambda rows: (model.predict_proba if n_classes else model.predict)(read(rows))


def chimeraboost(X, y, split, n_classes):
    package, read = load_package("chimeraboost"), reader(X)
    X = read(X)
    kind = package.ChimeraBoostClassifier if n_classes else package.ChimeraBoostRegressor
    model = kind(thread_count=1, random_state=split).fit(X, y, cat_features=categories_of(X))
    return model, lambda rows: (model.predict_proba if n_classes else model.predict)(read(rows))


def filler(X):
    """Return a function that reads a frame, and has medians and columns of 0 and 1 in place of gaps in numbers."""
    base = reader(X)
    made = base(X)
    categories = categories_of(made)
    medians = made.drop(columns=categories).median()
    gaps = [name for name in medians.index if made[name].isna().any()]

    def read(rows):
        frame = base(rows)
        marks = frame[gaps].isna().astype(float).add_suffix("_gap")
        return pd.concat([frame.fillna(medians), marks], axis=1)

    return read


def xrfm(X, y, split, n_classes):
    load_package("xrfm")
    package, read = load_package("pytabkit"), filler(X)
    X = read(X)
    kind = package.XRFM_D_Classifier if n_classes else package.XRFM_D_Regressor
    metric = {"val_metric_name": "cross_entropy"} if n_classes else {}
    folds, found = folds_of(y, split, n_classes > 0), []

    def predicted_by(models, rows):
        return np.mean([model.predict_proba(rows) if n_classes else model.predict(rows) for model in models], axis=0)

    for setting in XRFM_SETTINGS:
        losses, models = [], []
        for train, held_out in folds:
            model = kind(device="cpu", n_threads=1, random_state=split, **metric, **setting)
            model.fit(X.iloc[train], y[train], X.iloc[held_out], y[held_out])
            losses.append(loss_of(predicted_by([model], X.iloc[held_out]), y[held_out], n_classes))
            models.append(model)
        found.append((np.mean(losses), models))
    models = min(found, key=lambda one: one[0])[1]
    return models, lambda rows: predicted_by(models, read(rows))


XRFM_SETTINGS = random_settings(
    5,
    bandwidth=log_uniform(1, 100),
    reg=log_uniform(1e-5, 1),
    exponent=uniform(0.7, 1.4),
    diag=lambda rng: bool(rng.integers(2)),
)


def realmlp(X, y, split, n_classes):
    package, read = load_package("pytabkit"), filler(X)
    kind = package.RealMLP_TD_Classifier if n_classes else package.RealMLP_TD_Regressor
    metric = (
        {"val_metric_name": "cross_entropy", "use_ls": False} if n_classes else {}
    )  # its advice for log-loss and AUC
    model = kind(device="cpu", n_threads=1, random_state=split, **metric).fit(read(X), y)
    return model, lambda rows: (model.predict_proba if n_classes else model.predict)(read(rows))


def ours(X, y, split, n_classes, effort):
    from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

    model = (GCWSTabularClassifier if n_classes else GCWSTabularRegressor)(effort, random_state=split).fit(X, y)
    return model, model.predict_proba if n_classes else model.predict


MODELS = {
    "ours": partial(ours, effort="default"),
    "ours-thorough": partial(ours, effort="thorough"),
    "LightGBM-defaults": partial(lightgbm, tried=[]),
    "LightGBM-20": partial(lightgbm, tried=LIGHTGBM_SETTINGS),
    "XGBoost-defaults": partial(xgboost, tried=[]),
    "XGBoost-20": partial(xgboost, tried=XGBOOST_SETTINGS),
    "CatBoost-defaults": partial(catboost, tried=[]),
    "CatBoost-20": partial(catboost, tried=CATBOOST_SETTINGS),
    "HistGradientBoosting": hist_gradient_boosting,
    "ChimeraBoost": chimeraboost,
    "xRFM-5": xrfm,
    "RealMLP-TD": realmlp,
}
PACKAGES = {  # names to import, and to install
    "ours": {"kernelsketch": "kernelsketch"},
    "LightGBM": {"lightgbm": "lightgbm"},
    "XGBoost": {"xgboost": "xgboost-cpu"},
    "CatBoost": {"catboost": "catboost"},
    "HistGradientBoosting": {"sklearn": "scikit-learn"},
    "ChimeraBoost": {"chimeraboost.warmup": "chimeraboost"},
    "xRFM": {"xrfm": "xrfm", "pytabkit": "pytabkit"},
    "RealMLP": {"pytabkit": "pytabkit"},
}


def packages_of(model):
    return PACKAGES.get(model.split("-")[0], {})


@cache
def warm_up(model):
    """Import the packages of a model, and compile ChimeraBoost, so that the first fit does not count it."""
    for name, to_install in packages_of(model).items():
        package = load_package(name, to_install)
        if name.endswith(".warmup"):
            package.warmup()


def version_of(model):
    """Return the version of the package of a model. Of ours, the .json file names the commit, too."""
    for name in packages_of(model).values():
        for one in (name, name.removesuffix("-cpu")):
            try:
                return version(one)
            except PackageNotFoundError:
                continue
    return ""


def bytes_of(model):
    """Return the size of a model: of its file if it is ours, otherwise of the pickled model."""
    if type(model).__module__.startswith("kernelsketch"):
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.safetensors")
            return (Path(folder) / "model.safetensors").stat().st_size
    return len(pickle.dumps(model))
