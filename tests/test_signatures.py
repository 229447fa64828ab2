"""The public names and their parameters are those of a stored list: `pytest --overwrite-golden` renews it.

So a change that renames, adds or deletes something that users see shows it in its difference. The list has the names of
``kernelsketch`` and of the reference in the documentation with their methods and attributes, and the options of all
commands. What classes inherit from other libraries is theirs.
"""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import kernelsketch
from helpers.reference_names import names_of_the_reference
from kernelsketch import exceptions

STORED = Path(__file__).parent / "golden" / "signatures.txt"
SPARK, SHELL = "kernelsketch.spark.", "$ kernelsketch "


def signature_of(function, *, skip=0):
    """The names, kinds and defaults of the parameters, without types, from the number ``skip`` on."""
    found = list(inspect.signature(function).parameters.values())[skip:]
    shown = str(inspect.Signature([parameter.replace(annotation=inspect.Parameter.empty) for parameter in found]))
    return re.sub("<object object at 0x[0-9a-f]+>", "...", shown)


def lines_of(name, thing):
    """Yield a line for a function; for a class also for each method and attribute that it has from kernelsketch."""
    if not inspect.isclass(thing):
        yield name + signature_of(thing)
        return
    bases = [base for base in thing.__mro__ if base.__module__.startswith("kernelsketch")]
    own = [base for base in bases if "__init__" in vars(base) or "__new__" in vars(base)]
    parameters = inspect.signature(thing).parameters if own else {}
    yield name + (signature_of(thing) if own else "")
    attributes = re.search(r"\n *Attributes\n *-+\n(.*?)(\n\n *\w[\w ]+\n *---|\Z)", thing.__doc__ or "", re.DOTALL)
    if attributes is not None:
        indent = re.match(" *", attributes[1])[0]
        for line in re.findall(
            rf"^{indent}(\w[\w, ]*)(?: :.*)?$", attributes[1].replace(",\n" + indent, ", "), re.MULTILINE
        ):
            yield from (f"{name}.{attribute}" for attribute in line.split(", "))
    members = {member for base in bases for member in vars(base) if not member.startswith("_")}
    for member in members - parameters.keys():
        found = inspect.getattr_static(thing, member)
        found = getattr(found, "fn", found)  # of a method that some instances have, such as predict_proba
        if type(found).__module__.startswith("pyspark"):
            defaults = thing.local_defaults() if hasattr(thing, "local_defaults") else {}
            yield f"{name}.{member}" + (f"={defaults[member]!r}" if member in defaults else "")
        elif isinstance(found, (classmethod, staticmethod)):
            yield f"{name}.{member}{signature_of(getattr(thing, member))}"
        elif inspect.isfunction(found):
            yield f"{name}.{member}{signature_of(found, skip=1)}"
        elif not type(found).__module__.startswith("sklearn"):
            yield f"{name}.{member}"


VALUES = {"kernelsketch.tabular.ColumnPlan"}  # of columns_


def python_lines(*, spark):
    shown = {f"{module}.{name}" for name, module in names_of_the_reference()}
    shown |= {f"kernelsketch.{name}" for name in kernelsketch.__all__} | VALUES
    of_errors = (kind for kind in vars(exceptions).values() if inspect.isclass(kind))
    shown |= {f"{kind.__module__}.{kind.__name__}" for kind in of_errors if kind.__module__ == exceptions.__name__}
    for path in shown:
        if path.startswith("kernelsketch.") and path.startswith(SPARK) == spark:
            home, _, name = path.rpartition(".")
            yield from lines_of(path, getattr(importlib.import_module(home), name))


def command_lines():
    """Yield a line for each argument and option of each command: its names and its default."""
    from kernelsketch.cli._main import COMMANDS, Commands

    commands = Commands().commands
    for entry in COMMANDS:
        loaded = commands[entry.name].load()
        inner = getattr(loaded, "commands", None)
        for name, command in [(entry.name, loaded)] if inner is None else inner.items():
            words = f"{SHELL}{name}" if inner is None else f"{SHELL}{entry.name} {name}"
            for param in command.params:
                shown = [*param.opts, *param.secondary_opts] if param.param_type_name == "option" else [param.metavar]
                default = getattr(param.default, "value", param.default)
                yield f"{words} {' '.join(map(str, shown))}" + ("" if default is None else f" = {default!r}")


def found_lines(part):
    if part == "commands":
        return command_lines()
    return python_lines(spark=part == "spark")


def part_of(line):
    return "commands" if line.startswith(SHELL) else "spark" if line.startswith(SPARK) else "python"


NEEDED = {"python": "numpy", "spark": "pyspark", "commands": "typer"}


def test_overwrite(request):
    if not request.config.getoption("--overwrite-golden"):
        pytest.skip("the list is renewed with --overwrite-golden only")
    lines = sorted({line for part in NEEDED for line in found_lines(part)})
    STORED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize("part", NEEDED)
def test_signatures(part):
    pytest.importorskip(NEEDED[part])
    found = set(found_lines(part))
    stored = {line for line in STORED.read_text(encoding="utf-8").splitlines() if part_of(line) == part}
    assert sorted(found - stored) == [], "not in the list: renew it with pytest --overwrite-golden"
    assert sorted(stored - found) == [], "only in the list: renew it with pytest --overwrite-golden"


# Parameters that mean the same everywhere have one default: of classes, of functions and of options.
DEFAULTS = {"random_state": "0", "recall": "0.95", "--recall": "0.95", "--seed": "0", "n_jobs": "None"}


@pytest.mark.parametrize("name", DEFAULTS)
def test_one_default(name):
    """A command without a default for an option leaves the work out, such as tuning."""
    lines = STORED.read_text(encoding="utf-8").splitlines()
    if name.startswith("-"):
        found = [(line, line.rpartition(" = ")[2]) for line in lines if f" {name} " in line and " = " in line]
    else:
        given = [(line, re.search(rf"[(.* ]{name}=([^,)]+)", line)) for line in lines if not line.startswith("$")]
        found = [(line.partition("(")[0], match[1]) for line, match in given if match]
    assert found
    assert [line for line, default in found if default != DEFAULTS[name]] == []


def test_a_similarity_threshold_has_one_name():
    """``similarity`` is the value of two rows; the similarity from which rows count is ``threshold`` everywhere."""
    lines = [line for line in STORED.read_text(encoding="utf-8").splitlines() if ".theory." not in line]
    assert [line for line in lines if re.search(r"radius|target.recall|[( -]similarity\b|min.similarity", line)] == []
    of_classes = ("GCWSTabularClassifier", "kernelsketch train")  # there it is a probability
    assert len([line for line in lines if "threshold" in line and not any(name in line for name in of_classes)]) == 14
