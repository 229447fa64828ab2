"""GCWS: the GMM kernel as k small integers a row (Algorithm 1 of the paper; reference/gcws.py)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .._backend import Hashing, backend
from .._hash_info import HashInfo
from .._validation import check_center, check_n_jobs, check_power, row_batches
from ..codes import PackedCodes
from ..exceptions import InputError
from ..reference.gcws import poisson_counts
from ..reference.pack import code_dtype
from ._rows import canonical_rows, native_rows, seed_of

Array = NDArray[Any]

STEP_BYTES = 1 << 25  # of scratch: codes before they are packed, samples before they are joined


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
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "bits": [Interval(Integral, 1, 16, closed="both")],
        "t_bits": [Interval(Integral, 0, 8, closed="both")],
        "p": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, 1e4, closed="right"), None],
        "center": [StrOptions({"mean", "median"}), "array-like", None],
        "normalize": ["boolean"],
        "sparse_output": ["boolean"],
        "random_state": [Interval(Integral, 0, 2**64 - 1, closed="both"), np.random.RandomState, None],
        "n_jobs": [Integral, None],
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
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self._check_params()
        self.center_ = check_center(self.center, X)
        self.seed_ = seed_of(self.random_state)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components) << (int(self.bits) + int(self.t_bits))

    def transform(self, X: Any) -> Any:
        """One-hot features of the codes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        X_hashed : CSR matrix or array of shape (n_samples, n_components * 2**(bits + t_bits))
            float32 for float32, else float64.
        """
        check_is_fitted(self)
        rows = self._check_rows(X)
        codes = self._codes(rows)
        dtype = np.float32 if rows.dtype == np.float32 else np.float64
        features = codes.to_csr(normalize=self.normalize, dtype=dtype)
        return features if self.sparse_output else features.toarray()

    def codes(self, X: Any) -> PackedCodes:
        """Packed codes of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        codes : PackedCodes
        """
        check_is_fitted(self)
        return self._codes(self._check_rows(X))

    def signatures(self, X: Any) -> tuple[Array, Array]:
        """Full samples of rows.

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
        check_is_fitted(self)
        rows = self._check_rows(X)
        i = np.empty((rows.shape[0], int(self.n_components)), np.int64)
        t = np.zeros_like(i)
        if self.gamma is None:
            empty = np.empty(len(i), np.uint8)
            backend().gcws_samples(
                native_rows(rows, slice(0, len(i))), self._hashing(), i, t, empty, check_n_jobs(self.n_jobs)
            )
        else:
            for part, joined, empty in self._joined(rows):
                i[part] = np.where(empty[:, None], -1, joined)
        return i, t

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_params(self) -> None:
        check_power(self.p)
        if self.gamma is not None and self.t_bits > 0:
            raise InputError(
                f"t_bits={self.t_bits} cannot be used with gamma={self.gamma}: a hash of eGMM joins several samples, "
                "t* among them. Use t_bits=0."
            )

    def _check_rows(self, X: Any) -> Any:
        self._validate_params()  # they may have been set after fit
        self._check_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        rows = canonical_rows(X)
        if self.center_ is not None:
            check_center(self.center_, rows)
            largest = max(abs(float(rows.max())), abs(float(rows.min()))) + float(np.abs(self.center_).max())
            if not np.isfinite(largest):
                raise InputError("X minus center can pass the largest float: scale X and center down first.")
        return rows

    def _hashing(self) -> Hashing:
        return Hashing(self.center_, float(self.p), self.seed_)

    def _info(self) -> HashInfo:
        gamma = None if self.gamma is None else float(self.gamma)
        return HashInfo(self.seed_, float(self.p), gamma, self.center_, self.n_features_in_)

    def _codes(self, rows: Any) -> PackedCodes:
        n, k, bits, t_bits = rows.shape[0], int(self.n_components), int(self.bits), int(self.t_bits)
        width = bits + t_bits
        threads, chosen = check_n_jobs(self.n_jobs), backend()
        packed = np.empty((n, -(-k * width // 8)), np.uint8)
        empty = np.empty(n, np.uint8)
        if self.gamma is None:
            # Codes of 8 bits are their own packed form; others are packed a few rows at a time.
            for part in row_batches(n, 4 * k, 4 * k * n if width == 8 else STEP_BYTES):
                size = part.stop - part.start
                codes = packed[part] if width == 8 else np.empty((size, k), code_dtype(width))
                part_rows = native_rows(rows, part)
                chosen.gcws_codes(part_rows, self._hashing(), bits, t_bits, codes, empty[part], threads)
                if width != 8:
                    chosen.pack(codes, width, packed[part], threads)
        else:
            for part, joined, flags in self._joined(rows):
                codes = (joined & ((1 << bits) - 1)).astype(code_dtype(width))
                codes[flags.astype(bool)] = 0
                chosen.pack(codes, width, packed[part], threads)
                empty[part] = flags
        return PackedCodes(packed, empty.astype(bool), k, bits, t_bits, self._info())

    def _joined(self, rows: Any) -> Iterator[tuple[slice, Array, Array]]:
        """Signatures of eGMM, a few rows at a time: (rows, 63-bit mixes, flags of empty rows)."""
        counts = poisson_counts(self.seed_, float(self.gamma or 0), int(self.n_components))
        total = int(counts.sum())
        threads, chosen = check_n_jobs(self.n_jobs), backend()
        for part in row_batches(rows.shape[0], 24 * max(total, 1), STEP_BYTES):
            size = part.stop - part.start
            slots, t = np.zeros((size, max(total, 1)), np.int64), np.zeros((size, max(total, 1)), np.int64)
            empty = np.empty(size, np.uint8)
            chosen.gcws_samples(native_rows(rows, part), self._hashing(), slots, t, empty, threads)
            joined = np.empty((size, len(counts)), np.int64)
            slots, t = np.ascontiguousarray(slots[:, :total]), np.ascontiguousarray(t[:, :total])
            chosen.concatenate(slots, t, counts, joined, threads)
            yield part, joined, empty
