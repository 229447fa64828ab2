"""Kernel-machine accuracy at linear-model cost.

``import kernelsketch`` imports nothing else: a public name imports its module when it is first used, so that the
command line and a script that needs one kernel start fast.
"""

from __future__ import annotations

from importlib import import_module as _import_module

TYPE_CHECKING = False  # typing takes longer to import than everything else here
if TYPE_CHECKING:  # for type checkers and editors; a test holds these names equal to those of _HOMES
    from typing import Any

    from .backends import use_backend as use_backend
    from .features import GCWS as GCWS
    from .features import NRFF as NRFF
    from .features import RFF as RFF
    from .features import GMMNystroem as GMMNystroem
    from .hashing import PackedCodes as PackedCodes
    from .kernels import correlation_kernel as correlation_kernel
    from .kernels import egmm_kernel as egmm_kernel
    from .kernels import gmm_kernel as gmm_kernel
    from .kernels import intersection_kernel as intersection_kernel
    from .kernels import iter_kernel_blocks as iter_kernel_blocks
    from .kernels import ngmm_kernel as ngmm_kernel
    from .kernels import rbf_kernel as rbf_kernel
    from .kernels import sign_split as sign_split
    from .linear import GCWSClassifier as GCWSClassifier
    from .linear import GCWSClassifierCV as GCWSClassifierCV
    from .linear import GCWSRegressor as GCWSRegressor
    from .linear import GCWSRegressorCV as GCWSRegressorCV
    from .neighbors import DocumentCollection as DocumentCollection
    from .neighbors import GCWSIndex as GCWSIndex
    from .neighbors import GCWSNeighborsTransformer as GCWSNeighborsTransformer
    from .neighbors import NearDuplicates as NearDuplicates
    from .neighbors import dedup as dedup
    from .tabular import GCWSTabularClassifier as GCWSTabularClassifier
    from .tabular import GCWSTabularRegressor as GCWSTabularRegressor
    from .tabular import RelevanceScaler as RelevanceScaler
    from .tabular import load_model as load_model

    __version__: str

_HOMES = {
    "backends": ("use_backend",),
    "features": ("GCWS", "GMMNystroem", "NRFF", "RFF"),
    "hashing": ("PackedCodes",),
    "kernels": (
        "correlation_kernel",
        "egmm_kernel",
        "gmm_kernel",
        "intersection_kernel",
        "iter_kernel_blocks",
        "ngmm_kernel",
        "rbf_kernel",
        "sign_split",
    ),
    "linear": ("GCWSClassifier", "GCWSClassifierCV", "GCWSRegressor", "GCWSRegressorCV"),
    "neighbors": ("DocumentCollection", "GCWSIndex", "GCWSNeighborsTransformer", "NearDuplicates", "dedup"),
    "tabular": ("GCWSTabularClassifier", "GCWSTabularRegressor", "RelevanceScaler", "load_model"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = frozenset({*_HOMES, "exceptions", "formats", "reference", "serving", "text", "theory"})
_NOT_OURS = frozenset({"Any", "TYPE_CHECKING", "annotations"})

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(_import_module(f".{_HOME_OF[name]}", __name__), name)
    elif name in _MODULES:
        return _import_module(f".{name}", __name__)
    elif name == "__version__":
        from importlib.metadata import version

        value = version("kernelsketch")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # the next use does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "__version__"} - _NOT_OURS)
