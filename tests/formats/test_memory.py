"""Files are read in memory that does not grow with them."""

import sys
import textwrap

import pytest

from helpers.memory import extra_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")

IMPORTS = """
    import bz2, gzip, tempfile
    from pathlib import Path
    from kernelsketch.formats import open_rows, write_rows
    folder = Path(tempfile.mkdtemp())

    def text(line, times, opener, name):
        with opener(folder / name, "wb") as file:
            for _ in range(20):
                file.write(line * times)
        return folder / name

    def array(save, name):
        save(folder / name, rng.integers(0, 9, (500_000, 8)).astype(np.float64))
        return folder / name

    def parquet():
        rows = rng.integers(0, 9, (50_000, 8)).astype(np.float64)
        write_rows(folder / "x.parquet", [(rows, None)] * 10)
        return folder / "x.parquet"

    def read(path):
        return np.array([sum(X.shape[0] for X, _ in open_rows(path, block_bytes=1 << 20))])
"""


@pytest.mark.parametrize(
    "make",
    [
        "text(b'1 1:2.5 9:3\\n', 1 << 17, open, 'x.libsvm')",
        pytest.param("text(b'1 1:2.5 9:3\\n', 1 << 17, gzip.open, 'x.libsvm.gz')", marks=pytest.mark.slow),
        pytest.param("text(b'1,2,3,4,5,6,7,8\\n', 1 << 14, open, 'x.csv')", marks=pytest.mark.slow),
        pytest.param("array(np.save, 'x.npy')", marks=pytest.mark.slow),
        pytest.param("array(np.savez_compressed, 'x.npz')", marks=pytest.mark.slow),
        pytest.param("parquet()", marks=pytest.mark.slow),
    ],
)
def test_constant(make):
    """20 MB of X or more; a block has 1 MiB, what Python and pyarrow need besides is small."""
    if make == "parquet()":
        pytest.importorskip("pyarrow")
    warm_up = "next(open_rows(X, block_bytes=1 << 16)).X.shape"
    assert extra_memory(make, warm_up, "read(X)", textwrap.dedent(IMPORTS)) < 16


@pytest.mark.slow
def test_text_is_written_step_by_step():
    """80 MB of rows make 50 MB of text; checks need a byte a value, a step a few megabytes."""
    make = "sparse.csr_array((np.ones(5_000_000), np.tile(np.arange(50), 100_000), np.arange(0, 5_000_001, 50)))"
    write = "np.array([write_rows(folder / 'x.libsvm', [({}, None)])])"
    imports = textwrap.dedent(IMPORTS) + "\nfrom scipy import sparse\n"
    assert extra_memory(make, write.format("X[:1000]"), write.format("X"), imports) < 32
