"""How a command ends when it does not succeed: one sentence on standard error, and an exit status."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from ..exceptions import InputError, KernelsketchError

FAILURE, USAGE, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 130, 141, 143
_NO_SPACE = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # a disk, a limit, a quota
_STOPPED = "the command was stopped. No file was left half written."

# Errors of the library name parameters; the command line names the options that set them.
_OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "format",
        "text",
        "label",
        "n_features",
        "header",
        "delimiter",
        "zero_based",
        "text_labels",
        "temp_dir",
        "t_bits",
        "gamma",
    )
}
_PARAMETER = re.compile(rf"\b({'|'.join(_OPTIONS)})=([^\s,.:;/]*)(?=[\s,.:;]|$)")


_SKLEARN = re.compile(r"The '(\w+)' parameter of \w+")  # which scikit-learn finds wrong


class UsageError(InputError):
    """Options that contradict each other, or a value that an option cannot have: exit status 2."""


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: half-written files are removed, as after Ctrl-C."""


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """End the process with one sentence and an exit status instead of a traceback; show warnings as lines."""
    _print_every_character()
    with warnings.catch_warnings(), _terminations_raise():
        warnings.showwarning = _shows_once()
        try:
            try:
                yield
            finally:
                _flush()
        except KeyboardInterrupt as stop:
            _end(_STOPPED, TERMINATED if isinstance(stop, _Terminated) else INTERRUPTED)
        except BrokenPipeError:  # the reader of our output, such as head, has closed it
            sys.exit(BROKEN_PIPE)
        except UsageError as error:
            _end(str(error), USAGE)
        except KernelsketchError as error:
            _end(str(error), FAILURE)
        except OSError as error:
            where = error.filename or ("standard output" if error.errno in _NO_SPACE else None)  # files have names
            _end(f"{where}: {error.strerror or error}" if where else str(error), FAILURE)
        except ValueError as error:  # raised by scikit-learn about data or a parameter
            named = _SKLEARN.sub(lambda found: f"--{found[1].replace('_', '-')}", str(error))
            _end(named, USAGE if _SKLEARN.match(str(error)) else FAILURE)
        except MemoryError:
            _end("there is not enough memory. Lower --memory, or use fewer hashes or bits.", FAILURE)


def _print_every_character() -> None:
    r"""Print what standard output cannot encode as escapes: names of files that are not UTF-8 as ``caf\udce9``."""
    with suppress(AttributeError, OSError, ValueError):  # closed, or a stream of another kind
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


@contextmanager
def stop_at_once() -> Iterator[None]:
    """Within, while modules are imported, signals end the process directly.

    An exception could be swallowed or wrapped by the libraries that are being imported, and there is no file yet that
    would have to be removed.
    """

    def end(number: int, _: Any) -> None:
        print(f"kernelsketch: {_STOPPED}", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED if number == signal.SIGINT else TERMINATED)

    with _handling(end, ("SIGINT", "SIGTERM", "SIGHUP"), keep=(signal.SIG_IGN, None)):
        yield


@contextmanager
def _terminations_raise() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP raise, unless they are ignored or have a handler already."""

    def stop(*_: Any) -> NoReturn:
        raise _Terminated

    with _handling(stop, ("SIGTERM", "SIGHUP"), only=(signal.SIG_DFL,)):
        yield


@contextmanager
def _handling(
    handler: Callable[..., None], names: tuple[str, ...], *, only: tuple[Any, ...] = (), keep: tuple[Any, ...] = ()
) -> Iterator[None]:
    """Handle signals within: those whose handler is in ``only``, if it is given, and not in ``keep``."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = {getattr(signal, name, signal.SIGTERM) for name in names}  # Windows has no SIGHUP
    before = {number: signal.getsignal(number) for number in numbers}
    changed = {n: old for n, old in before.items() if old not in keep and (not only or old in only)}
    for number in changed:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in changed.items():
            signal.signal(number, old)


def end_interrupted() -> NoReturn:
    """End the process as after Ctrl-C."""
    _end(_STOPPED, INTERRUPTED)


def _flush() -> None:
    """Find out now that standard output is full or closed; Python would report it when it exits, as a traceback."""
    if sys.stdout is None:  # closed before we began
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
        raise OSError(error.errno, error.strerror, "standard output") from error


def _end(sentence: str, status: int) -> NoReturn:
    print(f"kernelsketch: {_PARAMETER.sub(_as_option, sentence)}", file=sys.stderr)
    sys.exit(status)


def _as_option(found: re.Match[str]) -> str:
    """The option that sets a parameter, with its value as it is written in a shell."""
    option, value = _OPTIONS[found[1]], found[2]
    if value == "False":
        return option.replace("--", "--no-", 1)
    return option if value in ("", "True") else f"{option} {value}"


def tell(sentence: str) -> None:
    """Show a sentence that is no error on standard error."""
    print(f"kernelsketch: {sentence}", file=sys.stderr)


def _shows_once() -> Callable[..., None]:
    """Return a function that shows the sentence of a warning when it comes for the first time."""
    shown: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            tell(str(message))

    return show
