"""The tables of characters agree with Python, and the native table with them: `--overwrite-golden` renews it."""

import sys
import unicodedata
from pathlib import Path

from kernelsketch.reference.characters import SPACE, WORD, lower_case, lower_runs, runs_of, spaces, word_characters

HEADER = Path(__file__).parents[2] / "native/src/characters_table.h"


def test_tables_are_those_of_python():
    """Later versions of Unicode have more characters, but do not change those that were there."""
    everything = [chr(code) for code in range(sys.maxunicode + 1)]
    same = unicodedata.unidata_version == "14.0.0"
    words = {ord(c) for c in everything if c.isalnum() or c == "_"}
    assert words == word_characters() if same else words >= word_characters()
    assert {ord(c) for c in everything if c.isspace()} == spaces()
    lower = {ord(c): ord(c.lower()) for c in everything if c.lower() != c and c != "\u0130"} | {0x130: ord("i")}
    assert lower == lower_case() if same else lower.items() >= lower_case().items()


def test_lower_case_takes_at_most_half_as_many_bytes_more():
    """Native code makes room for this."""
    assert all(2 * len(chr(low).encode()) <= 3 * len(chr(code).encode()) for code, low in lower_case().items())


def lines(rows, width=8):
    return "".join("    " + " ".join(rows[i : i + width]) + "\n" for i in range(0, len(rows), width))


def table():
    word, space = ([f"{{{a}, {b}}}," for a, b in runs_of(text)] for text in (WORD, SPACE))
    lower = [f"{{{', '.join(map(str, run))}}}," for run in lower_runs()]
    return (
        "// The tables of reference/characters.py, written by tests/reference/test_characters.py.\n#pragma once\n\n"
        "#include <cstdint>\n\nnamespace kernelsketch {\n\n"
        "struct CharacterRun {\n  uint32_t first, last;\n};\n\n"
        "struct LowerRun {\n  int32_t first, last, step, distance;\n};\n\n"
        "// clang-format off: lines as the test writes them\n"
        f"inline constexpr CharacterRun kWordRuns[] = {{\n{lines(word)}}};\n\n"
        f"inline constexpr CharacterRun kSpaceRuns[] = {{\n{lines(space)}}};\n\n"
        f"inline constexpr LowerRun kLowerRuns[] = {{\n{lines(lower, 6)}}};\n"
        "// clang-format on\n\n"
        "}  // namespace kernelsketch\n"
    )


def test_the_native_table_is_current(request):
    if request.config.getoption("--overwrite-golden"):
        HEADER.write_text(table())
    assert HEADER.read_text() == table()
