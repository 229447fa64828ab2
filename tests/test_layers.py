"""Dependencies point one way, and the files of the instruction sets stay free of shared code."""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kernelsketch"

# Lower layers first; a module may import from its own layer and from those below.
LAYERS = [
    {"exceptions", "_native"},
    {"reference", "theory"},
    {"_backend", "_hash_info", "_validation", "storage"},
    {"hashing"},
    {"kernels", "codes", "features", "linear", "neighbors"},
    {"formats", "cli"},
    {"spark", "testing", "__init__", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imports(path):
    """Names of the parts of kernelsketch that a file imports."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = list(parts[: len(parts) - node.level])
            if node.module:
                base += node.module.split(".")
            yield from [base[0]] if base else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kernelsketch":
            yield [*node.module.split("."), "__init__"][1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "kernelsketch":
                    yield [*alias.name.split("."), "__init__"][1]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    for name in imports(path):
        if name.startswith("__version__"):
            continue
        assert name in LEVEL, f"{name} is in no layer: give it one"
        assert LEVEL[name] <= LEVEL[own], f"{own} imports {name}, which lies above it"


def test_every_part_has_a_layer():
    parts = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert parts <= set(LEVEL)


def test_only_the_backend_uses_native_code():
    users = [p for p in PACKAGE.rglob("*.py") if "_native" in set(imports(p))]
    assert users == [PACKAGE / "_backend.py"]


def test_instruction_sets_include_nothing_shared():
    """An inline function of the standard library compiled for AVX-512 could be linked into the baseline."""
    own = {
        f"kernelsketch/{name}.h"
        for name in ("codes", "fourier", "gcws", "gmm", "index", "lanes", "linear", "rng", "rng_lanes", "simd")
    }
    allowed = own | {"cstdint", "immintrin.h", "arm_neon.h"}
    files = [*(ROOT / "native/src/isa").glob("*.cpp")]
    files += [ROOT / "native/include" / name for name in own]
    assert files
    for path in files:
        assert set(re.findall(r'#include [<"](.+)[>"]', path.read_text())) <= allowed, path


def test_only_declared_libraries_are_imported():
    """Runtime dependencies (and what comes with scikit-learn) everywhere; the extras only where they belong."""
    known = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "kernelsketch"}
    extras = {
        "cli": {"typer", "rich"},
        "data": {"rich"},
        "experiments": {"matplotlib", "lightgbm"},
        "spark": {"pandas", "pyarrow", "pyspark"},
        "testing": {"hypothesis"},
    }
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                assert top in known | extras.get(own, set()) | set(sys.stdlib_module_names), (path, top)
