"""``make fuzz``: files that nobody meant to write, against the readers of LIBSVM text, CSV, models and codes.

The native parser is built with the address and undefined-behaviour sanitizers. Its texts are changed at random from
those of ``corpus/libsvm`` (what reaches new code is kept in ``build/fuzz``), or made by hypothesis and compared with
the reference. Texts of CSV are made and changed likewise, and compared with a reader that has all of the file in
memory. Models and codes are left to ``fuzz_files.py``, in a Python whose native module has the sanitizers too.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import os
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nanobind
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelsketch._libsvm import ERRORS
from kernelsketch.exceptions import InputError
from kernelsketch.formats import open_rows
from kernelsketch.reference import libsvm

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
CORPUS = HERE / "corpus"
SANITIZE = ["-std=c++20", "-O1", "-g1", "-fno-sanitize-recover=all", "-fsanitize=address,undefined"]
COVERAGE = ["-fsanitize-coverage=trace-pc", "-DKERNELSKETCH_LIBSVM_PART=64", "-DKERNELSKETCH_LIBSVM_RUN=2"]
COMPILER = shutil.which("c++")

# Numbers, ids and tokens as they should be, almost should be, and should not be.
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.9g}"),
    st.from_regex(r"\A[+-]?([0-9]{1,25}(\.[0-9]{0,25})?|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?\Z"),
    st.sampled_from(["nan", "inf", "", "1e", "0x1", "1e999", "-0", "1:1", ".", "1_0"]),
)
IDS = st.one_of(
    st.integers(0, 12).map(str), st.integers(0, 2**63).map(str), st.sampled_from(["qid", "", "a", "007", "-1"])
)
TOKENS = st.one_of(st.tuples(IDS, NUMBERS).map(":".join), st.sampled_from(["qid:1", "x", "#", "\r", "\0", "é"]))
LABELS = st.one_of(st.sampled_from(["1", "-1", "+1", "a", "1:1", "#", "nan", ""]), NUMBERS)
LINES = st.tuples(LABELS, st.lists(TOKENS, max_size=6), st.sampled_from(["\n", "\r\n", " \n", "#:\n"])).map(
    lambda parts: " ".join([parts[0], *parts[1]]) + parts[2]
)
LIBSVM = st.lists(LINES, max_size=8).map(lambda lines: ("".join(lines) + "\n").encode())
CELLS = st.one_of(NUMBERS, st.sampled_from(["", " 1 ", '"2"', '"a,b"', '"a\nb"', '"', "NA", "é", "word", "\t3"]))
CSV = st.tuples(
    st.lists(st.lists(CELLS, min_size=1, max_size=4).map(",".join), max_size=6), st.sampled_from(["\n", "\r\n", "\r"])
).map(lambda parts: parts[1].join(parts[0]).encode())


def build(folder: Path) -> Path | None:
    """The program, or None where the compiler has no sanitizers."""
    if COMPILER is None:
        return None
    common = [COMPILER, *SANITIZE, "-ffp-contract=off", "-I", str(NATIVE), "-I", str(NATIVE / "include")]
    probe = folder / "probe.cpp"
    probe.write_text("#include <sanitizer/common_interface_defs.h>\nint main() {}")
    if subprocess.run(
        [*common, *COVERAGE, "-c", str(probe), "-o", str(folder / "probe")], capture_output=True
    ).returncode:
        return None
    parser, program = folder / "libsvm.o", folder / "fuzz_libsvm"
    subprocess.run([*common, *COVERAGE, "-c", str(NATIVE / "src/libsvm.cpp"), "-o", str(parser)], check=True)
    source = HERE / "fuzz_libsvm.cpp"
    subprocess.run([*common, str(source), str(parser), "-pthread", "-o", str(program)], check=True)
    return program


def build_module(folder: Path) -> tuple[Path, Path]:
    """The native module of the package with sanitizers, and the library that must be loaded before Python."""
    folder.mkdir(parents=True, exist_ok=True)
    robin_map = Path(nanobind.source_dir()).parent / "ext/robin_map/include"
    includes = [NATIVE, NATIVE / "include", nanobind.include_dir(), robin_map, sysconfig.get_paths()["include"]]
    options = [*SANITIZE, "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-fvisibility=hidden", "-DNDEBUG"]
    common = [str(COMPILER), *options, *(f"-I{path}" for path in includes)]
    sources = [path for part in ("src", "src/isa", "bindings") for path in sorted((NATIVE / part).glob("*.cpp"))]
    sources.append(Path(nanobind.source_dir()) / "nb_combined.cpp")

    def compiled(number: int, source: Path) -> Path:
        made = folder / f"{number}.o"
        subprocess.run([*common, "-DKERNELSKETCH_ISA=baseline", "-c", str(source), "-o", str(made)], check=True)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, *zip(*enumerate(sources), strict=True)))
    module = folder / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*common, "-shared", *map(str, objects), "-pthread", "-o", str(module)], check=True)
    asked = [str(COMPILER), "-print-file-name=libasan.so"]
    return module, Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())


def change_files(module: Path, library: Path, out: Path, seconds: float, files: int, seed: int) -> str:
    """``fuzz_files.py`` with that module; its report."""
    out.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{library}:libstdc++.so.6",  # without the latter no exception can be thrown
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    }
    command = [sys.executable, str(HERE / "fuzz_files.py"), str(seconds), str(files), str(seed), str(out), str(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}\nThe file is {out / 'crash'}.")
    return done.stdout.strip()


def mutate_libsvm(program: Path, out: Path, seconds: float, seed: int) -> str:
    """Change texts of the corpus for some time; the last line of the report."""
    corpus = sorted(map(str, (CORPUS / "libsvm").iterdir()))
    command = [str(program), "mutate", str(seconds), str(seed), str(out), *corpus]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stderr}\nThe text is in {out / 'crash'}.")
    return done.stdout.strip()


def check_libsvm(program: Path, count: int) -> None:
    """Texts of hypothesis, in the sanitized parser and in the reference."""
    with subprocess.Popen([str(program), "check"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(LIBSVM, st.integers(0, 7))
        def compare(text: bytes, flags: int) -> None:
            process.stdin.write(len(text).to_bytes(4, "little") + bytes([flags]) + text)
            process.stdin.flush()
            found = process.stdout.readline().decode().rstrip("\n").split(" ")
            assert found == expected(text, flags), (text, flags)

        compare()
        process.stdin.close()


def expected(text: bytes, flags: int) -> list[str]:
    """What the program should print."""
    rows = libsvm.parse(text, flags & 1, np.float32 if flags & 2 else np.float64)
    if rows.fault is not None:
        return [str(ERRORS.index(rows.fault.kind)), str(rows.fault.at), str(rows.fault.length)]
    qid = rows.qid if rows.qid is not None else np.full(len(rows.labels), -1)
    arrays = (rows.labels, rows.label_at, qid, rows.indptr, rows.ids, rows.values)
    return ["0", "0", "0", *(array.tobytes().hex() for array in arrays)]


def check_csv(count: int, seed: int) -> None:
    """Texts of hypothesis, and as many changed from those of the corpus."""
    settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))(
        given(CSV)(compare_csv)
    )()
    rng = random.Random(seed)
    texts = [path.read_bytes() for path in sorted((CORPUS / "csv").iterdir())]
    for _ in range(count):
        text = bytearray(rng.choice(texts))
        for _ in range(rng.randint(1, 5)):
            at = rng.randrange(len(text) + 1)
            change = rng.choice(
                [b",", b'"', b"\n", b"\r", b"1", b"e", b"-", b".", b" ", b"\0", b"\xc3\xa9", b"\xff", b"x"]
            )
            text[at : at + rng.choice([0, 0, 1, 3])] = change * rng.choice([0, 1, 1, 2])
        compare_csv(bytes(text))


def compare_csv(text: bytes) -> None:
    """The stream in blocks of a row or so, and all at once: the same numbers, or both refuse."""
    try:
        blocks = list(
            open_rows(io.BytesIO(text), format="csv", header=False, block_bytes=random.choice([1, 64, 1 << 20]))
        )
        found = np.concatenate([block.X for block in blocks]) if blocks else None
    except InputError:
        found = None
    wanted = table_of(text)
    assert (found is None) == (wanted is None), text
    assert found is None or np.array_equal(found, wanted), text


def table_of(text: bytes) -> np.ndarray | None:
    """A plain reader of the same rules; None if it refuses."""
    number = re.compile(r"[ \t]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
    try:
        lines = io.TextIOWrapper(io.BytesIO(text), "utf-8-sig", newline="")
        rows = [row for row in csv.reader(lines, strict=True) if row]
    except (UnicodeDecodeError, csv.Error):
        return None
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        return None
    cells = [cell for row in rows for cell in row]
    if not all(number.fullmatch(cell) and math.isfinite(float(cell)) for cell in cells):
        return None
    return np.array([float(cell) for cell in cells]).reshape(len(rows), -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=480, help="for changed texts and files")
    parser.add_argument("--files", type=int, default=10_000, help="of each other kind")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "build" / "fuzz")
    given_ = parser.parse_args()
    given_.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        if program is None:
            sys.exit("The compiler has no sanitizers: install GCC 12 or newer, or set PATH.")
        print(f"seed {given_.seed}, new texts in {given_.out}")
        check_libsvm(program, given_.files)
        print(f"LIBSVM: {given_.files} texts of hypothesis, equal to the reference")
        check_csv(given_.files, given_.seed)
        print(f"CSV: {given_.files} texts of hypothesis and {given_.files} changed ones")
        print(f"LIBSVM: {mutate_libsvm(program, given_.out, given_.seconds / 2, given_.seed)}")
    module = build_module(given_.out.parent / "sanitized")
    print(change_files(*module, given_.out / "tensors", given_.seconds / 2, given_.files, given_.seed))


if __name__ == "__main__":
    main()
