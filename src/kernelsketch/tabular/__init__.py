"""From a table of data to a tuned and calibrated model, without knowing the field.

Files::

    _classifier.py   GCWSTabularClassifier                              _relevance.py   RelevanceScaler
    _regressor.py    GCWSTabularRegressor; _base.py has what both share
    _read.py         data frames, arrays and lists of dicts as tables
    _frame.py        tables: columns of numbers, dates and categories
    _values.py       values of columns: Python objects and text as numbers, dates and names of categories
    _notation.py     notations of numbers and dates in text, found from all rows of a column
    _text.py         tables whose cells are text, as CSV files have them
    _choices.py      what the user decides: categories by choice, columns left out, what infinity is
    _columns.py      what is done to each column, learned from the training rows
    _free_text.py    free text as numbers: frequent words, and components of shingles
    _features.py     the features that come out, in a few bytes per cell of the table
    _statistics.py   mean targets of categories as further features, with own ones for each fold
    _views.py        three views of the features: standardized, quantiles, principal components
    _view_fit.py     how views are learned; _text_fit.py does it for free text
    _weights.py      weights of columns, by gradient descent on the held-out error of a kernel machine
    _teacher.py      soft labels: probabilities of classes as targets, such as those of another model
    _several.py      several outputs, with a model for each
    _trees.py        boosted trees as arrays
    _learn.py        from features to a model: folds, C, calibration, blend, final fit
    _tree_fit.py     trees of a fit: of folds, or of the rows apart from the kernel machine
    _boosting.py     boosted trees beside the kernel machine, and their share in the blend
    _goals.py        what a fit optimises: scores by scikit-learn's names, thresholds, losses of rows
    _scores.py       held-out scores with standard errors
    _tree_losses.py  losses of the trees of a regression; _quantiles.py, weighted quantiles
    _root_link.py    counts from their square roots
    _effort.py       how much work a fit does: efforts by name, and budgets in seconds
    _interrupts.py   Ctrl-C that ends a fit early
    _model.py        TableModel: what a fitted model is, for estimators and predictors
    _predictor.py    TablePredictor, for a few rows at a time; _row.py reads one row of Python values
    _importances.py  importances of columns, and their plot; _html.py shows them in notebooks
    _explain.py      contributions of columns to predictions: Shapley values, or credits
    _shapley.py      sampled Shapley values of a whole model; _credit.py, credits of columns for the hashes of a row
    _progress.py     progress of work on rows
    _explanation.py  explanations as values, in notebooks and for shap; _waterfall.py draws them
    _masker.py       background rows with text for the explainers of shap
    _file.py         the schema of files of tabular models; _load_model.py reads any model

The way of a table::

    fit      X -> read_table -> TablePlan.of -> features -> Learner: mean targets of categories, plain_views (scales,
             components), per fold weighted_views -> union_of_views: columns of the views of all folds side by side
             -> codes, a hash per view
             -> per fold a linear model on its codes -> held-out values: C, calibration, share of the trees, temperature
             -> linear model on all codes of all rows
    predict  X -> read_table -> TablePlan.encode -> Views.transform -> the linear model -> blend with the trees
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers; _HOMES has the same names
    from ._classifier import GCWSTabularClassifier as GCWSTabularClassifier
    from ._columns import MOST_CATEGORIES as MOST_CATEGORIES
    from ._columns import ColumnPlan as ColumnPlan
    from ._columns import plan_column as plan_column
    from ._effort import EFFORTS as EFFORTS
    from ._effort import summary_of as summary_of
    from ._explanation import Explanation as Explanation
    from ._explanation import shown as shown
    from ._file import TABULAR_SCHEMA as TABULAR_SCHEMA
    from ._frame import Table as Table
    from ._load_model import load_model as load_model
    from ._masker import TableMasker as TableMasker
    from ._predictor import TablePredictor as TablePredictor
    from ._read import read_table as read_table
    from ._regressor import GCWSTabularRegressor as GCWSTabularRegressor
    from ._relevance import RelevanceScaler as RelevanceScaler
    from ._statistics import FEWEST_CATEGORIES as FEWEST_CATEGORIES
    from ._statistics import MOST_CLASSES as MOST_CLASSES
    from ._text import text_table as text_table
    from ._values import is_missing_text as is_missing_text

_HOMES = {
    "_columns": ("MOST_CATEGORIES", "ColumnPlan", "plan_column"),
    "_effort": ("EFFORTS", "summary_of"),
    "_classifier": ("GCWSTabularClassifier",),
    "_regressor": ("GCWSTabularRegressor",),
    "_explanation": ("Explanation", "shown"),
    "_file": ("TABULAR_SCHEMA",),
    "_frame": ("Table",),
    "_load_model": ("load_model",),
    "_masker": ("TableMasker",),
    "_predictor": ("TablePredictor",),
    "_read": ("read_table",),
    "_relevance": ("RelevanceScaler",),
    "_statistics": ("FEWEST_CATEGORIES", "MOST_CLASSES"),
    "_text": ("text_table",),
    "_values": ("is_missing_text",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "EFFORTS",
    "FEWEST_CATEGORIES",
    "MOST_CLASSES",
    "TABULAR_SCHEMA",
    "ColumnPlan",
    "Explanation",
    "GCWSTabularClassifier",
    "GCWSTabularRegressor",
    "RelevanceScaler",
    "Table",
    "TableMasker",
    "TablePredictor",
    "is_missing_text",
    "load_model",
    "plan_column",
    "read_table",
    "shown",
    "summary_of",
    "text_table",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a process that only predicts imports neither scikit-learn nor SciPy."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value
