"""FastAPI: the service of docs/how-to/serving.rst, end to end."""

import importlib.util
import math
from pathlib import Path

from helpers.clients import client
from kernelsketch import GCWSTabularClassifier

client("fastapi")
client("httpx")  # which its test client needs
client_of = client("fastapi.testclient").TestClient
APP = Path(__file__).parents[2] / "docs/how-to/flats_app.py"


def flats():
    heats = ["gas", "electric", "district", None]
    return [
        {"area": 40.0 + i % 50, "rooms": 1 + i % 4, "district": f"d{i % 7}", "heating": heats[i % 4]}
        for i in range(300)
    ]


def test_the_service_answers_as_the_model(tmp_path, monkeypatch):
    rows = flats()
    model = GCWSTabularClassifier("quick").fit(rows, [row["area"] > 60 and row["rooms"] > 1 for row in rows])
    monkeypatch.chdir(tmp_path)
    model.save("flats.safetensors")
    spec = importlib.util.spec_from_file_location("flats_app", APP)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "flats_app", module)
    spec.loader.exec_module(module)
    service = client_of(module.app)
    for row in ({"area": 75, "district": "d3"}, rows[0], {"district": "elsewhere"}, {}):
        whole = {**dict.fromkeys(("area", "rooms", "district", "heating")), **row}
        answer = service.post("/predict", json=row)
        assert answer.status_code == 200
        assert answer.json() == dict(zip(["False", "True"], model.predict_proba([whole])[0].tolist(), strict=True))
        assert math.isclose(sum(answer.json().values()), 1)
    assert service.post("/predict", json={"area": "large"}).status_code == 422
    assert (
        service.post("/predict", content='{"area": 1e999}', headers={"Content-Type": "application/json"}).status_code
        == 422
    )
