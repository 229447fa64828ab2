"""The examples in the README and in the documentation run as written."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.rst"))]
BUILT = {"_build", "auto_examples", "generated"}


@pytest.mark.parametrize("path", [p for p in PAGES if not BUILT & set(p.parts)], ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(path):
    found = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_the_readme_has_an_example():
    assert ">>> " in (ROOT / "README.md").read_text()
