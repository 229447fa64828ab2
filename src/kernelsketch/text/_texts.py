"""Texts: strings or bytes in one array, as back ends take them."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from ..exceptions import InputError, InputTypeError
from ._normal_form import NormalForm, normalized


class Texts(NamedTuple):
    """Texts in UTF-8, the i-th from ``ends[i]`` to ``ends[i + 1]``."""

    text: Array  # bytes (uint8)
    ends: Array  # int64, one more than there are texts

    @classmethod
    def of(cls, parts: list[bytes]) -> Texts:
        """Join the bytes of some texts."""
        ends = np.fromiter(accumulate(map(len, parts), initial=0), np.int64, len(parts) + 1)
        return cls(np.frombuffer(b"".join(parts), np.uint8), ends)


def texts_of(X: Any, normalize: NormalForm | None = None) -> Texts:
    """Check texts, which may be strings or bytes, and join them; ``normalize`` is a form of Unicode, such as NFKC."""
    parts = checked_texts(X, normalize)
    return Texts.of([part.encode() if isinstance(part, str) else part for part in parts])


def plain_texts(X: Any) -> Any:
    """Return an array or a series of pyarrow, polars, pandas or narwhals as a list of Python objects."""
    if hasattr(type(X), "columns"):  # a data frame
        return X
    for method in ("to_pylist", "to_list"):  # iterating over an array of pyarrow gives its own scalars
        if hasattr(X, method):
            return getattr(X, method)()
    return X


def checked_texts(X: Any, normalize: NormalForm | None = None) -> tuple[str | bytes, ...]:
    """Check texts; return strings in ASCII as they are, since these are in UTF-8, and the others as bytes."""
    if hasattr(type(X), "columns"):
        raise InputTypeError(
            f"X must be a list of texts, got a data frame ({type(X).__name__}): pass one column of it."
        )
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        what = "one string" if isinstance(X, (str, bytes)) else type(X).__name__
        raise InputTypeError(f"X must be a list of texts, got {what}: pass [text] for a single one.")
    shape = getattr(X, "shape", (0,))
    if len(shape) != 1:
        raise InputError(f"X must be a list of texts, got an array of shape {shape}: pass one column of it.")
    texts = tuple(plain_texts(X))
    try:
        if all(map(str.isascii, texts)):
            return texts
    except TypeError:  # not all are strings
        pass
    return tuple(_checked(text, row, normalize) for row, text in enumerate(texts))


def _checked(text: Any, row: int, normalize: NormalForm | None) -> str | bytes:
    if isinstance(text, str):
        if text.isascii():
            return text
        if normalize is not None:
            text = normalized(text, normalize)
        return bytes(text.encode("utf-8", "surrogatepass"))
    if isinstance(text, bytes):
        if normalize is None or text.isascii():
            return text
        return normalized(text.decode("utf-8", "replace"), normalize).encode()
    is_missing = text is None or type(text).__name__ == "NAType" or text != text
    what = "missing" if is_missing else f"{text!r} of type {type(text).__name__}"
    raise InputTypeError(f"X must hold texts, but X[{row}] is {what}: leave it out, or pass str(value).")


def holds_texts(X: Any) -> bool:
    """Return whether X is a sequence of texts rather than rows of numbers."""
    kind = getattr(getattr(X, "dtype", None), "kind", "O")
    if isinstance(X, (str, bytes)) or kind in "UST":
        return True
    if hasattr(type(X), "columns") or not isinstance(X, Sized) or len(getattr(X, "shape", (0,))) != 1:
        return False
    X = plain_texts(X)
    return len(X) == 0 or any(isinstance(text, (str, bytes)) for text in X)
