"""From a table of data to a tuned and calibrated model, without knowing the field.

Files::

    _estimators.py   GCWSTabularClassifier, GCWSTabularRegressor        _relevance.py   RelevanceScaler
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
    _weights.py      weights of columns, by gradient descent on the held-out error of a kernel machine
    _trees.py        boosted trees as arrays
    _learn.py        from features to a model: folds, C, calibration, blend, final fit
    _tree_fit.py     trees of a fit: of folds, or of the rows apart from the kernel machine
    _boosting.py     boosted trees beside the kernel machine, and their share in the blend
    _goals.py        what a fit optimises: scores by scikit-learn's names, thresholds, losses of rows
    _scores.py       held-out scores with standard errors
    _tree_losses.py  losses of the trees of a regression; _quantiles.py, weighted quantiles
    _root_link.py    counts from their square roots
    _effort.py       how much work a fit does: efforts by name, and budgets in seconds
    _importances.py  importances of columns, and their plot; _html.py shows them in notebooks
    _explain.py      contributions of columns to predictions: Shapley values, or credits
    _credit.py       credits of columns for the hashes and the leaves of a row
    _explanation.py  explanations as values, in notebooks and for shap; _waterfall.py draws them
    _file.py         the schema of files of tabular models; _load_model.py reads any model

The way of a table::

    fit      X -> read_table -> TablePlan.of -> features -> Learner: mean targets of categories, plain_views (scales,
             components), per fold weighted_views -> union_of_views: columns of the views of all folds side by side
             -> codes, a hash per view
             -> per fold a linear model on its codes -> held-out values: C, calibration, share of the trees, temperature
             -> linear model on all codes of all rows
    predict  X -> read_table -> TablePlan.encode -> Views.transform -> the linear model -> blend with the trees
"""

from ._columns import ColumnPlan, plan_column
from ._effort import EFFORTS, summary_of
from ._estimators import GCWSTabularClassifier, GCWSTabularRegressor
from ._explanation import Explanation, shown
from ._frame import Table
from ._load_model import load_model
from ._read import read_table
from ._relevance import RelevanceScaler
from ._statistics import FEWEST_CATEGORIES, MOST_CLASSES
from ._text import text_table
from ._values import is_missing_text

__all__ = [
    "EFFORTS",
    "FEWEST_CATEGORIES",
    "MOST_CLASSES",
    "ColumnPlan",
    "Explanation",
    "GCWSTabularClassifier",
    "GCWSTabularRegressor",
    "RelevanceScaler",
    "Table",
    "is_missing_text",
    "load_model",
    "plan_column",
    "read_table",
    "shown",
    "summary_of",
    "text_table",
]
