"""Linear models that learn on codes, without ever making the one-hot matrix.

Files::

    _classifier.py   GCWSClassifier        _classifier_cv.py   GCWSClassifierCV
    _regressor.py    GCWSRegressor         _regressor_cv.py    GCWSRegressorCV
    _model.py        what all estimators share: hashing, decision values, coefficients, costs
    _one_vs_rest.py  what the classifiers share: one problem per class, labels, probabilities
    _regression.py   what the regressors share: the unit of the targets, predictions
    _cv.py           what the estimators that choose C share: grid, scores, choice
    _folds.py        folds, and the solutions of every C on each fold
    _row_weights.py  rows of weight 0, which are left out, and the warning about weights that sum to 1
    _scaling.py      fitting of the scaling of columns, and the warning about columns that need it
    _calibration.py  probabilities from out-of-fold decision values of any loss
    _held_out.py     held-out values and calibration, for estimators that make their own folds
    _losses.py       the table of losses, from which everything about a loss in Python follows
    _code_table.py   codes as solvers take them: CodeSource, and CodeTable in memory
    _disk_codes.py   TemporaryCodes and DiskCodeTable: codes in a temporary file, for out-of-core training
    _blocks.py       hashing of a stream of blocks into TemporaryCodes
    _solver.py       Solver: chooses the method, goes on until the duality gap is small, and reports progress
    _descent.py      a method: block dual coordinate descent with shrinking
    _newton.py       a method: Newton's method on symbols
    _problem.py      what the methods share: Targets, Stop, Solution, and the duality gap
    _memory.py       the memory that the solver takes, for the limit of out-of-core training
    _repeats.py      equal rows of codes, which the solver merges first where they are many
    _online.py       solver: one pass over a stream, a proximal step per block of rows
    _model_file.py   estimators to and from the content of model files; _persistence.py (save, load) uses it
    _pipeline.py     conversion to and from scikit-learn pipelines

The way of a row::

    fit          rows -> Scaling, if asked for -> Hasher.codes -> compact: used codes, numbered without gaps
                 -> CodeTable -> Solver: passes of the back end (linear_pass) and duality gaps, or Newton's method
                 where it is faster (newton_step, or newton_solve on a GPU) -> table of weights
    fit_blocks   blocks -> _blocks.hash_blocks -> TemporaryCodes -> CodeTable if the codes fit in memory, otherwise
                 DiskCodeTable, of which a few rows at a time are in memory -> the same solver, with the same bits
    partial_fit  rows -> Hasher.codes -> encode with the used codes so far, widened for new ones
                 -> _online.learn: a proximal step per block -> average of the weights
    predict      rows -> Hasher.codes, in batches -> encode with used_codes_ -> linear_decide of the back end
                 -> decision values -> labels, probabilities or numbers

``reference/linear.py`` specifies the arithmetic of losses and passes, ``reference/newton.py`` that of Newton's method.
CONTRIBUTING.md says how to add a loss.
"""

from ..serving import MODEL_SCHEMA, Calibration, stride_of
from ._calibration import fit_calibration
from ._classifier import GCWSClassifier, resume, stream_state
from ._classifier_cv import GCWSClassifierCV
from ._code_table import find_used_codes
from ._disk_codes import MemoryBoundError
from ._folds import Fold, shuffled_folds
from ._held_out import fit_calibrated, hash_in_parts, held_out_values, row_weights
from ._model import needs_dense, remember_label, remembered_label, scales_rows, whole_or_nothing
from ._model_file import model_content, read_model, restored_model, stored_versions
from ._one_vs_rest import known_rows, probabilities_of
from ._online import OnlineState
from ._regressor import GCWSRegressor
from ._regressor_cv import GCWSRegressorCV

LINEAR_MODELS = {kind.__name__: kind for kind in (GCWSClassifier, GCWSClassifierCV, GCWSRegressor, GCWSRegressorCV)}

__all__ = [
    "LINEAR_MODELS",
    "MODEL_SCHEMA",
    "Calibration",
    "Fold",
    "GCWSClassifier",
    "GCWSClassifierCV",
    "GCWSRegressor",
    "GCWSRegressorCV",
    "MemoryBoundError",
    "OnlineState",
    "find_used_codes",
    "fit_calibrated",
    "fit_calibration",
    "hash_in_parts",
    "held_out_values",
    "known_rows",
    "model_content",
    "needs_dense",
    "probabilities_of",
    "read_model",
    "remember_label",
    "remembered_label",
    "restored_model",
    "resume",
    "row_weights",
    "scales_rows",
    "shuffled_folds",
    "stored_versions",
    "stream_state",
    "stride_of",
    "whole_or_nothing",
]
