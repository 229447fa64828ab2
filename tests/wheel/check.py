"""Build the sdist, the wheel from it, install the wheel in a clean environment, and use it there as a stranger would.

``make test-wheel`` runs it. An editable install reads the source tree, so only this check sees a file that is missing
from the sdist or from the wheel, or a dependency that pyproject.toml does not declare. After the sdist is built nothing
is read from the checkout: the tests are those of the sdist. The folder's name has a space in it, and there is no
terminal.

``--python python3.13`` does all of it with another Python, ``--lowest`` with the lowest versions that pyproject.toml
allows. ``--tests commit`` runs the tests of ``make test`` rather than those of the public surface, and ``--tests all``
also the slow ones.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = "cli,data,spark,zstd"
NOT_SHIPPED = {".ci", ".github", "benchmarks/results", "paper"}
SURFACE = ["test_public_names.py", "test_sklearn_use.py", "cli/test_cli.py", "cli/test_train.py", "cli/test_predict.py"]
TEST_TOOLS = ["hypothesis>=6.100", "nanobind>=2.2", "pandas>=2.2", "pytest>=8", "pytest-xdist>=3.5", "safetensors>=0.4"]
COMMANDS = """
--version
--help
demo --write .
train digits.svm -m model.safetensors -k 64
predict digits.t.svm -m model.safetensors -o labels.txt
evaluate digits.t.svm -m model.safetensors
hash digits.svm codes.safetensors -k 64
kernel digits.t.svm -o gmm.npy
convert digits.svm digits.parquet
convert digits.svm digits.svm.zst
info digits.parquet --scan
info model.safetensors
index build digits.svm -i digits.index
index query digits.t.svm -i digits.index -o neighbours.txt
index dedup digits.svm -o pairs.txt
train digits.parquet --label label -m other.safetensors -k 64
predict digits.t.svm -m model.safetensors --scores -o scores.tsv
train scores.tsv --label prediction --effort quick -m table.safetensors
evaluate scores.tsv --label prediction -m table.safetensors --report report.html
"""
PAPER_COMMANDS = """
datasets
theory --help
reproduce --help
report --help
"""


def run(*command, cwd, env):
    """Run a command without a terminal; its output is shown when it fails."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(map(str, command))
        sys.exit(f"{done.stdout}\ntest-wheel: exit status {done.returncode} of  {shown}")
    return done.stdout


def clean_environment():
    """This one without what would point Python into the checkout or change what the commands print."""
    dropped = ("PYTHON", "VIRTUAL_ENV", "KERNELSKETCH", "PIP_REQUIRE", "COLUMNS")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


def tracked_files():
    """What git knows of the checkout, or, without git, what lies in the folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    found = (path for part in ("src", "native", "tests") for path in (ROOT / part).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in found if path.suffix not in (".pyc", ".so")}


def check_sdist(path):
    """Every tracked file is in it, save those that it leaves out on purpose."""
    with tarfile.open(path) as archive:
        found = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = {
        name
        for name in tracked_files()
        if not any(name == left or name.startswith(f"{left}/") for left in NOT_SHIPPED)
        and not Path(name).name.startswith(".git")
    }
    missing = sorted(wanted - found)
    if missing:
        sys.exit(f"test-wheel: {path.name} lacks {len(missing)} files: {', '.join(missing[:20])}")
    print(f"{path.name}: {len(found)} files, none missing")


def check_wheel(path, package, *, native):
    """It holds the package whole, and nothing beside the package."""
    with zipfile.ZipFile(path) as archive:
        found = set(archive.namelist())
    wanted = {
        str(file.relative_to(package.parent))
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".so"
    }
    if native:
        headers = (ROOT / "native" / "core").glob("*.h")
        wanted |= {f"{package.name}/{file.relative_to(ROOT)}" for file in headers}
    missing = sorted(wanted - found)
    if missing:
        sys.exit(f"test-wheel: {path.name} lacks {len(missing)} files: {', '.join(missing[:20])}")
    tops = {name.split("/")[0] for name in found if ".dist-info/" not in name}
    if tops != {package.name}:
        sys.exit(f"test-wheel: {path.name} also installs {sorted(tops - {package.name})}")
    compiled = [name for name in found if name.endswith((".so", ".pyd"))]
    if len(compiled) != native:
        sys.exit(f"test-wheel: {path.name} has {compiled} as compiled modules, {native} expected")
    print(f"{path.name}: {len(found)} files, none missing")


def lowest_versions():
    """``name==X`` for each ``name>=X`` that pyproject.toml has among the dependencies and extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(r for e in EXTRAS.split(",") for r in project["optional-dependencies"][e])]
    return sorted({requirement.replace(">=", "==") for requirement in wanted})


