"""The commands start fast: nothing heavy is imported before one of them runs."""

import subprocess
import sys
from importlib.metadata import entry_points

HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "lightgbm", "joblib", "rich.table")
PROGRAM = """
import sys
from kernelsketch_paper.commands import datasets, report, reproduce, theory
print([name for name in {heavy} if name in sys.modules])
"""


def test_modules_of_commands_import_nothing_heavy():
    program = PROGRAM.format(heavy=HEAVY)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_entry_points_load():
    found = {entry.name: entry.load() for entry in entry_points(group="kernelsketch.commands")}
    assert set(found) == {"datasets", "reproduce", "report", "theory"}
    assert all(callable(command) and command.__doc__ for command in found.values())
