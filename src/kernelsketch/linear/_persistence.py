"""``save`` and ``load`` of every model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ._model_file import read_model, save_model


class Persistent:
    """A model that can be written to a file and read from it."""

    def save(self, path: Any) -> None:
        """Write the fitted model to a safetensors file atomically.

        The file holds what predictions need, the parameters, a summary of the training, and the state from which
        ``partial_fit`` or a warm start continues. Of a ``RandomState`` it holds the seed only. Parameters that are
        objects or functions, such as a splitter, are refused.

        Parameters
        ----------
        path : str or path
            By convention it ends in ``.safetensors``.
        """
        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that :meth:`save` wrote. Its predictions are the same to the last bit.

        Loading runs nothing that the file contains. A damaged or hostile file raises an
        :class:`~kernelsketch.exceptions.InputError`.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        model : an estimator of this class
        """
        model: Self = read_model(Path(path), {cls.__name__: cls})
        return model
