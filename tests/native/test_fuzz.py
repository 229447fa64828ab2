"""A short run of `make fuzz`, and every text that it has kept."""

import random

import numpy as np
import pytest

from helpers import libsvm
from kernelsketch.formats._native_text import parse_libsvm

from . import fuzz, fuzz_files

TEXTS = sorted((fuzz.CORPUS / "libsvm").iterdir())


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    found = fuzz.build(tmp_path_factory.mktemp("fuzz"))
    if found is None:
        pytest.skip("no compiler with sanitizers")
    return found


@pytest.mark.slow
def test_changed_texts(program, tmp_path):
    assert "texts" in fuzz.mutate_libsvm(program, tmp_path, 0.5, 0)


@pytest.mark.slow
def test_texts_of_hypothesis(program):
    fuzz.check_libsvm(program, 100)


def test_csv():
    fuzz.check_csv(100, 0)


@pytest.mark.slow
def test_models_codes_and_indexes(tmp_path):
    assert "100 headers" in fuzz_files.check_headers(100, tmp_path)
    assert "150 files" in fuzz_files.fuzz(60, 0, tmp_path, 150)


def test_most_changes_of_files_get_past_the_checksums(tmp_path):
    rng, whole, path = random.Random(0), fuzz_files.seeds(), tmp_path / "file"
    said = []
    for _ in range(200):
        path.write_bytes(fuzz_files.changed(rng, rng.choice(whole)))
        said.append(str(fuzz_files.attempt(path)))
    assert sum("checksum" in text for text in said) < 40
    read = ("_model: a model", "_codes: codes", "_index: an index")
    assert sum(any(what in text for what in read) for text in said) > 10  # the schema refuses most of the others


def test_the_corpus_in_native_code_and_reference():
    assert len(TEXTS) > 10
    for path in TEXTS:
        text = path.read_bytes().removesuffix(b"\n") + b"\n"
        for dtype in (np.float32, np.float64):
            found = [parse_libsvm(np.frombuffer(text, np.uint8), 1, dtype, 1), libsvm.parse(text, 1, dtype)]
            assert found[0].fault == found[1].fault, path
            if found[0].fault is None:
                assert all(np.array_equal(a, b, equal_nan=a is found[0].labels) for a, b in zip(*found, strict=True)), (
                    path
                )
