"""Parameters of Spark ML are those of the scikit-learn classes."""

from inspect import signature

import pytest

import kernelsketch
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.spark import GCWS, NRFF, GCWSClassifier

CHANGED = {"loss", "max_iter"}  # other defaults: Spark has no squared hinge, and passes cost more


@pytest.mark.parametrize("kind", [GCWS, NRFF, GCWSClassifier])
def test_names_and_defaults(spark, kind):
    theirs = signature(getattr(kernelsketch, kind.__name__)).parameters
    stage = kind()
    for name, parameter in theirs.items():
        assert stage.hasParam(name) != (name in kind._without), name
        if name not in kind._without | CHANGED:
            assert stage.getOrDefault(name) == parameter.default, name
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
