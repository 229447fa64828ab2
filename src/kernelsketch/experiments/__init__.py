"""Simulations that verify the theorems, and the figures of the paper made from them."""

from ._fourier import FourierSimulation, simulate_fourier
from ._gcws import GCWSSimulation, simulate_gcws
from ._limit import LimitSimulation, simulate_limit
from ._rbf_from_gmm import RBFFromGMMSimulation, simulate_rbf_from_gmm

__all__ = [
    "FourierSimulation",
    "GCWSSimulation",
    "LimitSimulation",
    "RBFFromGMMSimulation",
    "simulate_fourier",
    "simulate_gcws",
    "simulate_limit",
    "simulate_rbf_from_gmm",
]
