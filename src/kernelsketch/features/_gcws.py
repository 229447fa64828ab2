"""GCWS: the GMM kernel as k small integers a row (Algorithm 1 of the paper; reference/gcws.py)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils.validation import check_is_fitted

from .._rows import estimator_rows
from .._validation import check_n_jobs
from ..backends import Rows
from ..hashing import HASH_CONSTRAINTS, Hasher, PackedCodes, hasher_for, hasher_with

Array = NDArray[Any]


class GCWS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Generalized consistent weighted sampling: k hashes of a row that collide as its GMM kernel says.

    For each hash a row draws one of its nonzero features, i*, and an integer t*, such that two rows draw the
    same with probability

    .. math:: \Pr[(i^*_u, t^*_u) = (i^*_v, t^*_v)] = \mathrm{GMM}(u, v).

    The share of equal samples estimates the kernel with variance GMM (1 - GMM) / k. :meth:`transform` gives the
    samples as one-hot features, whose inner products are these estimates: a linear model on them approximates a
    machine with the GMM kernel. :meth:`codes` gives them packed, :meth:`signatures` in full.

    Nothing is learned from the data but the center: a code is a function of the seed, the hash number, and the
    row. The first 64 of 1024 hashes are those of ``n_components=64``.

    Parameters
    ----------
    n_components : int, default=1024
        Number of hashes, the paper's k. The error falls with its square root.
    bits : int, default=8
        Of the drawn feature that are kept, 1 to 16: the paper's b. Fewer bits, more collisions by chance.
    t_bits : int, default=0
        Of t* that are kept above them, 0 to 8. 0 is the paper's "0-bit" scheme; a few bits repair its bias on data
        of few features.
    p : float, default=1.0
        Power of the pGMM kernel; see :func:`gmm_kernel`.
    gamma : float, default=None
        A number linearizes the eGMM kernel exp(-gamma (1 - GMM)) exactly; needs ``t_bits=0``. It takes ``gamma`` times
        as many samples, each kept in full until they are joined. None is the GMM kernel.
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        Subtracted first; learned at :meth:`fit`. Not for sparse data.
    normalize : bool, default=True
        Whether :meth:`transform` scales rows to unit norm.
    sparse_output : bool, default=True
        Whether :meth:`transform` gives CSR rather than a dense array.
    random_state : int, RandomState instance or None, default=0
        The seed, up to 2**64 - 1; equal seeds give equal codes on every machine.
    n_jobs : int, default=None
        Threads: None is 1, -1 all processors. The codes do not depend on it.

    Attributes
    ----------
    seed_ : int
        The seed in use.
    center_ : array of shape (n_features,) or None
        The center in use.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Where the training rows had string names.

    See Also
    --------
    gmm_kernel : the exact kernel.
    PackedCodes : what :meth:`codes` returns.

    Notes
    -----
    float64 values are hashed with their full exponent and 24 bits of mantissa: values that differ by less are the
    same to the hash. A row without a nonzero value sets no feature.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from kernelsketch import GCWS
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(GCWS(n_components=512), LinearSVC())
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.94
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HASH_CONSTRAINTS,
        "normalize": ["boolean"],
        "sparse_output": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 1024,
        *,
        bits: int = 8,
        t_bits: int = 0,
        p: float = 1.0,
        gamma: float | None = None,
        center: Any = None,
        normalize: bool = True,
        sparse_output: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.bits = bits
        self.t_bits = t_bits
        self.p = p
        self.gamma = gamma
        self.center = center
        self.normalize = normalize
        self.sparse_output = sparse_output
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> GCWS:
        """Check X, learn the center if one is asked for, and settle the seed.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        rows = estimator_rows(self, X, reset=True)
        hasher = hasher_for(self, rows)
        self.center_, self.seed_ = hasher.center, hasher.seed
        return self

    @classmethod
    def from_hasher(cls, hasher: Hasher, n_features: int, *, n_jobs: int | None = None) -> GCWS:
        """A fitted transformer that hashes as ``hasher`` does.

        Parameters
        ----------
        hasher : Hasher
        n_features : int
            Number of features of the rows.
        n_jobs : int, default=None

        Returns
        -------
        transformer : GCWS
        """
        names = ("n_components", "bits", "t_bits", "p", "gamma", "center")
        found = cls(**{name: getattr(hasher, name) for name in names}, random_state=hasher.seed, n_jobs=n_jobs)
        found.center_, found.seed_, found.n_features_in_ = hasher.center, hasher.seed, n_features
        return found

    @property
    def hasher(self) -> Hasher:
        """The hash of the fitted transformer, an immutable value."""
        check_is_fitted(self)
        self._validate_params()  # they may have been set after fit
        return hasher_with(self, self.seed_, self.center_)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components) << (int(self.bits) + int(self.t_bits))

    def transform(self, X: Any) -> Any:
        """Hash rows and return their codes as one-hot features.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        X_hashed : CSR matrix or array of shape (n_samples, n_components * 2**(bits + t_bits))
            float32 for float32, else float64.
        """
        hasher, rows = self._checked(X)
        codes = hasher.codes(rows, threads=check_n_jobs(self.n_jobs))
        dtype = np.float32 if rows.dtype == np.float32 else np.float64
        features = codes.to_csr(normalize=self.normalize, dtype=dtype)
        return features if self.sparse_output else features.toarray()

    def codes(self, X: Any) -> PackedCodes:
        """Hash rows and return their packed codes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        codes : PackedCodes
        """
        hasher, rows = self._checked(X)
        return hasher.codes(rows, threads=check_n_jobs(self.n_jobs))

    def signatures(self, X: Any) -> tuple[Array, Array]:
        """Hash rows and return their full samples.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        i : int64 array of shape (n_samples, n_components)
            Slots: 2 f for a positive, 2 f + 1 for a negative value of feature f; -1 for an empty row. With ``gamma``
            a 63-bit mix of the joined samples.
        t : int64 array of shape (n_samples, n_components)
            t*; 0 with ``gamma``.
        """
        hasher, rows = self._checked(X)
        return hasher.samples(rows, threads=check_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked(self, X: Any) -> tuple[Hasher, Rows]:
        hasher = self.hasher
        return hasher, estimator_rows(self, X, reset=False)
