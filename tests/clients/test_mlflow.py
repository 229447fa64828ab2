"""mlflow: models are logged, loaded and served by it, in a folder and without a network."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from helpers.clients import client, customers
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model

mlflow = client("mlflow")
skops = client("skops.io")
X, LEAVES, PAYS = customers()
pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow and its database give many


@pytest.fixture(scope="module", autouse=True)
def tracking(tmp_path_factory):
    """Runs in a folder."""
    folder = tmp_path_factory.mktemp("runs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        experiment = mlflow.create_experiment("customers", artifact_location=(folder / "files").as_uri())
        mlflow.set_experiment(experiment_id=experiment)
    yield
    mlflow.set_tracking_uri("")


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_a_model_is_logged_loaded_and_served(name):
    kind, y = (GCWSTabularClassifier, LEAVES) if name == "classifier" else (GCWSTabularRegressor, PAYS)
    model = kind("quick").fit(X, y)
    trusted = skops.get_untrusted_types(data=skops.dumps(model))
    assert all(part.startswith("kernelsketch.") for part in trusted)
    with mlflow.start_run():
        mlflow.log_params(model.get_params())
        mlflow.log_metric("held_out_score", model.held_out_score_)
        signature = mlflow.models.infer_signature(X, model.predict(X))
        logged = mlflow.sklearn.log_model(
            model,
            name="model",
            signature=signature,
            skops_trusted_types=trusted,
            pip_requirements=["kernelsketch"],
        )
    loaded = mlflow.sklearn.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    served = mlflow.pyfunc.load_model(logged.model_uri)
    texts = X.astype({"region": str})  # its schemas know no categories of pandas
    np.testing.assert_array_equal(served.predict(texts), model.predict(X))


def test_our_own_file_is_an_artifact(tmp_path):
    model = GCWSTabularRegressor("quick").fit(X, PAYS)
    model.save(tmp_path / "model.safetensors")
    with mlflow.start_run() as run:
        mlflow.log_artifact(tmp_path / "model.safetensors")
    found = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="model.safetensors")
    np.testing.assert_array_equal(load_model(found).predict(X), model.predict(X))


def test_autolog_of_a_pipeline():
    mlflow.sklearn.autolog(log_models=False)
    try:
        with mlflow.start_run() as run:
            model = make_pipeline(GCWSTabularClassifier("quick")).fit(X, LEAVES)
    finally:
        mlflow.sklearn.autolog(disable=True)
    found = mlflow.get_run(run.info.run_id).data
    assert found.params["gcwstabularclassifier__effort"] == "quick"
    assert found.metrics["training_accuracy_score"] == model.score(X, LEAVES)
