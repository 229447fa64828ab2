"""The tree of errors.

::

    KernelsketchError
    ├── InputError (ValueError)         data or a parameter has a value that cannot be used
    ├── InputTypeError (TypeError)      data or a parameter is of a kind that cannot be used
    ├── BackendError (RuntimeError)     the instruction set asked for is not to be had here
    ├── UnavailableError (OSError)      a dataset is not here and cannot be fetched
    └── MissingExtraError (ImportError) an optional library is not installed

Each is also the built-in error that Python and scikit-learn users expect.
"""


class KernelsketchError(Exception):
    """Base of every error that kernelsketch raises on purpose."""


class InputError(KernelsketchError, ValueError):
    """Data or a parameter has a value that cannot be used."""


class InputTypeError(KernelsketchError, TypeError):
    """Data or a parameter is of a kind that cannot be used."""


class BackendError(KernelsketchError, RuntimeError):
    """The instruction set that was asked for is not to be had on this machine."""


class UnavailableError(KernelsketchError, OSError):
    """A dataset is not on this machine and cannot be fetched; the message says where to get it."""


class MissingExtraError(KernelsketchError, ImportError):
    """An optional library is not installed; the message holds the pip command."""

    def __init__(self, extra: str, library: str) -> None:
        super().__init__(f"{library} is not installed: run  pip install 'kernelsketch[{extra}]'")
