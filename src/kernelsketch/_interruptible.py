"""Calls of libraries that take long and cannot be stopped, made so that Ctrl-C comes back at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")

WAIT_SECONDS = 0.1


def interruptible(call: Callable[..., Result], *arguments: Any) -> Result:
    """Return what a call returns. An interruption does not wait for its end.

    Python looks at signals between its own instructions, and not while a library computes. So the main thread waits
    while another one makes the call. After an interruption that call goes on until it ends, and its result is dropped.
    """
    if threading.current_thread() is not threading.main_thread():  # signals come to the main thread alone
        return call(*arguments)
    found: list[Result] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call(*arguments))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="kernelsketch-call", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(WAIT_SECONDS)
    if failure:
        raise failure[0]
    return found[0]
