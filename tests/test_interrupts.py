"""Ctrl-C comes back soon, whatever a call is doing: in native code, in BLAS and LAPACK, and in NumPy."""

import sys
import threading

import pytest

from helpers.interrupts import LITTLE, after_ctrl_c
from kernelsketch._interruptible import interruptible

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process of one's own on Windows")

CALLS = {
    "kernel of long rows": (
        "X = rng.random((64, 1_000_000), dtype=np.float32)",
        "[kernelsketch.gmm_kernel(X) for _ in range(1000)]",
    ),
    "kernel in parts": ("X = rng.normal(size=(14_000, 160))", "kernelsketch.gmm_kernel(X, p=1.5)"),
    "sparse kernel of long rows": (
        "X = sparse.csr_array(np.ones((40, 1_000_000), np.float32))",
        "[kernelsketch.gmm_kernel(X) for _ in range(1000)]",
    ),
    "correlation of short rows": (
        "X = rng.normal(size=(40_000, 8)).astype(np.float32)",
        "kernelsketch.correlation_kernel(X)",
    ),
    "RBF kernel": ("X = rng.normal(size=(12_000, 1500))", "kernelsketch.rbf_kernel(X)"),
    "Nystroem": (
        "X = rng.random((4000, 20))",
        "kernelsketch.GMMNystroem(n_components=4000, random_state=0).fit(X)",
    ),
    "Nystroem features": (
        "X = rng.random((60_000, 20)); model = kernelsketch.GMMNystroem(n_components=1500, random_state=0).fit(X)",
        "[model.transform(X) for _ in range(100)]",
    ),
    "shingles of one text": (
        "from kernelsketch.text import Shingles; texts = ['some words of a long text ' * 3_000_000]",
        "Shingles((1, 9)).transform(texts)",
    ),
    "frequencies of shingles": (
        """
        from kernelsketch.backends import CsrRows
        from kernelsketch.text import DocumentFrequencies
        rows = CsrRows(np.array([0, 60_000_000]), rng.integers(0, 2**62, 60_000_000), None, 2**62)
        """,
        "DocumentFrequencies.of([rows])",
    ),
    "LIBSVM text": (
        """
        import io
        from kernelsketch.formats import open_rows
        text = b"1 " + b" ".join(b"%d:0.12345678901234567890123" % i for i in range(1, 30)) + b"\\n"
        text = io.BytesIO(text * 400_000)
        """,
        "list(open_rows(text, format='libsvm', block_bytes=1 << 32))",
    ),
    "LIBSVM text of one line": (
        """
        import io
        from kernelsketch.formats import open_rows
        text = io.BytesIO(b"1 " + b" ".join(b"%d:1" % i for i in rng.permutation(8_000_000).tolist()) + b"\\n")
        """,
        "list(open_rows(text, format='libsvm', zero_based=True, block_bytes=1 << 30))",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(name):
    assert after_ctrl_c(*CALLS[name]) == LITTLE


def test_calls_that_cannot_be_stopped_return_and_raise():
    assert interruptible(max, 1, 2) == 2
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0)
    found = []
    thread = threading.Thread(target=lambda: found.append(interruptible(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]  # signals do not come there, so no other thread is needed


def test_calls_that_cannot_be_stopped_are_left_alone():
    make = "from kernelsketch._interruptible import interruptible"
    assert after_ctrl_c(make, "interruptible(lambda: [sum(range(10_000)) for _ in range(10**9)])") == LITTLE
