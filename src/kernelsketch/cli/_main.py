"""The list of commands."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..backends import backend_for
from ._convert import convert
from ._demo import demo
from ._errors import told
from ._evaluate import evaluate
from ._groups import examples
from ._hash import hash_command
from ._index import index_app
from ._info import info
from ._kernel import kernel
from ._predict import predict
from ._train import train


class Commands(TyperGroup):
    """Commands whose errors are sentences."""

    def invoke(self, ctx: Any) -> Any:
        with told():
            return super().invoke(ctx)


app = typer.Typer(
    name="kernelsketch",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted. "
    "kernelsketch COMMAND --help has options and examples.",
)
LEARN, SEARCH, DATA, PAPER = "Learn", "Search", "Files", "The paper"

app.command(
    rich_help_panel=LEARN,
    epilog=examples(
        "kernelsketch train a9a -m a9a.safetensors",
        "kernelsketch train flights.csv.gz --label delayed -m flights.safetensors -k 512 -C 0.1",
        "kernelsketch train prices.parquet --label price --regression -m prices.safetensors",
        "zcat part-*.svm.gz | kernelsketch train - --memory 1GB -m all.safetensors --json",
    ),
)(train)
app.command(
    rich_help_panel=LEARN,
    epilog=examples(
        "kernelsketch predict a9a.t -m a9a.safetensors -o labels.txt",
        "kernelsketch predict new.csv -m flights.safetensors --proba | head",
        "kernelsketch predict - --format libsvm -m a9a.safetensors < a9a.t",
    ),
)(predict)
app.command(
    rich_help_panel=LEARN,
    epilog=examples(
        "kernelsketch evaluate a9a.t -m a9a.safetensors",
        "kernelsketch evaluate test.csv --label delayed -m flights.safetensors --json",
    ),
)(evaluate)
app.command(
    "hash",
    rich_help_panel=DATA,
    epilog=examples(
        "kernelsketch hash a9a a9a-codes.safetensors -k 256",
        "kernelsketch hash a9a a9a-features.svm.gz -k 256  [dim]for LIBLINEAR's train[/dim]",
        "kernelsketch hash news.parquet - --to vw -k 128 -b 4 | vw --binary -b 18",
    ),
)(hash_command)
app.command(
    rich_help_panel=DATA,
    epilog=examples(
        "kernelsketch kernel train.csv -o gmm.npy",
        "kernelsketch kernel test.svm train.svm -o test-kernel.libsvm -p 2  [dim]for svm-predict, -t 4[/dim]",
    ),
)(kernel)
app.command(
    rich_help_panel=DATA,
    epilog=examples(
        "kernelsketch convert big.csv.gz big.parquet --label -1",
        "kernelsketch convert rows.npz - --to libsvm | head -n 3",
    ),
)(convert)
app.command(
    rich_help_panel=DATA,
    epilog=examples(
        "kernelsketch info a9a.safetensors",
        "kernelsketch info big.svm.xz --scan --json",
    ),
)(info)
app.add_typer(index_app, name="index", rich_help_panel=SEARCH)
app.command(rich_help_panel=PAPER)(demo)
for _command in entry_points(group="kernelsketch.commands"):  # of packages beside the library: kernelsketch-paper
    app.command(_command.name, rich_help_panel=PAPER)(_command.load())


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"kernelsketch {__version__} ({backend_for().name})")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Version and instruction set."),
    ] = False,
) -> None:
    """Kernel-machine accuracy at linear-model cost: learn from files of any size, hash them, compare them."""
