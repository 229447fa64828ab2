"""The commands of the tutorial and of a how-to print what the pages show."""

import doctest
import os
import re
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
# And the least number of commands of each.
PAGES = {"tutorial/shell.rst": 30, "how-to/dedup.rst": 6, "how-to/text-search.rst": 5}
SKIPPED = ("pip install",) if find_spec("kernelsketch_paper") else ("pip install", "kernelsketch re", "grep -o")
PROGRESS = re.compile(r"(\w+ing\b[\w ]*|cross-validation): ")
CHECK = doctest.OutputChecker()


def blocks(page):
    """The page's scripts, and its commands with what they print."""
    text = (DOCS / page).read_text()
    for found in re.finditer(r"\.\. code-block:: (\w+)\n(?:   :caption: (.+)\n)?\n((?:(?:   .*)?\n)+)", text):
        kind, name, body = found[1], found[2], textwrap.dedent(found[3])
        if kind == "python":
            yield name, body
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield None, (command, shown.rstrip("\n"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the tutorial's shell is a POSIX one")
@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page(tmp_path, page):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "COLUMNS": "100", "PATH": path}
    count = 0
    for name, content in blocks(page):
        if name is not None:
            (tmp_path / name).write_text(content)
            continue
        command, shown = content
        if command.startswith(SKIPPED):
            continue
        found = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        shown_lines = (found.stdout + found.stderr).splitlines()  # progress is shown on slow machines only
        printed = "\n".join(line.rstrip() for line in shown_lines if not PROGRESS.match(line))
        flags = doctest.ELLIPSIS
        same = printed == shown or CHECK.check_output(shown + "\n", printed + "\n", flags)
        assert same, f"$ {command}\n{printed}\n--- the page has:\n{shown}"
        count += 1
    assert count >= PAGES[page]