def check_commands(python, folder, env):
    """The library's commands and the paper's, run by the script that pip made."""
    work = folder / "some work"
    work.mkdir()
    code = "import kernelsketch, kernelsketch_paper as paper; print(kernelsketch.__file__, paper.__file__)"
    where = run(python, "-c", code, cwd=work, env=env)
    if where.count(str(folder)) != 2:
        sys.exit(f"test-wheel: something else than the wheels is imported: {where}")
    lines = [line for line in (COMMANDS + PAPER_COMMANDS).splitlines() if line]
    for line in lines:
        run(python.parent / "kernelsketch", *line.split(), cwd=work, env=env)
    made = {path.name for path in work.iterdir()}
    wanted = {
        "model.safetensors",
        "labels.txt",
        "codes.safetensors",
        "gmm.npy",
        "digits.index",
        "pairs.txt",
        "report.html",
    }
    if not wanted <= made:
        sys.exit(f"test-wheel: the commands did not write {sorted(wanted - made)}")
    run(python, "-m", "kernelsketch", "--version", cwd=work, env=env)
    run(python, "-c", "import kernelsketch.spark", cwd=work, env=env)
    print(f"{len(lines)} commands ran")


def check_tests(python, tree, env, *, tests):
    """Tests of the sdist on the installed package."""
    everything = ["-n", "auto", "--dist", "loadgroup", "tests"]
    surface = [f"tests/{name}" for name in SURFACE]
    chosen = {"surface": surface, "commit": [*everything, "-m", "not slow"], "all": everything}[tests]
    told = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, cwd=tree, env=env)
    print(told.splitlines()[-1] if tests == "surface" else told)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter to build for")
    parser.add_argument("--lowest", action="store_true", help="install the lowest versions allowed")
    parser.add_argument("--tests", choices=["surface", "commit", "all"], default="surface", help="tests to run")
    asked = parser.parse_args()
    env = clean_environment()
    with tempfile.TemporaryDirectory(prefix="kernelsketch wheel ") as name:
        folder = Path(name)
        dist = folder / "dist"
        run(sys.executable, "-m", "build", "--sdist", "--outdir", dist, ROOT, cwd=folder, env=env)
        run(sys.executable, "-m", "build", "--sdist", "--outdir", dist, ROOT / "paper", cwd=folder, env=env)
        (sdist,) = dist.glob("kernelsketch-*.tar.gz")
        (paper_sdist,) = dist.glob("kernelsketch_paper-*.tar.gz")
        check_sdist(sdist)
        run(asked.python, "-m", "venv", folder / "env", cwd=folder, env=env)
        python = folder / "env" / "bin" / "python"
        # Each wheel is made from its sdist where there is what [build-system] names and nothing else.
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", dist, sdist, paper_sdist, cwd=folder, env=env)
        (wheel,) = dist.glob("kernelsketch-*.whl")
        (paper,) = dist.glob("kernelsketch_paper-*.whl")
        check_wheel(wheel, ROOT / "src" / "kernelsketch", native=1)
        check_wheel(paper, ROOT / "paper" / "src" / "kernelsketch_paper", native=0)
        wanted = [f"kernelsketch[{EXTRAS}] @ {wheel.as_uri()}", paper, *TEST_TOOLS]
        if asked.lowest:
            (folder / "lowest.txt").write_text("\n".join(lowest_versions()))
            wanted += ["-r", folder / "lowest.txt"]
        run(python, "-m", "pip", "install", "--quiet", *wanted, cwd=folder, env=env)
        run(python, "-m", "pip", "check", cwd=folder, env=env)
        print(run(python, "-m", "pip", "list", "--format", "freeze", cwd=folder, env=env).replace("\n", " "))
        check_commands(python, folder, env)
        with tarfile.open(sdist) as archive:
            if hasattr(tarfile, "data_filter"):  # Python 3.11 has it from 3.11.4 on
                archive.extraction_filter = tarfile.data_filter
            archive.extractall(folder / "source")
        (tree,) = (folder / "source").iterdir()
        check_tests(python, tree, env, tests=asked.tests)


if __name__ == "__main__":
    main()
