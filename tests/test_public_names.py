"""The public names, and that each is documented."""

import inspect
import subprocess
import sys

import kernelsketch

NAMES = [
    "DocumentCollection",
    "GCWS",
    "GCWSClassifier",
    "GCWSClassifierCV",
    "GCWSIndex",
    "GCWSNeighborsTransformer",
    "GCWSRegressor",
    "GCWSRegressorCV",
    "GCWSTabularClassifier",
    "GCWSTabularRegressor",
    "GMMNystroem",
    "NRFF",
    "NearDuplicates",
    "PackedCodes",
    "RFF",
    "RelevanceScaler",
    "correlation_kernel",
    "dedup",
    "egmm_kernel",
    "gmm_kernel",
    "intersection_kernel",
    "iter_kernel_blocks",
    "load_model",
    "ngmm_kernel",
    "rbf_kernel",
    "sign_split",
    "use_backend",
]


def test_names():
    assert sorted(kernelsketch.__all__) == NAMES
    assert all(hasattr(kernelsketch, name) for name in NAMES)


def test_modules_are_attributes_from_the_start():
    code = "import kernelsketch as k; k.reference; k.backends; print(*(n for n in dir(k) if n[0] != '_'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"Any", "TYPE_CHECKING", "annotations"}.isdisjoint(found)
    assert {"backends", "reference", *NAMES} <= set(found)


def test_every_public_name_has_an_example_and_describes_its_parameters():
    for name in NAMES:
        thing = getattr(kernelsketch, name)
        assert ">>>" in thing.__doc__, name
        documented = thing.__doc__.split("Returns\n")[0].split("Yields\n")[0].split("Attributes\n")[0]
        for parameter in inspect.signature(thing).parameters:
            assert parameter in documented, (name, parameter)


def test_options_are_keyword_only():
    for name in NAMES:
        if name == "PackedCodes":  # made by GCWS.codes, not by users
            continue
        kinds = [p.kind for p in inspect.signature(getattr(kernelsketch, name)).parameters.values()]
        assert sum(kind == inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds) <= 2, name


def test_version():
    assert kernelsketch.__version__.startswith("0.1")
