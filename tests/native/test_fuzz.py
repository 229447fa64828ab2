"""A short run of `make fuzz`, and every text that it has kept."""

import numpy as np
import pytest

from kernelsketch import _backend

from . import fuzz

TEXTS = sorted((fuzz.CORPUS / "libsvm").iterdir())


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    found = fuzz.build(tmp_path_factory.mktemp("fuzz"))
    if found is None:
        pytest.skip("no compiler with sanitizers")
    return found


def test_changed_texts(program, tmp_path):
    assert "texts" in fuzz.mutate_libsvm(program, tmp_path, 0.5, 0)


def test_texts_of_hypothesis(program):
    fuzz.check_libsvm(program, 100)


def test_csv():
    fuzz.check_csv(100, 0)


def test_the_corpus_in_native_code_and_reference():
    assert len(TEXTS) > 10
    for path in TEXTS:
        text = path.read_bytes().removesuffix(b"\n") + b"\n"
        for dtype in (np.float32, np.float64):
            found = [_of(name, text, dtype) for name in (_backend.supported()[0], "reference")]
            assert found[0].fault == found[1].fault, path
            if found[0].fault is None:
                assert all(np.array_equal(a, b, equal_nan=a is found[0].labels) for a, b in zip(*found, strict=True)), (
                    path
                )


def _of(name, text, dtype):
    with _backend.using(name) as backend:
        return backend.libsvm(np.frombuffer(text, np.uint8), 1, dtype, 1)
