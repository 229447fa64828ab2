"""LinearModel: the fitted model as a value, which predicts, is saved and loaded by itself."""

import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest
from scipy import sparse

from helpers.models import decision_values
from kernelsketch import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, load_model
from kernelsketch._rows import rows_of
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.serving import LinearModel, Predictor

RNG = np.random.default_rng(0)
X = RNG.gamma(1.0, size=(300, 6))
Y = (X[:, 0] > 1).astype(int) + (X[:, 1] > 1)
T = X[:, 0] - X[:, 1]

FITTED = {
    "classes": lambda: GCWSClassifier(32).fit(X, Y),
    "two classes of text": lambda: GCWSClassifier(32, loss="log_loss").fit(X, np.array(["a", "b"])[Y % 2]),
    "calibrated": lambda: GCWSClassifier(32, probability="calibrated").fit(X, Y),
    "scaled": lambda: GCWSClassifier(32, scale="quantile").fit(X - 1, Y),
    "centered views": lambda: GCWSClassifier(32, center="mean", views=[2, 4]).fit(X, Y),
    "gamma": lambda: GCWSClassifier(32, gamma=2.0, random_state=np.random.RandomState(1)).fit(X, Y),
    "chosen": lambda: GCWSClassifierCV(32, Cs=[1, 10], cv=2).fit(X, Y),
    "stream": lambda: GCWSClassifier(32).partial_fit(X, Y, classes=[0, 1, 2]),
    "numbers": lambda: GCWSRegressor(32).fit(X, T),
}


@pytest.fixture(params=FITTED)
def estimator(request):
    return FITTED[request.param]()


def test_the_value_predicts_as_its_estimator(estimator):
    model = estimator.fitted_
    found = model.predict(rows_of(X))
    np.testing.assert_array_equal(found, estimator.predict(X))
    assert found.dtype == estimator.predict(X).dtype
    np.testing.assert_array_equal(model.raw_values(rows_of(X)), decision_values(estimator, X))
    if model.classes is not None:
        values = model.decide(rows_of(X))
        np.testing.assert_array_equal(values if values.shape[1] > 1 else values[:, 0], estimator.decision_function(X))
        assert model.has_probabilities == hasattr(estimator, "predict_proba")
    if model.has_probabilities:
        np.testing.assert_array_equal(model.probabilities(values), estimator.predict_proba(X))


def test_it_is_saved_and_loaded_by_itself(estimator, tmp_path):
    """A file of the value alone is one that estimators and predictors read, too."""
    model = estimator.fitted_
    model.save(tmp_path / "model")
    expected = estimator.predict(X)
    for read in (
        LinearModel.load(tmp_path / "model").predict(rows_of(X)),
        Predictor.load(tmp_path / "model").predict(X),
        load_model(tmp_path / "model").predict(X),
    ):
        np.testing.assert_array_equal(read, expected)
    estimator.save(tmp_path / "estimator")
    again = LinearModel.load(tmp_path / "estimator")
    np.testing.assert_array_equal(again.weights, model.weights)
    np.testing.assert_array_equal(again.predict(rows_of(X)), expected)


def test_a_restored_estimator_has_the_parameters_of_the_hash(tmp_path):
    made = GCWSClassifier(32, bits=4, p=2.0, center="mean", views=[2, 4], random_state=7).fit(X, Y)
    made.fitted_.save(tmp_path / "model")
    read = load_model(tmp_path / "model")
    assert (read.n_components, read.bits, read.p, read.random_state, list(read.views)) == (32, 4, 2.0, 7, [2, 4])
    np.testing.assert_array_equal(read.center, X.mean(axis=0))
    read.partial_fit(X, Y)
    assert read.score(X, Y) > 0.8


def test_it_does_not_change(estimator):
    with pytest.raises(FrozenInstanceError):
        estimator.fitted_.loss = "hinge"
    with pytest.raises(AttributeError):
        estimator.used_codes_ = np.arange(3)


def arrays_of(value):
    """All NumPy arrays of a value and of the values in it."""
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, np.ndarray):
            yield part
        elif is_dataclass(part):
            yield from arrays_of(part)


def test_its_arrays_are_read_only(estimator, tmp_path):
    estimator.fitted_.save(tmp_path / "model")
    copies = estimator.fitted_, pickle.loads(pickle.dumps(estimator.fitted_)), LinearModel.load(tmp_path / "model")
    for model in copies:
        found = list(arrays_of(model))
        assert len(found) >= 3
        assert not any(array.flags.writeable for array in found)


@pytest.mark.parametrize("name", ["fit", "partial_fit"])
def test_what_learning_continues_from_is_read_only(name):
    model = GCWSClassifier(32, warm_start=True)
    getattr(model, name)(X, Y, **({"classes": [0, 1, 2]} if name == "partial_fit" else {}))
    before = model.training_.bias.copy()
    for training in (model.training_, pickle.loads(pickle.dumps(model.training_))):
        arrays = [training.bias, training.gap, training.objective, training.duals]
        assert not any(array.flags.writeable for array in arrays if array is not None)
    with pytest.raises(ValueError, match="read-only"):
        model.training_.bias[0] = 7
    earlier = model.training_
    getattr(model, name)(X, Y)  # continues from there, and changes nothing of it
    np.testing.assert_array_equal(earlier.bias, before)
    assert model.training_ is not earlier


