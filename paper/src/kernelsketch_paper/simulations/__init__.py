"""Simulations that check the theorems, and the theory figures of the paper made from them.

==============  =====================================================================================
_chunks         repetitions on several threads, and errors with their standard errors
_fourier        Theorems 2 and 3: random Fourier features, plain and normalized
_gcws           Theorem 1: GCWS as an estimate of the GMM kernel
_rbf_from_gmm   Theorem 4: the RBF kernel estimated from GCWS
_limit          the limit of the GMM kernel for many features
_theory_tables  the numbers of each figure
_theory_plots   the plot of each figure
_theory_figures all of it in one call, written to a folder
==============  =====================================================================================
"""

from ._fourier import FourierSimulation, simulate_fourier
from ._gcws import GCWSSimulation, simulate_gcws
from ._limit import LimitSimulation, simulate_limit
from ._rbf_from_gmm import RBFFromGMMSimulation, simulate_rbf_from_gmm
from ._theory_figures import FIGURES as THEORY_FIGURES
from ._theory_figures import theory_figures
from ._theory_tables import TheorySimulations

__all__ = [
    "THEORY_FIGURES",
    "FourierSimulation",
    "GCWSSimulation",
    "LimitSimulation",
    "RBFFromGMMSimulation",
    "TheorySimulations",
    "simulate_fourier",
    "simulate_gcws",
    "simulate_limit",
    "simulate_rbf_from_gmm",
    "theory_figures",
]
