import numpy as np
import pytest
from scipy import sparse

from helpers.clusters import clusters


@pytest.fixture(params=["dense", "bytes", "signed", "csr"])
def rows(request):
    """400 rows of each kind that an index keeps in its own way; row 17 is empty."""
    X = clusters(400, 60, signed=request.param == "signed")
    X[17] = 0
    if request.param == "bytes":
        return np.minimum(np.rint(X * 40), 255)
    return sparse.csr_matrix(X) if request.param == "csr" else X
