"""Every error that kernelsketch raises on purpose, as a tree of classes.

::

    KernelsketchError
    ├── InputError (ValueError)         data or a parameter has an invalid value
    ├── InputTypeError (TypeError)      data or a parameter has an invalid type
    ├── BackendError (RuntimeError)     the requested back end is not available on this machine
    ├── UnavailableError (OSError)      a dataset is not on this machine and cannot be downloaded
    └── MissingExtraError (ImportError) an optional library is not installed

Each class also derives from the built-in error (in parentheses) that users of Python and scikit-learn expect.
Their messages show values as Python writes them, ``0.0`` rather than ``np.float64(0.0)``. The warnings are
``ScaleWarning`` and ``RangeWarning`` (UserWarning).
"""

import re
from typing import Any

_SCALARS = r"float\d+|longdouble|u?int\d+|u?longlong|bool_?|str_|bytes_|complex\d+|datetime64|timedelta64"
_NUMPY = re.compile(
    rf"""\bnp\.(?:True_|False_|(?:{_SCALARS})\((?P<inner>b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*"|[^()'"]*)\))"""
)


def plain(text: str) -> str:
    """Return a text in which NumPy's scalars are written as Python's are.

    >>> plain("got np.float64(0.0), np.str_('a') and [np.int64(3), np.True_]")
    "got 0.0, 'a' and [3, True]"
    """

    def value(found: re.Match[str]) -> str:
        inner = found["inner"]
        return inner if inner is not None else found[0][3:-1]

    return _NUMPY.sub(value, text)


class KernelsketchError(Exception):
    """Base class of every error that kernelsketch raises on purpose."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(plain(arg) if isinstance(arg, str) else arg for arg in args))


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


class ColumnWarning(UserWarning):
    """A column of a table looks like numbers or dates, but its notation leaves a doubt, so it may be read wrongly.

    The warning names the column, what it looks like, how it is read, and what to do.
    """


class RangeWarning(UserWarning):
    """Some query rows hold values that float32 cannot hold at the scale of an index, so they have no neighbours."""


class MissingExtraError(KernelsketchError, ImportError):
    """An optional library is not installed. The message gives the pip command that installs it."""

    def __init__(self, extra: str, library: str) -> None:
        super().__init__(f"{library} is not installed: run  pip install 'kernelsketch[{extra}]'")
