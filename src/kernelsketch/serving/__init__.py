"""Predictions in a service: a fitted model without validation, without scikit-learn and with everything ready.

A process that imports only this package imports NumPy and the native module, neither SciPy nor scikit-learn::

    model.predictor()  ->  Predictor  <-  Predictor.load("model.safetensors")
    Predictor:  row -> scaling -> hash with tables that are ready -> decision values -> label, probabilities or number

::

    _predictor.py      Predictor
    _model_file.py     the schema of model files, and ModelParts: what predictions need of them
    _scaling.py        Scaling of columns
    _probabilities.py  Calibration, and probabilities from decision values
    _numbers.py        the numbers of the codes that a model uses
    _c_header.py       a predictor as a C header
    _onnx.py           a predictor as an ONNX graph

The estimators of ``kernelsketch.linear`` use the same parts, so that both give the same results to the last bit.
"""

from ._model_file import (
    HASH,
    LABEL_COLUMN,
    MODEL_SCHEMA,
    PARAMETER,
    SCALING,
    ModelParts,
    check_label_bytes,
    padded,
    stored_parts,
    weight_tensors,
)
from ._numbers import MOST_CODES, number_dtype, numbers_of, stride_of
from ._predictor import Predictor
from ._probabilities import Calibration, class_numbers, shares_of, softmax_shares
from ._scaling import Scaling

__all__ = [
    "HASH",
    "LABEL_COLUMN",
    "MODEL_SCHEMA",
    "MOST_CODES",
    "PARAMETER",
    "SCALING",
    "Calibration",
    "ModelParts",
    "Predictor",
    "Scaling",
    "check_label_bytes",
    "class_numbers",
    "number_dtype",
    "numbers_of",
    "padded",
    "shares_of",
    "softmax_shares",
    "stored_parts",
    "stride_of",
    "weight_tensors",
]
