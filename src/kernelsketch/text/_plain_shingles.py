"""PlainShingles: texts to rows by parameters that have been checked, without scikit-learn, which imports slowly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from .._interruptible import interruptible
from .._rows import MOST_FEATURES
from ..backends import CsrRows, ShingleParams, processor_for
from ._texts import Texts
from ._weights import log_weights

LONG_TEXT = 1 << 20  # characters of a text whose shingles may take long


@dataclass(frozen=True)
class PlainShingles:
    """What :class:`Shingles` does to texts, apart from weights that are learned."""

    n_min: int = 1
    n_max: int = 1
    analyzer: str = "word"
    lowercase: bool = True
    weight: str = "count"
    threads: int = 1

    def rows(self, texts: Texts | tuple[str | bytes, ...]) -> CsrRows:
        """Return the rows of texts; strings are in ASCII."""
        params = ShingleParams(self.analyzer == "word", self.n_min, self.n_max, self.lowercase)
        processor = processor_for(threads=self.threads)
        if isinstance(texts, Texts):
            longest = int(np.diff(texts.ends).max(initial=0))
            call = partial(processor.shingles, texts.text, texts.ends, params)
        else:
            longest = max(map(len, texts), default=0)
            call = partial(processor.shingles_of_texts, texts, params)
        # Native code looks for Ctrl-C between texts.
        indptr, features, counts = interruptible(call) if longest > LONG_TEXT else call()
        if self.weight == "binary":
            counts = np.ones_like(counts)
        elif self.weight == "log":
            counts = log_weights(counts)
        return CsrRows(indptr, features, counts, MOST_FEATURES)
