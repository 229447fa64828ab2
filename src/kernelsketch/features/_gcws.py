"""GCWS: k hashes per row that estimate the GMM kernel (Algorithm 1 of the paper).

``reference/gcws.py`` is the specification.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._estimator import ValidatedOnce
from .._hash_parameters import HASH_CONSTRAINTS, hasher_for, hasher_with
from .._rows import estimator_rows
from .._validation import check_n_jobs
from ..backends import Rows, in_library_of
from ..exceptions import InputError
from ..hashing import Hasher, PackedCodes


class GCWS(ValidatedOnce, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Hash rows so that the hashes of two rows are equal with a probability that is their GMM kernel.

    This is generalized consistent weighted sampling, for the generalized min-max kernel (:func:`gmm_kernel`). For each
    hash a row draws a sample: one of its nonzero features, i*, and an integer t*. Two rows draw the same sample with
    probability

    .. math:: \Pr[(i^*_u, t^*_u) = (i^*_v, t^*_v)] = \mathrm{GMM}(u, v).

    The fraction of equal samples estimates the kernel with variance GMM (1 - GMM) / k. A code keeps a few bits of a
    sample. :meth:`transform` returns the codes as one-hot features, whose inner products are these estimates, so that a
    linear model on the features approximates a machine with the GMM kernel. :meth:`codes` returns packed codes and
    :meth:`signatures` returns the full samples.

    Only the center is learned from the data. A code is a function of the seed, the hash number and the row. The first
    64 of 1024 hashes are those of ``n_components=64``, except with ``views``.

    Parameters
    ----------
    n_components : int, default=1024
        Number of hashes per row, the paper's k. The error is proportional to ``1 / sqrt(n_components)``.
    bits : int, default=8
        Number of bits of i* that a code keeps, from 1 to 16: the paper's b. Fewer bits save memory and give more
        collisions by chance.
    t_bits : int, default=0
        Number of bits of t* that a code keeps, from 0 to 8. The default is the paper's "0-bit" scheme. A few bits
        remove its bias on data with few features.
    p : float, default=1.0
        Power of the pGMM kernel; see :func:`gmm_kernel`. The hash needs ``|p log2(value)|`` of at most 16384 for the
        largest value of each row, and other rows are refused; up to p=15 all values pass.
    gamma : float, default=None
        Parameter of the eGMM kernel exp(-gamma (1 - GMM)), above 0 and at most 1e4. With a number, hashes
        collide with the probability of this kernel. It requires ``t_bits=0``, and a hash takes ``gamma`` samples on
        average. None means the GMM kernel.
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        Vector that is subtracted from the rows first. :meth:`fit` computes "mean" and "median" from the training rows.
        Sparse data allow only None.
    views : int, list of int or None, default=None
        Groups of adjacent columns that are hashed separately, so that codes estimate the mean of the kernels of the
        groups: their number if they have equal widths, or a list of their widths. They share the ``n_components``
        hashes. None means one group of all columns. See the :ref:`user guide <views>`.
    normalize : bool, default=True
        Whether :meth:`transform` scales rows to unit norm.
    sparse_output : bool, default=True
        Whether :meth:`transform` returns a CSR matrix rather than a dense array.
    random_state : int, RandomState instance or None, default=0
        Seed of the hash, from 0 to 2**64 - 1. Equal seeds give equal codes with every back end. None draws a seed at
        :meth:`fit`.
    n_jobs : int, default=None
        Number of threads. None means 1, -1 means all processors. The result does not depend on it.

    Attributes
    ----------
    seed_ : int
        The seed that was used.
    center_ : array of shape (n_features,) or None
        The center that was used.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : array of shape (n_features,)
        Names of the features. It exists only if all names of the training rows are strings.

    See Also
    --------
    gmm_kernel : The exact kernel.
    PackedCodes : The codes that :meth:`codes` returns.
    GCWSClassifier : The hash and a linear classifier on its codes in one estimator.

    Notes
    -----
    The hash uses the full exponent and 24 bits of the mantissa of float64 values. Values that agree in these bits get
    the same codes. All one-hot features of an all-zero row are zero.

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
        views: Any = None,
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
        self.views = views
        self.normalize = normalize
        self.sparse_output = sparse_output
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> GCWS:
        """Check X, learn the center if ``center`` is "mean" or "median", and fix the seed.

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
        """Make a fitted transformer from a hash.

        Parameters
        ----------
        hasher : Hasher
            The hash that the transformer uses.
        n_features : int
            Number of features of the rows.
        n_jobs : int, default=None
            Number of threads. None means 1, -1 means all processors.

        Returns
        -------
        transformer : GCWS
        """
        names = ("n_components", "bits", "t_bits", "p", "gamma", "center")
        given = {name: getattr(hasher, name) for name in names} | {"views": list(hasher.views) or None}
        found = cls(**given, random_state=hasher.seed, n_jobs=n_jobs)
        found.center_, found.seed_, found.n_features_in_ = hasher.center, hasher.seed, n_features
        return found

    @property
    def hasher(self) -> Hasher:
        """The hash of the fitted transformer, an immutable value."""
        check_is_fitted(self)
        self._validate_params()  # parameters may have been set after fit
        return hasher_with(self, self.seed_, self.center_, self.n_features_in_)

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return int(self.n_components) << (int(self.bits) + int(self.t_bits))

    def transform(self, X: Any) -> Any:
        """Hash rows and return their codes as one-hot features.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        X_hashed : CSR matrix or array of shape (n_samples, n_components * 2**(bits + t_bits))
            The one-hot features. The dtype is float32 if X is float32, otherwise float64.
        """
        hasher, rows, threads = self._checked(X)
        codes = hasher.codes(rows, threads=threads)
        dtype = np.float32 if rows.dtype == np.float32 else np.float64
        features = codes.to_csr(normalize=self.normalize, dtype=dtype)
        return in_library_of(X, features if self.sparse_output else features.toarray())

    def set_output(self, *, transform: str | None = None) -> GCWS:
        """Set the container of the features. A data frame needs ``sparse_output=False``.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None, default=None
            None leaves it as it is.

        Returns
        -------
        self
        """
        if transform not in (None, "default") and self.sparse_output:
            width = self.n_components << (self.bits + self.t_bits)
            raise InputError(
                f"set_output(transform={transform!r}): the features are {width} columns of a sparse "
                "matrix, which a data frame cannot hold. Set sparse_output=False first, if they fit in memory, or "
                "leave the output as it is.",
                parameter="transform",
            )
        super().set_output(transform=transform)
        return self

    def codes(self, X: Any) -> PackedCodes:
        """Hash rows and return their packed codes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        codes : PackedCodes
        """
        hasher, rows, threads = self._checked(X)
        return hasher.codes(rows, threads=threads)

    def signatures(self, X: Any) -> tuple[Array, Array]:
        """Hash rows and return their full samples.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        i : int64 array of shape (n_samples, n_components)
            The sampled features i*, as 2 f for a positive and 2 f + 1 for a negative value of feature f. They are -1
            for an all-zero row. With ``gamma`` they are 63-bit mixes of several samples. With ``views``, a row that
            is zero in view v, but not in all views, has ``f = n_features + v`` there.
        t : int64 array of shape (n_samples, n_components)
            The integers t*. With ``gamma`` they are 0.
        """
        hasher, rows, threads = self._checked(X)
        samples: tuple[Array, Array] = in_library_of(X, hasher.samples(rows, threads=threads))
        return samples

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked(self, X: Any) -> tuple[Hasher, Rows, int]:
        """Return the hash, checked rows, and the number of threads."""
        hasher, threads = self.hasher, check_n_jobs(self.n_jobs)
        return hasher, estimator_rows(self, X, reset=False, threads=threads), threads
