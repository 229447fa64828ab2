"""How a command ends when it does not succeed: one line that says why, and an exit status."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from ..exceptions import KernelsketchError

_PARAMETER = re.compile(r"\b(format|label|n_features|header|delimiter|zero_based|text_labels|folder)=([^\s,.:;]*)")
FAILURE, INTERRUPTED, BROKEN_PIPE = 1, 130, 141


@contextmanager
def told() -> Iterator[None]:
    """Errors that a user can do something about end the process with a sentence; warnings are lines."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except KeyboardInterrupt:
            _end("stopped; nothing was left half written.", INTERRUPTED)
        except BrokenPipeError:  # the reader of our output had enough
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
            sys.exit(BROKEN_PIPE)
        except KernelsketchError as error:
            _end(str(error), FAILURE)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _end(f"{where}{error.strerror or error}", FAILURE)
        except ValueError as error:  # of scikit-learn, about data or a parameter
            _end(str(error), FAILURE)
        except MemoryError:
            _end("there is not enough memory. Lower --memory, or use fewer hashes or bits.", FAILURE)


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
