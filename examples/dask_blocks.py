"""
Blocks of a Dask array
======================

This example hashes the blocks of a Dask array, wherever they are, with the scikit-learn transformer.

The transformer learns nothing from the data, so each block can be hashed independently. A code of 8 bits takes one
byte, and an array of codes is all that a linear model needs.
"""

import sys

import numpy as np

try:
    import dask.array as da
except ImportError:
    sys.exit("Dask is not installed: run  pip install 'dask[array]'")

from kernelsketch import GCWS

HASHES = 256


def hash_block(block, hasher):
    return hasher.codes(block).packed


rows = da.random.default_rng(0).normal(size=(10_000, 50), chunks=(2_500, 50))
hasher = GCWS(HASHES).fit(np.zeros((1, 50)))  # sets the seed and the number of features
codes = rows.map_blocks(hash_block, hasher, dtype=np.uint8, chunks=(2_500, HASHES), meta=np.empty((0, 0), np.uint8))

if __name__ == "__main__":
    found = codes.compute()
    same = np.array_equal(found, hasher.codes(rows.compute()).packed)
    print(f"{found.shape[0]} rows in {codes.numblocks[0]} blocks, {found.nbytes} bytes; as on one machine: {same}")
