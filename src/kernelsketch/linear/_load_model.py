"""``load_model``: read a model of any class from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._classifier import GCWSClassifier
from ._cv import GCWSClassifierCV
from ._model_file import read_model
from ._regressor import GCWSRegressor

MODELS = {kind.__name__: kind for kind in (GCWSClassifier, GCWSClassifierCV, GCWSRegressor)}


def load_model(path: Any) -> Any:
    """Read a model of any class from the file that its ``save`` wrote.

    Loading runs nothing that the file contains. A damaged or hostile file raises an
    :class:`~kernelsketch.exceptions.InputError`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    model : GCWSClassifier, GCWSClassifierCV or GCWSRegressor

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
    return read_model(Path(path), MODELS)
