"""The table of commands, and the group that imports a command when it is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from ..exceptions import KernelsketchError
from ._config import add_config
from ._errors import errors_as_sentences, options_of, stop_at_once
from ._option_groups import TYPER_SETTINGS, examples, flowing

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LEARN, SEARCH, FILES, PAPER, PLUGINS = "Learn", "Search", "Files", "The paper", "Plug-ins"
PLUGIN_GROUP = "kernelsketch.commands"
_RUNNING = "kernelsketch.running"  # the command that runs, in the contexts of click


class CommandEntry(NamedTuple):
    """A command of the table: what ``kernelsketch --help`` shows of it, and the examples of its own help."""

    name: str
    panel: str
    help: str
    examples: tuple[str, ...] = ()


COMMANDS = (
    CommandEntry(
        "train",
        LEARN,
        "Train a model on a table, or on a file of rows that may be larger than memory.",
        (
            "kernelsketch train flights.csv.gz --label delayed -m flights.safetensors",
            "kernelsketch train prices.parquet --label price --regression --budget 60 -m prices.safetensors",
            "kernelsketch train flights/ --label delayed --sample 500000 --drop id -m flights.safetensors",
            "kernelsketch train 'part-*.csv' --label a --label b --regression -m both.safetensors",
            "kernelsketch train a9a -m a9a.safetensors -k 512 -C 0.1",
            "zcat part-*.svm.gz | kernelsketch train - --memory 1GB -m all.safetensors --json",
            "kernelsketch train new.svm --continue all.safetensors -m more.safetensors",
        ),
    ),
    CommandEntry(
        "predict",
        LEARN,
        "Predict the label of each row of a file.",
        (
            "kernelsketch predict a9a.t -m a9a.safetensors -o labels.txt",
            "kernelsketch predict new.csv -m flights.safetensors --proba | head",
            "kernelsketch predict new.csv -m flights.safetensors --columns flight --proba -o delays.parquet",
            "kernelsketch predict - --format libsvm -m a9a.safetensors < a9a.t",
        ),
    ),
    CommandEntry(
        "evaluate",
        LEARN,
        "Compare the predictions of a model with the labels of a file.",
        (
            "kernelsketch evaluate a9a.t -m a9a.safetensors",
            "kernelsketch evaluate test.csv --label delayed -m flights.safetensors --report flights.html",
            "kernelsketch evaluate test.csv -m flights.safetensors --slice carrier --positive yes",
        ),
    ),
    CommandEntry(
        "export",
        LEARN,
        "Write a model as a C header or an ONNX graph, for programs without Python.",
        (
            "kernelsketch export model.safetensors -o model.h",
            "kernelsketch export model.safetensors -o model.onnx",
        ),
    ),
    CommandEntry(
        "demo", LEARN, "Compare our model for tables with linear and kernel SVMs and boosted trees, in a minute."
    ),
    CommandEntry(
        "dedup",
        SEARCH,
        "Remove near-duplicate documents from files of texts, which may be larger than memory.",
        (
            "kernelsketch dedup articles.jsonl -o clean.jsonl",
            "kernelsketch dedup part-*.jsonl.gz --text body --id doc_id -o clean.jsonl.gz --clusters clusters.tsv",
            "kernelsketch dedup tickets.csv --text body --ngram 3 --keep longest -o clean.csv --report report.html",
        ),
    ),
    CommandEntry(
        "index", SEARCH, "Find near neighbours and near-duplicates: [bold]build[/], [bold]query[/], [bold]dedup[/]."
    ),
    CommandEntry(
        "hash",
        FILES,
        "Hash rows by GCWS, to packed codes or to features for other programs.",
        (
            "kernelsketch hash a9a a9a-codes.safetensors -k 256",
            "kernelsketch hash a9a a9a-features.svm.gz -k 256  [dim]for LIBLINEAR's train[/dim]",
        ),
    ),
    CommandEntry(
        "kernel",
        FILES,
        "Compute an exact kernel matrix.",
        (
            "kernelsketch kernel train.csv -o gmm.npy",
            "kernelsketch kernel test.svm train.svm -o test-kernel.libsvm -p 2  [dim]for svm-predict, -t 4[/dim]",
        ),
    ),
    CommandEntry(
        "convert",
        FILES,
        "Convert a file of rows to another format.",
        (
            "kernelsketch convert big.csv.gz big.parquet --label -1",
            "kernelsketch convert rows.npz - --to libsvm | head -n 3",
        ),
    ),
    CommandEntry(
        "info",
        FILES,
        "Describe a file, or this installation.",
        (
            "kernelsketch info a9a.safetensors",
            "kernelsketch info big.svm.xz --scan --json",
            "kernelsketch info  [dim]versions and instruction set, for a bug report[/dim]",
        ),
    ),
)

INDEX_COMMANDS = ("build", "query", "dedup")

# What the distribution kernelsketch-paper adds. Its entry points name the commands; their help is here, so that
# --help need not import them.
PAPER_COMMANDS = {
    "datasets": "List the datasets of the paper and whether they are on this machine.",
    "reproduce": "Run the experiments of the paper.",
    "report": "Write the report of the experiments: a page, its text and its tables.",
    "theory": "Check the theorems by simulation and draw their figures.",
}


def command_names() -> dict[str, tuple[str, ...]]:
    """Return the names of commands, each with those of the commands within it."""
    names = [*(entry.name for entry in COMMANDS), *PAPER_COMMANDS, *_plugins()]
    return {name: INDEX_COMMANDS if name == "index" else () for name in names}


def _plugins() -> dict[str, EntryPoint]:
    """Return the commands of other packages, of which only the metadata are read."""
    from importlib.metadata import entry_points

    return {found.name: found for found in sorted(entry_points(group=PLUGIN_GROUP))}


class DeferredCommand(TyperCommand):
    """A command with its name and one line of help, which is imported when it is called."""

    def __init__(self, name: str, help: str, panel: str, load: Callable[[], Any], *, hidden: bool = False) -> None:
        super().__init__(name=name, help=help, rich_help_panel=panel, hidden=hidden)
        self._load = load

    def load(self) -> Any:
        """Import the command."""
        with stop_at_once():
            return self._load()

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments as the command itself does; it then runs in the context that it has made."""
        return self.load().make_context(info_name, args, parent=parent, **extra)


