"""kernelsketch on Apache Spark: transformers, a classifier, joins and neighbours of rows that live on a cluster.

A code is a function of the seed and the row alone, so workers are sent parameters and nothing else, and every
partition gives the codes that one machine would give. Parameters have the names and defaults of the scikit-learn
classes; columns are named as Spark ML names them.
"""

from ..exceptions import MissingExtraError

try:
    import pandas as _pandas  # noqa: F401  (PySpark asks for it wherever Arrow is used)
    import pyarrow as _pyarrow  # noqa: F401
    from pyspark.sql.functions import arrow_udf as _arrow_udf  # noqa: F401
except ImportError as error:
    raise MissingExtraError("spark", "PySpark 4.1 or newer, with pandas and pyarrow,") from error

from ._classifier import GCWSClassifier
from ._gcws import GCWS
from ._join import approx_nearest_neighbors, approx_similarity_join
from ._model import GCWSClassifierModel
from ._nrff import NRFF
from ._pack import pack_rows

__all__ = [
    "GCWS",
    "NRFF",
    "GCWSClassifier",
    "GCWSClassifierModel",
    "approx_nearest_neighbors",
    "approx_similarity_join",
    "pack_rows",
]

for _kind in (GCWS, NRFF, GCWSClassifier, GCWSClassifierModel):
    _kind.__module__ = __name__  # the name that saved pipelines keep: public, so that files may move
