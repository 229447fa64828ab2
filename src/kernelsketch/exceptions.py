"""Every error that kernelsketch raises on purpose, as a tree of classes.

::

    KernelsketchError
    ├── InputError (ValueError)         data or a parameter has an invalid value
    ├── InputTypeError (TypeError)      data or a parameter has an invalid type
    ├── BackendError (RuntimeError)     the requested back end is not available on this machine
    ├── UnavailableError (OSError)      a dataset is not on this machine and cannot be downloaded
    └── MissingExtraError (ImportError) an optional library is not installed

Each class also derives from the built-in error (in parentheses) that users of Python and scikit-learn expect.
``ScaleWarning`` (UserWarning) is the only warning.
"""


class KernelsketchError(Exception):
    """Base class of every error that kernelsketch raises on purpose."""


class InputError(KernelsketchError, ValueError):
    """Data or a parameter has an invalid value."""


class InputTypeError(KernelsketchError, TypeError):
    """Data or a parameter has an invalid type."""


class BackendError(KernelsketchError, RuntimeError):
    """The requested back end is not available on this machine."""


class UnavailableError(KernelsketchError, OSError):
    """A dataset is not on this machine and cannot be downloaded. The message says where to get it."""


class ScaleWarning(UserWarning):
    """A few columns hold nearly all the weight of the rows, so a model hardly sees the others."""


class MissingExtraError(KernelsketchError, ImportError):
    """An optional library is not installed. The message gives the pip command that installs it."""

    def __init__(self, extra: str, library: str) -> None:
        super().__init__(f"{library} is not installed: run  pip install 'kernelsketch[{extra}]'")
