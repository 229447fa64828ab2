"""Simulations that verify the theorems, and the figures of the paper made from them."""

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
