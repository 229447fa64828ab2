"""Texts as sparse rows: shingles of words or characters, hashed to 64-bit features and weighted.

================ =========================================================================================
``_shingles.py`` :class:`Shingles`, the transformer: parameters, ``fit`` for the weights, ``transform``
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

from ._shingles import Shingles
from ._text_store import StoredTexts
from ._texts import Texts, holds_texts, plain_texts, texts_of
from ._weights import DocumentFrequencies

__all__ = ["DocumentFrequencies", "Shingles", "StoredTexts", "Texts", "holds_texts", "plain_texts", "texts_of"]
