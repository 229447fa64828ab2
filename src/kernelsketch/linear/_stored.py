"""What every model has for its file: ``save`` and ``load``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ._load import read_model
from ._save import save_model


class Stored:
    """A model that can be written to a file and read from it."""

    def save(self, path: Any) -> None:
        """Write the fitted model to a safetensors file: complete, or not at all.

        The file keeps what predictions need, the parameters, the summary of the training, and what ``partial_fit`` or a
        warm start goes on from. It does not keep the state of a ``RandomState`` (its seed is), and refuses
        parameters that are objects or functions, such as a splitter.

        Parameters
        ----------
        path : str or path
            By custom it ends in ``.safetensors``.
        """
        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that :meth:`save` wrote. Predictions are the same to the last bit.

        Nothing in a file is run: a damaged or hostile one is refused with an
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