def test_arrays_are_not_copied_for_that():
    weights = np.zeros((1, 2, 16), np.float32)
    model = replace(GCWSRegressor(2).fit(X, T).fitted_, weights=weights)
    assert np.shares_memory(model.weights, weights)
    assert weights.flags.writeable


@pytest.mark.parametrize("scale", ["standard", "robust", "quantile"])
def test_the_file_of_a_value_knows_how_it_scales(scale, tmp_path):
    GCWSClassifier(32, scale=scale).fit(X, Y).fitted_.save(tmp_path / "model")
    read = load_model(tmp_path / "model")
    assert read.scale == scale
    read.fitted_.save(tmp_path / "again")
    assert load_model(tmp_path / "again").scale == scale


@pytest.mark.parametrize("options", [{"loss": "quantile", "quantile": 0.9}, {"loss": "huber", "epsilon": 0.2}])
@pytest.mark.parametrize("in_one_pass", [False, True])
def test_the_file_of_a_value_knows_the_parameter_of_its_loss(options, in_one_pass, tmp_path):
    estimator = GCWSRegressor(8, **options)
    (estimator.partial_fit if in_one_pass else estimator.fit)(X, T)
    estimator.fitted_.save(tmp_path / "model")
    read = load_model(tmp_path / "model")
    assert options.items() <= read.get_params().items()
    read.fitted_.save(tmp_path / "again")
    assert options.items() <= load_model(tmp_path / "again").get_params().items()


def test_pickle(estimator):
    again = pickle.loads(pickle.dumps(estimator.fitted_))
    np.testing.assert_array_equal(again.predict(rows_of(X)), estimator.predict(X))


def test_what_learning_needs_is_beside_it():
    model = GCWSClassifier(32, warm_start=True).fit(X, Y)
    assert model.training_.duals.shape == (3, 300)
    assert model.training_.stream is None
    model.partial_fit(X, Y)
    assert model.training_.duals is None
    assert model.training_.stream.blocks == 2 + 2  # of the fit, and of the next rows
    sizes = [len(pickle.dumps(part)) for part in (model.fitted_, model)]
    assert sizes[0] < sizes[1] / 1.5


def test_sparse_rows():
    model = GCWSClassifier(32).fit(sparse.csr_array(X), Y).fitted_
    assert not model.needs_dense
    assert GCWSClassifier(32, center="mean").fit(X, Y).fitted_.needs_dense
    assert GCWSClassifier(32, scale="robust").fit(X, Y).fitted_.needs_dense
    np.testing.assert_array_equal(model.predict(rows_of(sparse.csr_array(X))), model.predict(rows_of(X)))


def test_a_calibration_that_is_not_there():
    model = GCWSClassifier(32).fit(X, Y)
    with pytest.raises(InputError, match="fitted without it") as caught:
        model.set_params(probability="calibrated").predict(X)
    assert caught.value.parameter == "probability"
    calibrated = GCWSClassifier(32, probability="calibrated").fit(X, Y)
    plain = calibrated.set_params(probability=None).decision_function(X)
    np.testing.assert_array_equal(plain, decision_values(calibrated, X))
    assert replace(calibrated.fitted_, calibration=None).has_probabilities is False


def test_a_process_that_loads_it_imports_no_scikit_learn(tmp_path):
    GCWSClassifier(32, probability="calibrated").fit(X, Y).fitted_.save(tmp_path / "model")
    program = (
        "import sys, numpy as np\n"
        "from kernelsketch.serving import LinearModel, Predictor\n"
        "model = LinearModel.load(sys.argv[1])\n"
        "Predictor(model).predict(np.ones(6))\n"
        "model.save(sys.argv[1] + '2')\n"
        "print([name for name in ('sklearn', 'scipy') if name in sys.modules])"
    )
    run = [sys.executable, "-c", program, str(tmp_path / "model")]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_changes_of_attributes_change_no_prediction():
    model = GCWSClassifier(32).fit(X, Y)
    predictor, before = model.predictor(), model.decision_function(X)
    model.intercept_[:] += 1
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(predictor.decision_function(X), before)


def test_a_loss_that_is_set_later_counts_everywhere(tmp_path):
    """Estimator, predictor and file agree on whether there are probabilities."""
    two = (X[:, 0] > 1).astype(int)
    for fitted, later in (("squared_hinge", "log_loss"), ("log_loss", "hinge")):
        model = GCWSClassifier(32, loss=fitted).fit(X, two).set_params(loss=later)
        model.save(tmp_path / later)
        for made in (model.predictor(), Predictor.load(tmp_path / later)):
            if later == "log_loss":
                np.testing.assert_array_equal(made.predict_proba(X), model.predict_proba(X))
            else:
                assert not hasattr(model, "predict_proba")
                with pytest.raises(InputError, match="predict_proba needs"):
                    made.predict_proba(X)


def test_arrays_are_refused_with_the_way_to_predict_them():
    with pytest.raises(InputTypeError, match=r"Predictor\(model\) takes arrays"):
        GCWSClassifier(32).fit(X, Y).fitted_.predict(X)


def test_a_file_with_a_parameter_that_cannot_be(tmp_path):
    GCWSClassifier(32).fit(X, Y).set_params(C=-1.0).save(tmp_path / "model")
    with pytest.raises(InputError, match=r"model is damaged: The 'C' parameter of GCWSClassifier"):
        load_model(tmp_path / "model")
