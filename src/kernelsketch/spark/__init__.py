"""kernelsketch on Apache Spark: transformers, a classifier, similarity joins, neighbours and near-duplicates.

A code is a function of the parameters and the row alone. Spark therefore sends only parameters to the workers, and
every partition computes the codes that a single machine would compute. Parameters that the scikit-learn classes have,
too, have their names and defaults. Columns have the names that Spark ML uses.

::

    public                     _gcws         GCWS, a transformer: codes as sparse vectors or as bytes
                               _nrff         NRFF, a transformer: normalized random Fourier features
                               _classifier   GCWSClassifier, an estimator
                               _model        GCWSClassifierModel, the fitted classifier: transform, write, read
                               _join         approx_similarity_join, approx_nearest_neighbors
                               _dedup        dedup: near-duplicate texts, with the clusters of a single machine
                               _pack         pack_rows: rows as bytes, which Spark hands to Python faster than vectors

    shared by transformers     _transformer  SketchTransformer, their base class
                               _params       LocalParams: Spark parameters read from a scikit-learn class

    from Spark to NumPy        _column       RowColumn (the input column), and functions of rows as Arrow UDFs
    and back                   _rows         Arrow columns to NumPy or CSR rows, and the faults of rows
                               _arrow        codes, vectors and packed rows as Arrow columns

    arithmetic                 _average      distributed training for solver="average"
                               _pairs        the exact GMM kernel of pairs of rows
                               _texts        texts of a column: keys, counts, prefixes and similarities
                               _components   clusters of pairs: connected components and stars

The way of a row through ``transform``::

    driver:  parameters, types of columns  ->  checked before a job starts
    worker:  Arrow batch  ->  read_rows  ->  rows without a fault  ->  Hasher or NRFF  ->  Arrow column
                                  |
                                  +->  faults  ->  an error that names the first, or with handleInvalid="skip" null
"""

from ..exceptions import MissingExtraError

try:
    import pandas as _pandas  # noqa: F401  (PySpark needs it for Arrow)
    import pyarrow as _pyarrow  # noqa: F401
    from pyspark.sql.functions import arrow_udf as _arrow_udf  # noqa: F401
except ImportError as error:
    raise MissingExtraError("spark", "PySpark 4.1 or newer, with pandas and pyarrow,") from error

from ._classifier import GCWSClassifier
from ._dedup import dedup
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
    "dedup",
    "pack_rows",
]

for _kind in (GCWS, NRFF, GCWSClassifier, GCWSClassifierModel):
    _kind.__module__ = __name__  # saved pipelines store this name, so it must not depend on private files
