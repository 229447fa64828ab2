"""What pyproject.toml declares is what the code imports, neither more nor less."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY, PAPER = ROOT / "src" / "kernelsketch", ROOT / "paper" / "src" / "kernelsketch_paper"
EXTRAS = {
    "backends": {"gpu"},
    "cli": {"cli"},
    "formats": {"data", "zstd"},
    "serving": {"onnx"},
    "spark": {"spark"},
    "tabular": {"plot", "shap"},
}  # which a package may use
MODULES = {"cupy-cuda12x": "cupy", "scikit-learn": "sklearn", "kernelsketch-paper": "kernelsketch_paper"}

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")


def declared(requirements):
    """Names of the modules that these requirements install."""
    names = (re.match(r"[\w.-]+", requirement)[0] for requirement in requirements)
    return {MODULES.get(name, name) for name in names}


def imported(paths, known=frozenset()):
    """Top-level modules that the files import; of those named in a string, for ``import_module``, only known ones."""
    found = set()
    for path in paths:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        for node in nodes:
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.split(".")[0])
        if any(isinstance(node, ast.Attribute) and node.attr == "import_module" for node in nodes):
            strings = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
            found |= {text.split(".")[0] for text in strings} & known
    return found - set(sys.stdlib_module_names)


def project(path):
    return tomllib.loads(path.read_text())["project"]


def test_the_library_declares_what_it_imports():
    own = project(ROOT / "pyproject.toml")
    core = declared(own["dependencies"])
    files = {name: set((LIBRARY / name).rglob("*.py")) for name in EXTRAS}
    assert all(files.values())
    others = set(LIBRARY.rglob("*.py")).difference(*files.values())
    assert imported(others) - {"kernelsketch"} <= core <= imported(LIBRARY.rglob("*.py"))
    for name, extras in EXTRAS.items():
        known = set().union(*(declared(own["optional-dependencies"][extra]) for extra in extras))
        assert imported(files[name], known) - core - {"kernelsketch"} == known - core, name


@pytest.mark.skipif(not PAPER.exists(), reason="the paper is not in the library's sdist")
def test_the_paper_declares_what_it_imports():
    known = declared(project(ROOT / "paper" / "pyproject.toml")["dependencies"])
    assert imported(PAPER.rglob("*.py"), known) - {"kernelsketch_paper"} == known
