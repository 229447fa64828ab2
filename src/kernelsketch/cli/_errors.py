"""How a command ends when it does not succeed: one line that says why, and an exit status."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from ..exceptions import InputError, KernelsketchError
from ..storage import DISK_FULL

_PARAMETER = re.compile(
    r"\b(format|label|n_features|header|delimiter|zero_based|text_labels|folder)=([^\s,.:;/]*)(?=[\s,.:;]|$)"
)
FAILURE, USAGE, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 130, 141, 143


class UsageError(InputError):
    """Options that exclude each other, or have a value that none of them can have."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: what is half written is removed, as after an interrupt."""


@contextmanager
def told() -> Iterator[None]:
    """Errors that a user can do something about end the process with a sentence; warnings are lines."""
    with warnings.catch_warnings(), _terminable():
        warnings.showwarning = _show_warning
        try:
            try:
                yield
            finally:
                _flush()
        except KeyboardInterrupt as stop:
            status = TERMINATED if isinstance(stop, _Terminated) else INTERRUPTED
            _end("stopped; nothing was left half written.", status)
        except BrokenPipeError:  # the reader of our output had enough
            sys.exit(BROKEN_PIPE)
        except UsageError as error:
            _end(str(error), USAGE)
        except KernelsketchError as error:
            _end(str(error), FAILURE)
        except OSError as error:
            where = error.filename or ("standard output" if error.errno in DISK_FULL else None)  # files say their names
            _end(f"{where}: {error.strerror or error}" if where else str(error), FAILURE)
        except ValueError as error:  # of scikit-learn, about data or a parameter
            _end(str(error), FAILURE)
        except MemoryError:
            _end("there is not enough memory. Lower --memory, or use fewer hashes or bits.", FAILURE)


@contextmanager
def _terminable() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise, unless they are ignored or somebody else's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> NoReturn:
        raise _Terminated

    numbers = [getattr(signal, name, signal.SIGTERM) for name in ("SIGTERM", "SIGHUP")]  # Windows has one of them
    ours = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _flush() -> None:
    """Find out now that standard output is full or closed, while it can be told; Python would do it at its very end."""
    if sys.stdout is None:  # closed before we began
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
        raise OSError(error.errno, error.strerror, "standard output") from error


def _end(sentence: str, status: int) -> NoReturn:
    print(f"kernelsketch: {_PARAMETER.sub(_option, sentence)}", file=sys.stderr)
    sys.exit(status)


def _option(found: re.Match[str]) -> str:
    """A parameter as it is written in a shell."""
    name, value = found[1].replace("_", "-"), found[2]
    if value == "False":
        return f"--no-{name}"
    return f"--{name}" if value in ("", "True") else f"--{name} {value}"


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"kernelsketch: {message}", file=sys.stderr)
