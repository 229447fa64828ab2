"""NVRTC from its wheel on PyPI: compiles kernels for a GPU on machines without one."""

from __future__ import annotations

import ctypes
from pathlib import Path


def find():
    """Return the library, or None if the wheel is not installed."""
    try:
        import nvidia
    except ImportError:
        return None
    for folder in nvidia.__path__:
        for path in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            return ctypes.CDLL(str(path))
    return None


def compile_kernels(library, source, options):
    """Return the messages of the compiler and the code (PTX), which is empty if there are errors."""
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    given = [option.encode() for option in options]
    failed = library.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    messages = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, messages)
    code = ctypes.create_string_buffer(0)
    if not failed:
        library.nvrtcGetPTXSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        library.nvrtcGetPTX(program, code)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return messages.value.decode(), code.raw
