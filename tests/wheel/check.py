"""Build the sdist and the wheel, install the wheel in a clean environment, and use it there as a stranger would.

``make test-wheel`` runs it. An editable install reads the source tree, so only this check sees a file that is missing
from the sdist or from the wheel, or a dependency that pyproject.toml does not declare. Nothing is read from the
checkout after the build but the tests themselves, which are copied. The folder's name has a space in it, and there is
no terminal.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = "cli,data,spark,zstd"
NOT_SHIPPED = {".ci", ".github", "benchmarks/results", "paper"}
SURFACE = ["test_public_names.py", "test_sklearn_use.py", "cli/test_cli.py", "cli/test_train.py", "cli/test_predict.py"]
HELPERS = ["conftest.py", "cli/conftest.py", "helpers"]
TEST_TOOLS = ["hypothesis>=6.100", "pytest>=8"]
INI = """[pytest]
addopts = --import-mode=importlib --strict-markers -p no:cacheprovider
pythonpath = .
markers =
    slow: slow by its nature
    xdist_group(name): tests that one process runs
"""
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


def check_use(python, folder, env):
    """The commands, the paper's commands, and the tests of the public surface."""
    work = folder / "some work"
    work.mkdir()
    where = run(python, "-c", "import kernelsketch, kernelsketch_paper as p; print(kernelsketch.__file__, p.__file__)",
                cwd=work, env=env)  # fmt: skip
    if str(ROOT) in where:
        sys.exit(f"test-wheel: the checkout is imported, not the wheel: {where}")
    program = python.parent / "kernelsketch"
    for line in (COMMANDS + PAPER_COMMANDS).strip().splitlines():
        if not run(program, *line.split(), cwd=work, env=env) and "-o" not in line and "hash" not in line:
            print(f"  (kernelsketch {line} printed nothing)")
    run(python, "-m", "kernelsketch", "--version", cwd=work, env=env)
    run(python, "-c", "import kernelsketch.spark", cwd=work, env=env)
    print("the commands run")
    tests = folder / "tests"
    for name in HELPERS + SURFACE:
        source, target = ROOT / "tests" / name, tests / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    (tests / "pytest.ini").write_text(INI)
    print(run(python, "-m", "pytest", "-q", ".", cwd=tests, env=env).splitlines()[-1])


def main():
    env = clean_environment()
    with tempfile.TemporaryDirectory(prefix="kernelsketch wheel ") as name:
        folder = Path(name)
        dist = folder / "dist"
        # Each wheel is built from its sdist, in environments that hold what [build-system] names and nothing else.
        for source in (ROOT, ROOT / "paper"):
            run(sys.executable, "-m", "build", "--outdir", dist, source, cwd=folder, env=env)
        (sdist,) = dist.glob("kernelsketch-*.tar.gz")
        (wheel,) = dist.glob("kernelsketch-*.whl")
        (paper,) = dist.glob("kernelsketch_paper-*.whl")
        check_sdist(sdist)
        check_wheel(wheel, ROOT / "src" / "kernelsketch", native=1)
        check_wheel(paper, ROOT / "paper" / "src" / "kernelsketch_paper", native=0)
        run(sys.executable, "-m", "venv", folder / "env", cwd=folder, env=env)
        python = folder / "env" / "bin" / "python"
        wheels = [f"kernelsketch[{EXTRAS}] @ {wheel.as_uri()}", paper, *TEST_TOOLS]
        run(python, "-m", "pip", "install", "--quiet", *wheels, cwd=folder, env=env)
        run(python, "-m", "pip", "check", cwd=folder, env=env)
        check_use(python, folder, env)


if __name__ == "__main__":
    main()
