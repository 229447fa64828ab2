"""What the writers of text share: rows as CSR, numbers as the shortest text that reads back the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..._validation import Array, check_rows
from ._stream import check_block


def sparse_rows(X: Any, name: str) -> Any:
    """CSR with ascending ids and finite values; zeros of dense rows are left out."""
    rows = check_rows(X, name)
    if not sparse.issparse(rows):
        rows = sparse.csr_array(rows)
    check_block(rows, 0, name)
    return rows


def number_texts(values: Array) -> list[str]:
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if values.dtype.kind == "b":
        return ["1" if value else "0" for value in values.tolist()]
    if values.dtype == np.float32:
        texts = values.astype(np.str_).tolist()
    else:
        texts = list(map(repr, values.astype(np.float64).tolist()))
    return [text.removesuffix(".0") for text in texts]
