"""load_model: a model of any class from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._classifier import GCWSClassifier
from ._cv import GCWSClassifierCV
from ._load import read_model
from ._regressor import GCWSRegressor

MODELS = {kind.__name__: kind for kind in (GCWSClassifier, GCWSClassifierCV, GCWSRegressor)}


def load_model(path: Any) -> Any:
    """Read a model that was written by its ``save``, of whatever class.

    Nothing in a file is run: a damaged or hostile one is refused with an
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
