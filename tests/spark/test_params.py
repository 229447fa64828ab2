"""Parameters of Spark ML are those of the scikit-learn classes."""

from inspect import signature

import pytest

import kernelsketch
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.spark import GCWS, NRFF, GCWSClassifier, approx_nearest_neighbors, approx_similarity_join, dedup


@pytest.mark.parametrize("kind", [GCWS, NRFF, GCWSClassifier])
def test_defaults_of_classes(kind):
    """Those of the scikit-learn class, for every parameter that both have."""
    theirs = defaults_of(getattr(kernelsketch, kind.__name__))
    assert not kind._own.keys() & theirs.keys()
    assert kind.local_defaults() == {
        **{name: value for name, value in theirs.items() if name not in kind._without},
        **{name: value for name, (value, _) in kind._own.items()},
    }


@pytest.mark.parametrize(
    ("function", "local", "chosen"),
    [
        (dedup, kernelsketch.dedup, set()),
        (approx_similarity_join, kernelsketch.NearDuplicates, set()),
        (approx_similarity_join, kernelsketch.GCWSIndex, {"n_tables", "hashes_per_table"}),
        (approx_nearest_neighbors, kernelsketch.GCWSIndex, {"n_tables", "hashes_per_table"}),
        (approx_nearest_neighbors, kernelsketch.GCWSIndex.tune, {"n_neighbors"}),
    ],
)
def test_defaults_of_functions(function, local, chosen):
    """``chosen``: parameters of which None means a choice, here or there."""
    ours, theirs = defaults_of(function), defaults_of(local)
    both = ours.keys() & theirs.keys()
    assert len(both - chosen) >= 1
    for name in both:
        assert (ours[name] == theirs[name]) != (name in chosen), name


def defaults_of(thing):
    found = signature(thing).parameters.values()
    return {parameter.name: parameter.default for parameter in found if parameter.default is not parameter.empty}


@pytest.mark.parametrize("kind", [GCWS, NRFF, GCWSClassifier])
def test_names_and_values(spark, kind):
    stage = kind()
    for name, value in defaults_of(getattr(kernelsketch, kind.__name__)).items():
        assert stage.hasParam(name) != (name in kind._without), name
        if name not in kind._without:
            assert stage.getOrDefault(name) == value, name
    for param in stage.params:
        assert param.name in kind.__doc__


def test_values(spark):
    hasher = GCWS(n_components=8, p=2, center=[1, 2])
    assert hasher.to_local().get_params() == kernelsketch.GCWS(8, p=2.0, center=[1.0, 2.0]).get_params()
    assert hasher.setParams(center=None).getOrDefault("center") is None
    assert hasher.copy({hasher.bits: 3}).to_local().bits == 3
    for views in (3, [1, 2]):
        assert GCWS(views=views).to_local().views == views
    assert hasher.setInputCol("x").setOutputCol("y").getInputCol() == "x"


def test_what_cannot_be(spark):
    with pytest.raises(InputTypeError, match=r"GCWS has no parameter 'k': its parameters are .*n_components"):
        GCWS(k=3)
    with pytest.raises(InputError, match="random_state=None cannot be used on a cluster"):
        GCWS(random_state=None)
    with pytest.raises(ValueError, match="'bits' parameter of GCWS must be an int in the range"):
        GCWS(bits=17).to_local()
    with pytest.raises(InputError, match=r"t_bits=1 cannot be used with gamma=2.0"):
        GCWS(t_bits=1, gamma=2.0).to_local()
    with pytest.raises(InputError, match=r"output must be one of 'vector', 'packed', got 'dense'"):
        GCWS(output="dense", outputCol="x").transform(spark.createDataFrame([], "features array<double>"))
    with pytest.raises(TypeError, match="views"):
        GCWS(views=[1.5, 2])
    with pytest.raises(TypeError, match="bits"):
        GCWS(bits="many")
    with pytest.raises(InputError, match="n_features is not known"):
        GCWS().packed_codes([])
