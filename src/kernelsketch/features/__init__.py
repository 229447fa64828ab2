"""scikit-learn transformers that turn rows into features for linear models.

The inner product of two transformed rows approximates a kernel, so that a linear model on the features approximates a
kernel machine.

::

    file        class          approximated kernel             features
    _gcws       GCWS           GMM, pGMM, eGMM                 one-hot codes of the hashes (CSR)
    _fourier    RFF, NRFF      RBF on rows of unit norm        random Fourier features (dense)
    _nystroem   GMMNystroem    every kernel of ``kernels/``    similarities to a sample of the rows (dense)

GCWS hands rows to a :class:`~kernelsketch.hashing.Hasher`, RFF and NRFF to the back end of the data
(:func:`~kernelsketch.backends.backend_for`), and GMMNystroem to a kernel function::

    X  ->  estimator_rows (one check)     ->  Hasher or back end  ->  features     GCWS, RFF, NRFF
    X  ->  scikit-learn's validate_data   ->  kernel function     ->  features     GMMNystroem
"""

from ._fourier import NRFF, RFF
from ._gcws import GCWS
from ._nystroem import GMMNystroem

__all__ = ["GCWS", "NRFF", "RFF", "GMMNystroem"]
