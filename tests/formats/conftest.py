import numpy as np
import pytest
from scipy import sparse

from kernelsketch.formats import open_rows


def stacked(blocks):
    """All rows and labels of a stream."""
    blocks = list(blocks)
    assert blocks
    Xs = [block.X for block in blocks]
    if sparse.issparse(Xs[0]):
        width = max(X.shape[1] for X in Xs)
        for X in Xs:
            X.resize(X.shape[0], width)
        X = sparse.vstack(Xs, format="csr").toarray()
    else:
        X = np.concatenate(Xs)
    ys = [block.y for block in blocks]
    return X, None if ys[0] is None else np.concatenate(ys)


def change_while_reading(path, change, **options):
    """Reads all blocks; after the first the file grows or shrinks by some bytes."""
    for i, _ in enumerate(open_rows(path, **options)):
        if i == 0:
            with path.open("r+b") as file:
                file.truncate(path.stat().st_size + change)


@pytest.fixture
def read():
    def read(source, **options):
        return stacked(open_rows(source, **options))

    return read


@pytest.fixture
def rows():
    """A dense table with zeros, and text labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 7)) * (rng.random((500, 7)) < 0.6)
    X[:, -1] = 1.5
    return X, rng.choice(["no", "yes", "perhaps"], 500)
