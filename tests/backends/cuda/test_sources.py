"""The sources: NVRTC compiles every kernel, for the oldest GPUs and for new ones, on machines without a GPU."""

import nvrtc
import pytest

from kernelsketch.backends.cuda._source import FOLDER, OPTIONS, options_for, source_of

CONCEPTS = ("codes", "descent", "fourier", "gcws", "gcws_bounds", "gmm", "index", "linear")


def test_every_file_is_a_concept():
    assert sorted(path.stem for path in FOLDER.glob("*.cu")) == sorted(CONCEPTS)


def test_headers_are_written_into_the_source():
    for concept in CONCEPTS:
        source = source_of(concept)
        assert (
            source.count("KS_FUNCTION float ks_fmaf(float a, float b, float c) { return KS_BUILTIN(fmaf)(a, b, c); }")
            == 1
        )
        assert "pragma once" not in source
        assert '#include "' not in source.replace('#include "emulated.h"', "")


@pytest.mark.slow
@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("architecture", ["compute_75", "compute_90"])
def test_kernels_compile(concept, architecture):
    library = nvrtc.find()
    if library is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    messages, code = nvrtc.compile_kernels(
        library,
        source_of(concept),
        (*options_for(64 if architecture == "compute_75" else 227), f"--gpu-architecture={architecture}"),
    )
    assert f"{concept}_".encode() in code, messages


def test_errors_are_found():
    library = nvrtc.find()
    if library is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    messages, code = nvrtc.compile_kernels(library, source_of("codes") + "\nint x = y;", OPTIONS)
    assert code == b""
    assert 'identifier "y" is undefined' in messages
