"""``load_model``: read a model file without knowing the class of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..linear import LINEAR_MODELS, read_model
from ..storage import read_header
from ._classifier import GCWSTabularClassifier
from ._file import SEVERAL_FORMAT, TABULAR_FORMAT, read_tabular
from ._regressor import GCWSTabularRegressor

TABULAR_MODELS = {kind.__name__: kind for kind in (GCWSTabularClassifier, GCWSTabularRegressor)}


def load_model(path: Any) -> Any:
    """Read a model of any class from the file that its ``save`` wrote.

    Loading runs nothing that the file contains. A damaged or hostile file raises an
    :class:`~kernelsketch.exceptions.InputError`.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model : GCWSClassifier, GCWSClassifierCV, GCWSRegressor or GCWSRegressorCV
        The fitted model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch import GCWSClassifier, load_model
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCWSClassifier(n_components=64).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "digits.safetensors")
    ...     again = load_model(Path(folder) / "digits.safetensors")
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    path = Path(path)
    if read_header(path).get("format") in (TABULAR_FORMAT, SEVERAL_FORMAT):
        return read_tabular(path, TABULAR_MODELS)
    return read_model(path, LINEAR_MODELS)
