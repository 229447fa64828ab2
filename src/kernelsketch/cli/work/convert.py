"""``kernelsketch convert``: read blocks, write blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...formats import write_rows
from ...hashing import PackedCodes
from .._errors import set_by
from .._hashing import features_of
from .._options import open_input
from .._progress import CountedRows, ProgressMeter
from .._results import print_facts, print_json, size_of
from ..commands.convert import Convert
from ..commands.hash import Hash


def convert(task: Convert) -> None:
    with ProgressMeter("converting", task.quiet) as meter, open_input(task.input, task) as stream:
        counted = CountedRows(stream, meter)
        write_blocks(task, _features(counted), names=stream.feature_names)
    if task.output != "-":
        print_written(task, "converted", counted)


def write_blocks(task: Convert | Hash, blocks: Iterable[Any], names: Iterable[str] | None = None) -> None:
    """Write blocks to the output of a command, in the format that it names with --to."""
    with set_by(format="to"):
        write_rows(task.output, blocks, format=task.to, zero_based=task.output_zero_based, feature_names=names)


def print_written(task: Convert | Hash, what: str, counted: CountedRows, more: str = "") -> None:
    """Print what became of the rows of a file."""
    if task.json:
        print_json(counted.facts(task.output))
    else:
        print_facts({what: counted.summary, "output": f"{task.output}, {size_of(task.output)}{more}"})


def _features(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        yield from features_of(block.X, block.y) if isinstance(block.X, PackedCodes) else [block]
