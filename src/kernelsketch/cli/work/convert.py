"""``kernelsketch convert``: read blocks, write blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...formats import write_rows
from ...hashing import PackedCodes
from .._errors import set_by
from .._hashing import features_of
from .._options import InputOptions, RunOptions, open_input
from .._progress import CountedRows, ProgressMeter
from .._results import print_facts, print_json, size_of


def convert(
    input: str, output: str, reading: InputOptions, running: RunOptions, to: str | None, zero_based: bool, json: bool
) -> None:
    with ProgressMeter("converting", running.quiet) as meter, open_input(input, reading, running) as stream:
        counted = CountedRows(stream, meter)
        names = stream.feature_names
        with set_by(format="to"):
            write_rows(output, _features(counted), format=to, zero_based=zero_based, feature_names=names)
    if output == "-":
        return
    if json:
        facts = {"output": output, "rows": counted.rows, "n_features": counted.n_features, "seconds": meter.seconds}
        print_json(facts)
    else:
        print_facts({"converted": counted.summary, "output": f"{output}, {size_of(output)}"})


def _features(blocks: Iterable[Any]) -> Iterator[Any]:
    for block in blocks:
        yield from features_of(block.X, block.y) if isinstance(block.X, PackedCodes) else [block]
