"""Shingles: texts to sparse rows (specified in reference/shingles.py)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._estimator import PlainParameters
from .._validation import check_n_jobs
from ..exceptions import InputError, InputTypeError, Setting
from ._normal_form import NormalForm
from ._plain_shingles import PlainShingles
from ._texts import Texts, checked_texts
from ._weights import DocumentFrequencies


class Shingles(PlainParameters, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Turn texts into sparse rows of shingles: runs of n words or characters, counted and weighted.

    The rows are for :class:`GCWS`, :class:`GCWSIndex`, :class:`NearDuplicates` and :func:`gmm_kernel`. The GMM kernel
    of two rows is the weighted Jaccard similarity of the two texts: the shingles that they share, over all of their
    shingles, each as often as it occurs.

    Unless ``weight="idf"`` the transformer learns nothing, and it has no vocabulary. A feature is a hash of 62 bits of
    the characters of the shingle, the same with every back end; different shingles hardly ever share one.

    A *word* is a run of letters, digits and underscores, as ``\w+`` of Python's regular expressions. With
    ``analyzer="char"``, each run of white space counts as one space, and white space at both ends does not count. A
    text that has fewer words than the smallest n has one shingle, of all its words. A text without words gives an
    all-zero row.

    Parameters
    ----------
    ngram_range : int or pair of int, default=1
        Number n of words or characters per shingle, or the smallest and the largest one. Larger n tell texts apart
        that have the same words in another order: 3 to 5 words, or 5 to 9 characters, are usual for near-duplicates.
    analyzer : {"word", "char"}, default="word"
        What a shingle consists of. Use ``"char"`` for languages that put no spaces between words.
    lowercase : bool, default=True
        Whether upper and lower case are the same.
    normalize : {"NFC", "NFKC", "NFD", "NFKD"} or None, default=None
        Normal form of Unicode that texts are brought into first. With ``"NFKC"``, full-width letters, ligatures and
        composed or decomposed accents do not make a difference.
    weight : {"count", "binary", "log", "idf"}, default="count"
        Value of a shingle that occurs c times: c, 1, 1 + ln(c), or c times the inverse document frequency
        ln((1 + n) / (1 + df)) + 1, where df of the n texts that ``fit`` has seen contain the shingle. Shingles that
        occurred in none of them count as those that occurred in one.
    n_jobs : int, default=None
        Number of threads. None is 1, -1 uses all processors. Results do not depend on it.

    Attributes
    ----------
    frequencies_ : tuple
        Only with ``weight="idf"``: the number of texts, and the features that occurred in at least two of them with
        their numbers of texts, as ascending arrays.

    See Also
    --------
    dedup : Near-duplicate texts in one call.

    Notes
    -----
    Texts are strings or bytes in UTF-8. Each maximal part of bytes that is not UTF-8 counts as one U+FFFD, the
    replacement character, which is not part of a word. Letters and their lower case are those of Unicode 14.0.

    Examples
    --------
    >>> from kernelsketch import gmm_kernel
    >>> from kernelsketch.text import Shingles
    >>> X = Shingles(2).transform(["New York, New York", "new york new york!", "York, new"])
    >>> X.shape == (3, 2**62), X.nnz
    (True, 5)
    >>> gmm_kernel(X).round(2)
    array([[1.  , 1.  , 0.33],
           [1.  , 1.  , 0.33],
           [0.33, 0.33, 1.  ]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ngram_range": [Integral, tuple, list],
        "analyzer": [StrOptions({"word", "char"})],
        "lowercase": ["boolean"],
        "normalize": [StrOptions({"NFC", "NFKC", "NFD", "NFKD"}), None],
        "weight": [StrOptions({"count", "binary", "log", "idf"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        ngram_range: Any = 1,
        *,
        analyzer: str = "word",
        lowercase: bool = True,
        normalize: NormalForm | None = None,
        weight: str = "count",
        n_jobs: int | None = None,
    ) -> None:
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.lowercase = lowercase
        self.normalize = normalize
        self.weight = weight
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Shingles:
        """Learn the inverse document frequencies with ``weight="idf"``; otherwise only check parameters and texts.

        Parameters
        ----------
        X : list of str or bytes
        y : Ignored

        Returns
        -------
        self
        """
        return self.fit_blocks([X])

    def fit_blocks(self, blocks: Iterable[Any]) -> Shingles:
        """Do the same as :meth:`fit` for texts that come in blocks, in one pass.

        Parameters
        ----------
        blocks : iterable of lists of str or bytes

        Returns
        -------
        self
        """
        self._validate_params()
        checked = map(self._texts, blocks)
        if self.weight == "idf":
            self.frequencies_ = DocumentFrequencies.of(self._plain().rows(texts) for texts in checked)
        else:
            deque(checked, maxlen=0)
        return self

    def transform(self, X: Any) -> Any:
        """Turn texts into rows.

        Parameters
        ----------
        X : list of str or bytes

        Returns
        -------
        rows : CSR array of shape (n_texts, 2**62), float32
            Weights of the shingles. Features ascend within a row.
        """
        self._validate_params()
        if self.weight == "idf":
            check_is_fitted(self, "frequencies_")
        found = self._plain().rows(self._texts(X))
        made = sparse.csr_array(found.shape, dtype=np.float32)
        made.data, made.indices, made.indptr = found.data, found.indices, found.indptr  # SciPy's checks take as long
        made.has_canonical_format = True
        if self.weight == "idf":
            made.data = made.data * DocumentFrequencies(*self.frequencies_).idf(found.indices)
        return made

    def _texts(self, X: Any) -> Texts | tuple[str | bytes, ...]:
        return X if isinstance(X, Texts) else checked_texts(X, self.normalize)

    def _plain(self) -> PlainShingles:
        given = self.ngram_range
        found = (given, given) if isinstance(given, Integral) else tuple(given)
        if len(found) != 2 or not all(isinstance(n, Integral) and not isinstance(n, bool) for n in found):
            raise InputTypeError(Setting("ngram_range"), f" must be a number or a pair of numbers, got {given!r}.")
        n_min, n_max = map(int, found)
        if not 1 <= n_min <= n_max:
            raise InputError(
                Setting("ngram_range"), f" must be at least 1, and its first number not above the second: {given!r}."
            )
        weight = "count" if self.weight == "idf" else self.weight
        return PlainShingles(n_min, n_max, self.analyzer, bool(self.lowercase), weight, check_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.sparse = True, False, False
        tags.requires_fit = self.weight == "idf"
        return tags
