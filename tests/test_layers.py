"""Dependencies point one way, packages keep to each other's public names, instruction sets stay free of shared code."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "src" / "kernelsketch"
PAPER = ROOT / "paper" / "src" / "kernelsketch_paper"

# Lower layers first; a module may import from its own layer and from those below.
LAYERS = [
    {
        "_array",
        "exceptions",
        "_core",
        "_frames",
        "_native",
        "_interruptible",
        "_libsvm",
        "_loss_formulas",
        "_losses",
        "_mix",
        "_rounding",
    }
    | {"_threads", "_warnings", "_weighted"},
    {"reference", "theory", "_validation"},
    {"backends", "storage"},
    {"_rows", "_estimator"},
    {"hashing", "kernels", "_hash_parameters"},
    {"serving"},
    {"features", "linear", "neighbors", "text"},
    {"tabular"},
    {"formats"},
    {"cli", "spark"},
    {"__init__", "__main__"},
]
OF_SCIKIT_LEARN = {"_parameter_constraints", "_validate_params"}  # private names that estimators override
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# The only files that call native code.
NATIVE_USERS = {"backends/cpu.py", "backends/_choice.py", "formats/_native_text.py"}


def sources(root):
    assert root != LIBRARY or (LIBRARY / "__init__.py").exists()  # only the paper may be missing, in an sdist
    return [(path, ast.parse(path.read_text())) for path in sorted(root.rglob("*.py"))]


def part_of(path, root=LIBRARY):
    """The package, or the module at the top, that a file belongs to."""
    return path.relative_to(root).with_suffix("").parts[0]


def type_checking_only(tree):
    """Imports that only a type checker sees."""
    hidden = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            hidden.update(id(inner) for inner in ast.walk(node))
    return hidden


def imports(path, tree, root, package):
    """(dotted name inside ``package``, seen at run time) of everything that a file imports from ``package``."""
    hidden = type_checking_only(tree)
    here = (package, *path.relative_to(root).with_suffix("").parts) if root.name == package else None
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level and here is None:
                continue
            base = list(here[: len(here) - node.level]) if node.level else []
            base += node.module.split(".") if node.module else []
            if base[:1] != [package]:
                continue
            for alias in node.names:
                yield ".".join([*base[1:], alias.name]), id(node) not in hidden
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == package:
                    yield ".".join(alias.name.split(".")[1:]), id(node) not in hidden


def test_imports_point_down():
    for path, tree in sources(LIBRARY):
        own = part_of(path)
        for name, at_run_time in imports(path, tree, LIBRARY, "kernelsketch"):
            part = name.split(".")[0]
            if not at_run_time or part == "__version__" or own in ("__init__", "__main__"):
                continue
            part = part if part in LEVEL else "__init__"  # a public name of the library itself
            assert LEVEL[part] <= LEVEL[own], f"{path.relative_to(ROOT)} imports {name}, which lies above it"


def test_every_part_has_a_layer():
    parts = {p.stem for p in LIBRARY.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert parts <= set(LEVEL)


def test_the_specification_is_imported_by_its_back_end_alone():
    users = set()
    for path, tree in sources(LIBRARY):
        if part_of(path) != "reference":
            users |= {path for name, _ in imports(path, tree, LIBRARY, "kernelsketch") if name.startswith("reference")}
    assert {str(path.relative_to(LIBRARY)) for path in users} == {"backends/reference.py"}


def test_who_uses_native_code():
    users = set()
    for path, tree in sources(LIBRARY):
        if any(name.split(".")[0] == "_native" for name, seen in imports(path, tree, LIBRARY, "kernelsketch") if seen):
            users.add(str(path.relative_to(LIBRARY)))
    assert users <= NATIVE_USERS


def test_callers_ask_for_the_small_protocol_that_they_need():
    for path, tree in sources(LIBRARY):
        if part_of(path) != "backends":
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert not names & {"Backend", "Processor"}, f"{path.relative_to(ROOT)}: take Hashes, Kernels, Linear, ..."


def test_no_package_imports_private_modules_of_another():
    for path, tree in sources(LIBRARY):
        own = part_of(path)
        for name, _ in imports(path, tree, LIBRARY, "kernelsketch"):
            part, *inner = name.split(".")
            if part != own and any(re.match("_[a-z]", word) for word in inner):
                raise AssertionError(f"{path.relative_to(ROOT)} imports {name}: take it from the package {part} itself")


def test_the_paper_uses_public_names_alone():
    for path, tree in sources(PAPER):
        for name, _ in imports(path, tree, PAPER, "kernelsketch"):
            private = [word for word in name.split(".") if re.match("_[a-z]", word)]
            assert not private, f"{path.relative_to(ROOT)} imports {name}, which is private"


def is_own(node):
    """Whether an attribute is one of the object itself, or of its class."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def private_names(tree):
    """Private methods and attributes that a file defines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_no_package_touches_private_attributes_of_another():
    """``x._y`` is allowed where the package itself defines ``_y``; names of other libraries are not looked at."""
    defined = defaultdict(set)
    files = [*sources(LIBRARY), *sources(PAPER)]
    owner = {path: part_of(path) if LIBRARY in path.parents else "paper" for path, _ in files}
    for path, tree in files:
        for name in private_names(tree):
            if re.match("_[a-z]", name) and name not in OF_SCIKIT_LEARN:
                defined[name].add(owner[path])
    for path, tree in files:
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or not re.match("_[a-z]", node.attr):
                continue
            if is_own(node):
                continue
            owners = defined.get(node.attr, set())
            where = f"{path.relative_to(ROOT)}:{node.lineno}"
            assert not owners or owner[path] in owners, f"{where} uses {node.attr}, which is private to {owners}"


def test_nobody_writes_private_attributes_of_another_object():
    """A class may fill an object that it makes."""
    restore = {"tabular/_file.py", "storage/_container.py"}  # from a file; the second one writes an attribute of NumPy
    for path, tree in [*sources(LIBRARY), *sources(PAPER)]:
        own = set(private_names(tree))
        for node in ast.walk(tree):
            stores = isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))
            if not stores or not re.match("_[a-z]", node.attr) or is_own(node) or node.attr in own:
                continue
            known = LIBRARY in path.parents and str(path.relative_to(LIBRARY)) in restore
            assert known, f"{path.relative_to(ROOT)}:{node.lineno} writes {ast.unparse(node)}"


def test_instruction_sets_include_nothing_shared():
    """An inline function of the standard library compiled for AVX-512 could be linked into the baseline."""
    own = {
        f"kernelsketch/{name}.h"
        for name in (
            *("cholesky", "codes", "compiler", "fourier", "gcws", "gcws_lanes", "gmm", "index", "interrupt", "linear"),
            *("by_type", "graph", "measure", "rng_lanes", "rows", "simd", "trees"),
            *(f"simd/{path.stem}" for path in (ROOT / "native/include/kernelsketch/simd").glob("*.h")),
        )
    }
    core = {f"core/{path.name}" for path in (ROOT / "native/core").glob("*.h")}
    allowed = own | core | {"cstdint", "immintrin.h", "arm_neon.h"}
    files = [*(ROOT / "native/src/isa").glob("*.cpp"), *(ROOT / "native" / name for name in core)]
    files += [ROOT / "native/include" / name for name in own]
    assert files
    for path in files:
        of_c = {"arithmetic.h": {"math.h", "string.h"}, "compiler.h": {"intrin.h"}}  # MSVC has no built-in ones
        assert set(re.findall(r'#include [<"](.+)[>"]', path.read_text())) <= allowed | of_c.get(path.name, set()), path


def test_what_only_some_compilers_have_is_in_two_headers():
    """MSVC has no built-in functions and attributes of GCC, and they have none of its own."""
    headers = {ROOT / "native/core/arithmetic.h", ROOT / "native/include/kernelsketch/compiler.h"}
    words = re.compile(r"__builtin|__attribute__|__restrict|__int128|__forceinline\b|__unaligned|__cpuid|typeof")
    files = {path for suffix in ("h", "cpp") for path in (ROOT / "native").rglob(f"*.{suffix}")}
    assert headers < files
    for path in sorted(files - headers):
        found = words.search(path.read_text())
        assert not found, f"{path.relative_to(ROOT)} has {found and found.group()}"
    for path in headers:
        assert words.search(path.read_text()), path
