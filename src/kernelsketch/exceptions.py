"""Every error that kernelsketch raises on purpose, as a tree of classes.

::

    KernelsketchError
    ├── InputError (ValueError)         data or a parameter has an invalid value
    │   └── ParameterError              a parameter of an estimator has a value that it cannot have with any data
    ├── InputTypeError (TypeError)      data or a parameter has an invalid type
    ├── BackendError (RuntimeError)     the requested back end is not available on this machine
    ├── UnavailableError (OSError)      a dataset is not on this machine and cannot be downloaded
    └── MissingExtraError (ImportError) an optional library is not installed

Each class also derives from the built-in error (in parentheses) that users of Python and scikit-learn expect.
Their messages show values as Python writes them, ``0.0`` rather than ``np.float64(0.0)``. The warnings are
``ScaleWarning``, ``ColumnWarning``, ``RowsWarning``, ``InterruptWarning`` and ``RangeWarning`` (UserWarning).

``error.parameter`` is the name of the parameter that an error is about, or None. A message may mention parameters as
``Setting``, which the command line shows as the options that set them::

    raise InputError(Setting("t_bits", 3), " cannot be used with ", Setting("gamma", 0.5), ".")
    Python: t_bits=3 cannot be used with gamma=0.5.        .parameter is "t_bits", with which the message begins
    shell:  --t-bits 3 cannot be used with --gamma 0.5.
"""

from __future__ import annotations

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


_NOTHING = object()


class Setting(str):
    """A parameter in a message, with a value or without. As a string it is written as in Python.

    >>> print(Setting("gamma"), Setting("gamma", 0.5), Setting("gamma", ...), sep=" | ")
    gamma | gamma=0.5 | gamma=...
    """

    parameter: str
    value: str | bool | None  # as a shell takes it; None if the message gives none

    def __new__(cls, parameter: str, value: Any = _NOTHING, *, text: str | None = None) -> Setting:
        has_value = value is not _NOTHING and value is not ...
        if text is None:
            shown = repr(value) if has_value else "..."
            text = parameter if value is _NOTHING else plain(f"{parameter}={shown}")
        made = super().__new__(cls, text)
        made.parameter = parameter
        made.value = (value if isinstance(value, bool) else str(value)) if has_value else None
        return made


class Sentence(str):
    """A text that is known in parts, some of which are settings.

    >>> Sentence("Pass ", Setting("header", True), ".")
    'Pass header=True.'
    """

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Sentence:
        flat = [inner for part in parts for inner in (part.parts if isinstance(part, Sentence) else (part,))]
        known = tuple(part if isinstance(part, Setting) else plain(str(part)) for part in flat)
        made = super().__new__(cls, "".join(known))
        made.parts = known
        return made


class KernelsketchError(Exception):
    """Base class of every error that kernelsketch raises on purpose.

    Parameters
    ----------
    parts : str
        The message. If it consists of several parts, they are joined; a part may be a :class:`Setting`.
    parameter : str, optional
        The parameter of a public function or class that the error is about. By default it is the one that the message
        begins with, if that is a :class:`Setting`.
    """

    parameter: str | None = None

    def __init__(self, *parts: str, parameter: str | None = None) -> None:
        message = Sentence(*parts)
        super().__init__(message if any(isinstance(part, Setting) for part in message.parts) else str(message))
        first = message.parts[0] if message.parts else None
        self.parameter = first.parameter if parameter is None and isinstance(first, Setting) else parameter

    @property
    def message(self) -> Sentence:
        """The message in parts."""
        return Sentence(*self.args)


class InputError(KernelsketchError, ValueError):
    """Data or a parameter has an invalid value."""


class ParameterError(InputError):
    """A parameter of an estimator has a value that it cannot have, whatever the data are.

    Estimators also raise it as scikit-learn's ``InvalidParameterError``.
    """


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


class RowsWarning(UserWarning):
    """Rows of a table look grouped or ordered by time, or belong to few groups, so held-out scores may mislead.

    The warning says what it was seen by, and what to do.
    """


class InterruptWarning(UserWarning):
    """Ctrl-C came during a fit with ``on_interrupt="keep"``, which ends early with what it has."""


class RangeWarning(UserWarning):
    """Some query rows hold values that float32 cannot hold at the scale of an index, so they have no neighbours."""


class MissingExtraError(KernelsketchError, ImportError):
    """An optional library is not installed. The message gives the pip command that installs it."""

    def __init__(self, extra: str, library: str) -> None:
        super().__init__(f"{library} is not installed: run  pip install 'kernelsketch[{extra}]'")
        self._made_of = extra, library

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of
