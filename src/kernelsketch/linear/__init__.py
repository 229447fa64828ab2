"""Linear models that learn on codes, without ever making the one-hot matrix.

Files::

    _classifier.py   GCWSClassifier, GCWSClassifierCV      _regressor.py   GCWSRegressor, GCWSRegressorCV
    _base.py         the parameters and methods that all four share, fit above all; what it sets: fitted_ and training_
    _fit.py          learning with a given C, also by fit_blocks and partial_fit
    _search.py       learning with a C that held-out rows choose: cross-validation, held-out values
    _targets.py      Classes and Numbers: targets as problems of the solver; RowWeights: weights and costs of rows
    _training.py     Training: the state of warm starts and of one-pass learning, which makes a step per block of rows
    _folds.py        folds, the solutions of every C on each fold, and the calibration of what they say
    _calibration.py  probabilities from out-of-fold decision values of any loss
    _code_table.py   CodeTable: codes as solvers take them
    _disk_codes.py   TemporaryCodes and DiskCodeTable: codes in a temporary file, and the memory that training takes
    _blocks.py       hashing of a stream of blocks into TemporaryCodes
    _solver.py       Solver: chooses the method, goes on until the duality gap is small, and reports FitProgress
    _descent.py      a method: block dual coordinate descent with shrinking
    _newton.py       a method: Newton's method on symbols
    _problem.py      what the methods share: Targets, Stop, Solution, and the duality gap
    _repeats.py      equal rows of codes, which the solver merges first where they are many
    _model_file.py   estimators to and from the content of model files
    _pipeline.py     conversion to and from scikit-learn pipelines

A fitted model is a :class:`~kernelsketch.serving.LinearModel`; ``serving`` predicts, saves and loads it.

``_losses.py`` beside the packages is the table of losses, ``_loss_formulas.py`` specifies them. ``reference/linear.py``
specifies the arithmetic of passes, ``reference/newton.py`` that of Newton's method.
CONTRIBUTING.md draws the way of a row and says how to add a loss.
"""

from ._base import whole_or_nothing
from ._calibration import fit_calibration
from ._classifier import GCWSClassifier, GCWSClassifierCV
from ._code_table import find_used_codes
from ._disk_codes import MemoryBoundError
from ._folds import Fold, known_rows, shuffled_folds
from ._model_file import estimator_content, read_model, restored_model
from ._regressor import GCWSRegressor, GCWSRegressorCV
from ._search import counted_rows, hash_in_parts, held_out_values
from ._solver import FitProgress
from ._training import OnlineState, Training

LINEAR_MODELS = {kind.__name__: kind for kind in (GCWSClassifier, GCWSClassifierCV, GCWSRegressor, GCWSRegressorCV)}

__all__ = [
    "LINEAR_MODELS",
    "FitProgress",
    "Fold",
    "GCWSClassifier",
    "GCWSClassifierCV",
    "GCWSRegressor",
    "GCWSRegressorCV",
    "MemoryBoundError",
    "OnlineState",
    "Training",
    "counted_rows",
    "estimator_content",
    "find_used_codes",
    "fit_calibration",
    "hash_in_parts",
    "held_out_values",
    "known_rows",
    "read_model",
    "restored_model",
    "shuffled_folds",
    "whole_or_nothing",
]
