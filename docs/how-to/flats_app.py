"""A service of a model of tables: uvicorn flats_app:app"""

from typing import Literal

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from kernelsketch.exceptions import InputError
from kernelsketch.serving import Predictor

app = FastAPI()
predictor = Predictor.load("flats.safetensors")


class Flat(BaseModel):
    area: float | None = None  # None if it is not known
    rooms: int | None = None
    district: str | None = None
    heating: Literal["gas", "electric", "district"] | None = None


@app.post("/predict")
async def predict(flat: Flat) -> dict[str, float]:
    try:
        shares = predictor.predict_proba(flat.model_dump())
    except InputError as error:  # it names the column
        raise HTTPException(422, str(error)) from error
    return dict(zip(map(str, predictor.classes_), shares.tolist(), strict=True))
