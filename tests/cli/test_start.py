"""What a command imports before it works: as little as it needs, so that it starts fast."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import kernelsketch
from kernelsketch import GCWSClassifier
from kernelsketch.cli import _main, _options
from kernelsketch.cli.commands.kernel import KERNEL_NAMES
from kernelsketch.formats import READABLE
from kernelsketch.kernels import KERNELS

RUN = """
import json, sys
sys.argv = ["kernelsketch", *json.loads(sys.argv[1])]
from kernelsketch.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def modules_of(*args, code=RUN):
    """Names of the modules that a command has imported at its end."""
    given = [sys.executable, "-c", code, json.dumps(list(map(str, args)))]
    found = subprocess.run(given, capture_output=True, text=True, check=True)
    return set(json.loads(found.stderr.splitlines()[-1]))


def tops(modules):
    return {name.split(".")[0] for name in modules}


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    (folder / "rows.svm").write_text("1 1:1 2:2\n0 2:1 3:1\n")
    X, y = np.array([[1.0, 2, 0], [0, 1, 1]]), np.array([1, 0])
    GCWSClassifier(8).fit(X, y).save(folder / "m.safetensors")
    return folder / "rows.svm", folder / "m.safetensors"


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("train", "--help"), ("index", "query", "--help")])
def test_help_and_version_import_no_numpy(args):
    modules = modules_of(*args)
    assert not tops(modules) & {"numpy", "scipy", "sklearn", "joblib", "kernelsketch_paper"}
    assert len(modules) < 600


def test_predict_imports_what_it_needs(problem):
    rows, model = problem
    scikit_learn = modules_of(
        code="import json, sys, sklearn.svm; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    added = modules_of("predict", rows, "-m", model) - scikit_learn
    assert not tops(added) & {"matplotlib", "pandas", "pyarrow", "pyspark", "rich", "zstandard", "lightgbm"}
    ours = {name for name in added if name.startswith("kernelsketch")}
    for part in ("neighbors", "theory", "spark"):
        assert f"kernelsketch.{part}" not in ours
    commands = {
        name.rsplit(".", 1)[1]
        for name in ours
        if name.startswith(("kernelsketch.cli.commands.", "kernelsketch.cli.work."))
    }
    assert commands == {"predict"}
    assert len(added) < 350


def test_dedup_imports_no_scikit_learn(tmp_path):
    """It takes longer to import than 2,000 documents take to compare."""
    lines = ['{"text": "one two three four five six"}', '{"text": "one two three four five seven"}']
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    modules = modules_of("dedup", tmp_path / "texts.jsonl", "-o", tmp_path / "out.jsonl", "-t", "0.1")
    assert not tops(modules) & {"sklearn", "pandas", "pyarrow", "matplotlib", "lightgbm", "zstandard"}
    assert "scipy.stats" not in modules
    for part in ("tabular", "linear", "features"):
        assert f"kernelsketch.{part}" not in modules


def test_tables_that_help_repeats_are_those_of_the_library():
    assert _options.FORMATS == READABLE
    assert tuple(KERNELS) == KERNEL_NAMES


def test_every_command_has_its_files_and_the_help_of_its_function(command):
    shown = " ".join(command("--help").stdout.split())
    for entry in _main.COMMANDS:
        for part in ("commands", "work"):
            import_module(f"kernelsketch.cli.{part}.{entry.name}")
        assert entry.name in shown
        assert importlib.util.find_spec(f"kernelsketch.cli.work.{entry.name}")
        assert command(entry.name, "--help").stdout


class TestPublicNames:
    def test_import_is_lazy_and_complete(self):
        code = """
import json, sys, kernelsketch
before = set(sys.modules)
assert "numpy" not in before and "sklearn" not in before, "import kernelsketch is not lazy"
from kernelsketch import *
assert set(kernelsketch.__all__) <= set(globals())
assert set(kernelsketch.__all__) <= set(dir(kernelsketch))
assert kernelsketch.theory.gmm_limit and kernelsketch.__version__
print(json.dumps(sorted(before)), file=sys.stderr)
"""
        assert "kernelsketch.cli" not in modules_of(code=code)

    def test_type_checkers_see_the_same_names(self):
        tree = ast.parse(Path(kernelsketch.__file__).read_text())
        block = next(node for node in tree.body if isinstance(node, ast.If))
        seen = {(node.module, a.name) for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names}
        homes = {(home, name) for home, names in kernelsketch._HOMES.items() for name in names}
        assert seen - {("typing", "Any")} == homes

    def test_unknown_names(self):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = kernelsketch.nothing


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_an_interrupt_during_imports_shows_no_traceback(problem):
    """At many moments of the start: one line and status 130, from the first import of the command line on."""
    rows, model = problem
    code = """
import json, os, sys, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests without it
moment, *sys.argv[1:] = json.loads(sys.argv[1])
sys.argv[0] = "kernelsketch"
from kernelsketch.cli import main

class Watch:
    count = 0  # of imports, from the first one of the command line on
    def find_spec(self, name, path=None, target=None):
        if name == "kernelsketch.cli._main" or self.count:
            self.count += 1
            if self.count == moment:
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Watch())
try:
    main()
finally:
    print(sys.meta_path[0].count)
"""

    def run(moment):
        given = [moment, "predict", str(rows), "-m", str(model), "-o", os.devnull]
        return subprocess.run(
            [sys.executable, "-c", code, json.dumps(given)], capture_output=True, text=True, check=False
        )

    undisturbed = run(0)
    assert undisturbed.returncode == 0, undisturbed.stderr
    count = int(undisturbed.stdout)
    assert count > 50
    for moment in (1, 2, count // 10, count // 3, count * 2 // 3, count * 9 // 10):
        found = run(moment)
        assert found.returncode == 130, found.stderr
        assert found.stderr == "kernelsketch: the command was stopped. No file was left half written.\n"


def test_ctrl_c_while_python_still_imports_ends_without_a_traceback():
    code = """
import os, signal, sys
MODULE = sys.argv[1]
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
class Interrupt:
    def find_spec(self, name, *_):
        if name == MODULE:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from kernelsketch.cli import main
sys.argv[:] = ["kernelsketch", "info"]
main()
"""
    for module in ("kernelsketch.cli._errors", "kernelsketch.cli._main", "kernelsketch.cli.work.info"):
        found = subprocess.run([sys.executable, "-c", code, module], capture_output=True, text=True, check=False)
        assert found.returncode in (-2, 130), module
        assert "Traceback" not in found.stderr, module


def test_completion():
    """Commands and their options, which are imported when they are called, are completed."""
    for words, expected in {
        "kernelsketch pre": "predict",
        "kernelsketch predict --sco": "--scores",
        "kernelsketch index bu": "build",
    }.items():
        asked = {"_KERNELSKETCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [str(Path(sys.executable).with_name("kernelsketch"))]
        found = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=False)
        assert found.stdout.split() == [expected]
