"""Texts as sparse rows: shingles of words or characters, hashed to 64-bit features and weighted.

================ =========================================================================================
``_shingles.py`` :class:`Shingles`, the transformer: parameters, ``fit`` for the weights, ``transform``
``_plain_shingles.py``  what it does to texts, without scikit-learn: the command line starts faster
``_texts.py``    :class:`Texts`: strings or bytes in one array, checked once
``_normal_form.py``  normal forms of Unicode, in linear time
``_text_store.py``   :class:`StoredTexts`: texts in a folder on disk, for files larger than memory
``_weights.py``  weights of counts: binary, logarithmic, and by inverse document frequency
================ =========================================================================================

The way of a text: a list of strings or bytes becomes one array of bytes with the ends of the texts (``_texts``); the
back end finds the words, hashes each run of n of them to a feature, and sorts and counts the features of each text
(``reference/shingles.py`` is the specification); ``_weights`` turns counts into weights. The features are those that
:class:`~kernelsketch.GCWS` and :class:`~kernelsketch.GCWSIndex` take: numbers below 2**62, in CSR rows.
"""

from typing import TYPE_CHECKING, Any

from ._plain_shingles import PlainShingles
from ._text_store import StoredTexts
from ._texts import Texts, holds_texts, plain_texts, texts_of
from ._weights import DocumentFrequencies

if TYPE_CHECKING:
    from ._shingles import Shingles

__all__ = [
    "DocumentFrequencies",
    "PlainShingles",
    "Shingles",
    "StoredTexts",
    "Texts",
    "holds_texts",
    "plain_texts",
    "texts_of",
]


def __getattr__(name: str) -> Any:
    """Import the transformer when it is asked for: scikit-learn takes a second."""
    if name == "Shingles":
        from ._shingles import Shingles

        return Shingles
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