class Commands(TyperGroup):
    """The commands of this package and of installed plug-ins. Their errors are sentences."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for entry in COMMANDS:
            self.commands[entry.name] = DeferredCommand(entry.name, entry.help, entry.panel, partial(_own, entry))
        self._has_plugins = False

    def get_params(self, ctx: Any) -> Any:
        return _with_plain_flags(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._find_plugins()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self._find_plugins()
        return list(self.commands)

    def _find_plugins(self) -> None:
        """Add the commands of other packages. Only their metadata are read, and only when they are needed."""
        if self._has_plugins:
            return
        self._has_plugins = True
        for found in _plugins().values():
            is_ours = found.name in PAPER_COMMANDS
            name = "another package" if found.dist is None else found.dist.name
            help = PAPER_COMMANDS[found.name] if is_ours else f"A command of {name}."
            command = DeferredCommand(found.name, help, PAPER if is_ours else PLUGINS, partial(_plugin, found))
            self.commands.setdefault(found.name, command)
        for name, help in PAPER_COMMANDS.items():
            if name not in self.commands:
                self.commands[name] = DeferredCommand(name, help, PAPER, partial(_missing, name), hidden=True)

    def make_context(self, *args: Any, **options: Any) -> Any:
        with stop_at_once():  # typer would end the process without a word
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with errors_as_sentences(lambda: options_of(ctx.meta.get(_RUNNING, self))):
            return super().invoke(ctx)


def _own(entry: CommandEntry) -> Any:
    module = import_module(f".commands.{entry.name}", __package__)
    return _as_click_command(entry.name, module.command, entry.examples)


def _plugin(entry: EntryPoint) -> Any:
    return _as_click_command(entry.name, entry.load(), ())


def _missing(name: str) -> Any:
    raise KernelsketchError(
        f"the command {name} belongs to the package kernelsketch-paper, which is not installed: run  "
        "pip install ./paper  in a checkout of kernelsketch."
    )


def prepared(command: Any) -> Any:
    """Make the help of a command show flags as they are typed, and errors name the options of the command that runs."""
    shown, run = command.get_params, command.invoke

    def invoke(ctx: Any) -> Any:
        ctx.meta[_RUNNING] = command  # the innermost of a group comes last
        return run(ctx)

    command.get_params, command.invoke = lambda ctx: _with_plain_flags(shown(ctx)), invoke
    if not hasattr(command, "commands"):
        add_config(command)
    for inner in getattr(command, "commands", {}).values():
        prepared(inner)
    return command


def _with_plain_flags(params: list[Any]) -> list[Any]:
    """Make the help show a flag as it is typed."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


def _as_click_command(name: str, command: Any, lines: tuple[str, ...]) -> Any:
    """Return what typer runs; ``command`` is a function with typer's annotations, or a Typer with commands."""
    if not isinstance(command, typer.Typer):
        single = typer.Typer(**TYPER_SETTINGS)
        single.command(name, help=flowing(command.__doc__), epilog=examples(*lines) if lines else None)(command)
        command = single
    made = typer.main.get_command(command)
    made.name = name
    return prepared(made)


app = typer.Typer(
    name="kernelsketch",
    cls=Commands,
    no_args_is_help=True,
    epilog="The exit status is 0 after success, 1 after a failure, 2 after wrong usage and 130 after Ctrl-C. "
    "Run kernelsketch COMMAND --help for options and examples.",
    **(TYPER_SETTINGS | {"add_completion": True}),
)


def _print_version(asked: bool) -> None:
    if asked:
        from .. import __version__

        typer.echo(f"kernelsketch {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Kernel-machine accuracy at linear-model cost: learn from files of any size, hash them, search them."""
