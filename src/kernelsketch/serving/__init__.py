"""A fitted model as a value, its files, and predictions in a service, without scikit-learn.

A process that imports only this package imports NumPy and the native module, neither SciPy nor scikit-learn::

    model.predictor()  ->  Predictor  <-  Predictor.load("model.safetensors")
    Predictor:  row -> scaling -> hash with tables that are ready -> decision values -> label, probabilities or number

::

    _model.py          LinearModel: what a fitted model is; decide, predict, save, load
    _model_file.py     the schema of model files, and LinearModel to and from their content
    _value.py          Value: what is immutable, with its arrays
    _scaling.py        Scaling of columns, and the columns that need it
    _probabilities.py  Calibration, and probabilities from decision values
    _numbers.py        the numbers of the codes that a model uses
    _predictor.py      Predictor
    _loaders.py        which package reads the predictors of other files: TablePredictor is in kernelsketch.tabular
    _c_header.py       a predictor as a C header
    _onnx.py           a predictor as an ONNX graph; _onnx_hash.py has the hash, _onnx_graph.py nodes and constants

The estimators of ``kernelsketch.linear`` hold the same value, so that all give the same results to the last bit.
"""

from ._c_header import c_array, c_header
from ._model import LinearModel
from ._model_file import MODEL_SCHEMA, model_content, stored_model, stored_parameters, stored_versions
from ._numbers import MOST_CODES, encode, number_dtype, numbers_of, padded, stride_of, unpacked_steps
from ._onnx_graph import OnnxGraph
from ._onnx_hash import OnnxFlags, OnnxView, onnx_calibrated, onnx_codes, onnx_decision
from ._predictor import Predictor, ready_model
from ._probabilities import Calibration, decided_classes, shares_of
from ._scaling import SCALES, Scaling, heavy_columns, warn_unscaled
from ._value import Value

__all__ = [
    "MODEL_SCHEMA",
    "MOST_CODES",
    "SCALES",
    "Calibration",
    "LinearModel",
    "OnnxFlags",
    "OnnxGraph",
    "OnnxView",
    "Predictor",
    "Scaling",
    "Value",
    "c_array",
    "c_header",
    "decided_classes",
    "encode",
    "heavy_columns",
    "model_content",
    "number_dtype",
    "numbers_of",
    "onnx_calibrated",
    "onnx_codes",
    "onnx_decision",
    "padded",
    "ready_model",
    "shares_of",
    "stored_model",
    "stored_parameters",
    "stored_versions",
    "stride_of",
    "unpacked_steps",
    "warn_unscaled",
]
