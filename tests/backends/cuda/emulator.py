"""A GPU for machines without one: NumPy in place of CuPy, and kernels compiled by the C++ compiler.

Emulated threads run the very kernels and the very Python code of the back end, so that everything but speed, the
compiler of the GPU and races between threads is tested. See ``emulated.h``.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import numpy as np

from kernelsketch._core import INCLUDE
from kernelsketch.backends.cuda._device import Gpu
from kernelsketch.backends.cuda._source import FOLDER

HERE = Path(__file__).parent
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


class EmulatedGpu:
    """Stands for :class:`kernelsketch.backends.cuda._device.Gpu`, with NumPy arrays."""

    in_blocks, all_at_once, check_shared = Gpu.in_blocks, Gpu.all_at_once, Gpu.check_shared
    over = Gpu.over
    shared_kib = Gpu.shared_kib
    processors = 4

    def __init__(self, folder, shared_kib=227):
        self.xp, self._folder, self._libraries, self.launched = np, folder, {}, []
        self.shared_bytes = 1024 * shared_kib

    def launch(self, concept, name, grid, block, *args, shared=0):
        self.launched.append(name)
        self.check_shared(name, shared)
        if concept not in self._libraries:
            self._libraries[concept] = ctypes.CDLL(str(_compiled(concept, self._folder, self.shared_kib)))
        library = self._libraries[concept]
        integers, doubles = [], []
        for arg in args:
            if isinstance(arg, float):
                doubles.append(arg)
            elif arg is None:
                integers.append(0)
            elif isinstance(arg, np.ndarray):
                integers.append(arg.ctypes.data)
            else:
                integers.append(int(np.int64(np.uint64(int(arg) % 2**64))))
        sizes = [(ctypes.c_uint * 3)(*(*size, 1, 1)[:3]) for size in (grid, block)]
        library.emulate(
            ctypes.cast(getattr(library, name), ctypes.c_void_p),
            *sizes,
            (ctypes.c_longlong * max(1, len(integers)))(*integers),
            len(integers),
            (ctypes.c_double * max(1, len(doubles)))(*doubles),
            len(doubles),
        )

    def upload(self, array, threads=1):
        return np.array(array, order="C")

    def constant(self, array):
        return array.copy()

    def download(self, arrays, out, threads=1):
        for array, target in zip(arrays, out, strict=True):
            target[...] = array
        return lambda: None

    def stream(self, number):
        return nullcontext()

    def free_bytes(self):
        return 1 << 30

    def inverse(self, matrix):
        return np.linalg.inv(matrix)

    def is_out_of_memory(self, error):
        return isinstance(error, MemoryError)

    def drop_cached_memory(self):
        pass


@cache
def _compiled(concept, folder, shared_kib):
    out = Path(folder) / f"{concept}_{shared_kib}.so"
    subprocess.run(
        [
            *(COMPILER, "-std=c++20", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wno-unknown-pragmas"),
            "-U_FORTIFY_SOURCE",  # which Ubuntu defines: its longjmp takes a jump to another stack for an error
            *("-Wno-unused-function", f"-DKS_SHARED_KIB={shared_kib}", "-x", "c++"),
            *(f"-I{folder}" for folder in (FOLDER, INCLUDE, HERE)),
            *(str(FOLDER / f"{concept}.cu"), "-o", str(out)),
        ],
        check=True,
    )
    return out
