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


def convert(task: Convert) -> None:
    with ProgressMeter("converting", task.quiet) as meter, open_input(task.input, task) as stream:
        counted = CountedRows(stream, meter)
        with set_by(format="to"):
            write_rows(
                task.output,
                _features(counted),
                format=task.to,
                zero_based=task.output_zero_based,
                feature_names=stream.feature_names,
            )
    if task.output == "-":
        return
    if task.json:
        print_json(counted.facts(task.output))
    else:
        print_facts({"converted": counted.summary, "output": f"{task.output}, {size_of(task.output)}"})


def _features(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        yield from features_of(block.X, block.y) if isinstance(block.X, PackedCodes) else [block]
