"""Linear models that learn on codes, without ever making the one-hot matrix.

Files::

    _classifier.py   GCWSClassifier        _regressor.py   GCWSRegressor        _cv.py   GCWSClassifierCV
    _model.py        what all estimators share: hashing, decision values, coefficients, costs
    _one_vs_rest.py  what the classifiers share: one problem per class, labels, probabilities
    _losses.py       the table of losses, from which everything about a loss in Python follows
    _code_table.py   codes as solvers take them: CodeSource, and CodeTable in memory
    _disk_codes.py   TemporaryCodes and DiskCodeTable: codes in a temporary file, for out-of-core training
    _blocks.py       hashing of a stream of blocks into TemporaryCodes
    _dual.py         solver: block dual coordinate descent with shrinking, until the duality gap is small
    _online.py       solver: one pass over a stream, a proximal step per block of rows
    _model_file.py   the schema of model files; _persistence.py (save, load) and _load_model.py use it
    _pipeline.py     conversion to and from scikit-learn pipelines

The way of a row::

    fit          rows -> Hasher.codes -> compact: used codes, numbered without gaps -> CodeTable
                 -> _dual.solve: passes of the back end (linear_pass) and duality gaps -> table of weights
    fit_blocks   blocks -> _blocks.hash_blocks -> TemporaryCodes -> CodeTable if the codes fit in memory, otherwise
                 DiskCodeTable, which passes over one segment at a time -> the same solver, the same weights
    partial_fit  rows -> Hasher.codes -> encode with the used codes so far, widened for new ones
                 -> _online.learn: a proximal step per block -> average of the weights
    predict      rows -> Hasher.codes, in batches -> encode with used_codes_ -> linear_decide of the back end
                 -> decision values -> labels, probabilities or numbers

``reference/linear.py`` specifies the arithmetic of losses and passes. CONTRIBUTING.md says how to add a loss.
"""

from ._classifier import GCWSClassifier, resume, stream_state
from ._code_table import find_used_codes, stride_of
from ._cv import GCWSClassifierCV
from ._disk_codes import MemoryBoundError
from ._load_model import load_model
from ._one_vs_rest import probabilities_of
from ._online import OnlineState
from ._regressor import GCWSRegressor

__all__ = [
    "GCWSClassifier",
    "GCWSClassifierCV",
    "GCWSRegressor",
    "MemoryBoundError",
    "OnlineState",
    "find_used_codes",
    "load_model",
    "probabilities_of",
    "resume",
    "stream_state",
    "stride_of",
]
