"""The sources: NVRTC compiles every kernel, for the oldest GPUs and for new ones, on machines without a GPU."""

import re

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


FEW_BYTES = 16  # of a thread that the compiler may keep in memory instead of registers
SPILLS = {("gcws", "sm_75"): {"gcws_sample_together"}}  # known


@pytest.mark.slow
@pytest.mark.parametrize("concept", CONCEPTS)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90"])
def test_kernels_keep_their_numbers_in_registers(concept, architecture):
    library = nvrtc.find()
    if library is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    kib = {"sm_75": 64, "sm_80": 163, "sm_90": 227}[architecture]
    options = (*options_for(kib), f"--gpu-architecture={architecture}", "--ptxas-options=-v")
    messages, _ = nvrtc.compile_kernels(library, source_of(concept), options)
    spills, kernel = {}, None
    for line in messages.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = found[1]
        elif found := re.search(r"(\d+) bytes spill stores", line):
            spills[kernel] = int(found[1])
    assert spills, messages
    assert {name for name, stored in spills.items() if stored > FEW_BYTES} <= SPILLS.get((concept, architecture), set())


def test_errors_are_found():
    library = nvrtc.find()
    if library is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    messages, code = nvrtc.compile_kernels(library, source_of("codes") + "\nint x = y;", OPTIONS)
    assert code == b""
    assert 'identifier "y" is undefined' in messages
