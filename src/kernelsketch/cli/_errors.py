"""How a command ends after an error: one sentence on standard error, and an exit status."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, NoReturn

from ..exceptions import KernelsketchError, ParameterError, Sentence, Setting

FAILURE, USAGE, INTERRUPTED, BROKEN_PIPE, TERMINATED = 1, 2, 130, 141, 143
_NO_SPACE = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # a disk, a limit, a quota
_STOPPED = "the command was stopped. No file was left half written."

# Parameters of the library that options of another name set.
_OTHER_NAMES = {
    "random_state": "seed",
    "n_jobs": "threads",
    "block_bytes": "memory",
    "batch_bytes": "memory",
    "most_bytes": "memory",
    "ngram_range": "ngram",
    "coverage": "interval",
    "carry": "columns",
}


class UsageError(ParameterError):
    """Options that contradict each other or the file, or a value that an option cannot have."""


class OptionNames(NamedTuple):
    """How a command line sets a parameter: ``--header``, and ``--no-header`` if the option can be negated."""

    on: str
    off: str | None = None


Options = Mapping[str, OptionNames]


def options_of(command: Any) -> Options:
    """Return the options of a command of click by the names of the parameters that they set."""
    found = {}
    for option in command.params:
        names = [name for name in option.opts if name.startswith("--")]
        if names:
            found[option.name] = OptionNames(names[0], next(iter(option.secondary_opts), None))
    return found


def in_options(sentence: str, options: Options) -> str:
    """Return a sentence of the library with the options of a command in place of the parameters that they set."""
    return "".join(
        _in_option(part, options) if isinstance(part, Setting) else part
        for part in (sentence.parts if isinstance(sentence, Sentence) else (sentence,))
    )


def _in_option(setting: Setting, options: Options) -> str:
    option = _option_for(setting.parameter, options)
    if option is None:
        return setting
    if setting.value is False and option.off is not None:
        return option.off
    return option.on if setting.value is None or setting.value is True else f"{option.on} {_quoted(setting.value)}"


def _option_for(parameter: str | None, options: Options) -> OptionNames | None:
    name = parameter or ""
    return options.get(name) or options.get(_OTHER_NAMES.get(name, ""))


def _quoted(value: str | bool) -> str:
    text = str(value)
    return shlex.quote(text) if text.isprintable() else repr(text)


@contextmanager
def set_by(**options: str) -> Iterator[None]:
    """Make errors name the option that sets a parameter here, as in ``set_by(format="to")``."""
    try:
        yield
    except KernelsketchError as error:
        if error.parameter in options:
            for part in error.message.parts:
                if isinstance(part, Setting):
                    part.parameter = options.get(part.parameter, part.parameter)
            error.parameter = options[error.parameter]
        raise


def _sentence(error: KernelsketchError, options: Options) -> str:
    """Return the message of an error; the name of the option comes first if the message does not mention it."""
    message = error.message
    option = _option_for(error.parameter, options)
    if option is None or any(isinstance(part, Setting) for part in message.parts):
        return in_options(message, options)
    return f"{option.on}: {message}"


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP: half-written files are removed, as after Ctrl-C."""


@contextmanager
def errors_as_sentences(options: Callable[[], Options] = dict) -> Iterator[None]:
    """End the process with one sentence and an exit status instead of a traceback; show warnings as lines.

    ``options`` returns those of the command that runs, which then stand for parameters in sentences. An error about a
    parameter or an option has the status of wrong usage.
    """
    _print_every_character()
    with warnings.catch_warnings(), _terminations_raise():
        warnings.showwarning = _shows_once(options)
        try:
            try:
                yield
            finally:
                _flush()
        except KeyboardInterrupt as stop:
            _end(_STOPPED, TERMINATED if isinstance(stop, _Terminated) else INTERRUPTED)
        except BrokenPipeError:  # the reader of our output, such as head, has closed it
            sys.exit(BROKEN_PIPE)
        except KernelsketchError as error:
            found = options()
            is_usage = isinstance(error, ParameterError) or _option_for(error.parameter, found) is not None
            _end(_sentence(error, found), USAGE if is_usage else FAILURE)
        except OSError as error:
            where = error.filename or ("standard output" if error.errno in _NO_SPACE else None)  # files have names
            what = in_options(error.strerror or str(error), options())
            _end(f"{where}: {what}" if where else what, FAILURE)
        except ValueError as error:  # raised by another library about data
            _end(str(error), FAILURE)
        except MemoryError:
            _end("there is not enough memory. Lower --memory, or use fewer hashes or bits.", FAILURE)


def _print_every_character() -> None:
    r"""Print what standard output cannot encode as escapes: names of files that are not UTF-8 as ``caf\udce9``."""
    with suppress(AttributeError, OSError, ValueError):  # closed, or a stream of another kind
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


@contextmanager
def stop_at_once() -> Iterator[None]:
    """End the process directly at a signal, while modules are imported.

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
    """Make SIGTERM and SIGHUP raise an exception, unless they are ignored or have a handler already."""

    def stop(*_: Any) -> NoReturn:
        raise _Terminated

    with _handling(stop, ("SIGTERM", "SIGHUP"), only=(signal.SIG_DFL,)):
        yield


@contextmanager
def _handling(
    handler: Callable[..., None], names: tuple[str, ...], *, only: tuple[Any, ...] = (), keep: tuple[Any, ...] = ()
) -> Iterator[None]:
    """Handle signals in the block: those whose handler is in ``only``, if it is given, and not in ``keep``."""
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
    """Raise now if standard output is full or closed; at exit Python would print a traceback."""
    if sys.stdout is None:  # closed before we began
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
        raise OSError(error.errno, error.strerror, "standard output") from error


def _end(sentence: str, status: int) -> NoReturn:
    tell(sentence)
    sys.exit(status)


def tell(sentence: str) -> None:
    """Show a sentence on standard error."""
    print(f"kernelsketch: {sentence}", file=sys.stderr)


def _shows_once(options: Callable[[], Options]) -> Callable[..., None]:
    """Return a function that shows the sentence of a warning, in options of the command, when it comes first."""
    shown: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            said = message.args[0] if getattr(message, "args", None) else message
            tell(in_options(said if isinstance(said, Sentence) else str(message), options()))

    return show
