"""``kernelsketch hash``: read blocks, hash them, write codes or features."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..._hash_parameters import checked_hasher
from ..._validation import check_n_jobs
from ...exceptions import InputError
from ...formats import write_rows
from ...hashing import PackedCodes
from .._errors import set_by
from .._hashing import codes_of, features_of
from .._options import HashOptions, InputOptions, RunOptions, open_input
from .._progress import CountedRows, ProgressMeter
from .._results import format_bytes, print_facts, print_json


def hash_rows(
    input: str,
    output: str,
    hashing: HashOptions,
    reading: InputOptions,
    running: RunOptions,
    to: str | None,
    normalize: bool,
    zero_based: bool,
    json: bool,
) -> None:
    packed = to == "codes" or (to is None and output.lower().endswith(".safetensors"))
    with ProgressMeter("hashing", running.quiet) as meter, open_input(input, reading, running) as stream:
        counted = CountedRows(stream, meter)

        def hashed() -> Iterator[Any]:
            hasher, threads = checked_hasher(**hashing.fields()), check_n_jobs(running.threads)
            for block in counted:
                if isinstance(block.X, PackedCodes):
                    raise InputError(
                        f"{input} holds codes, not rows. To get features from codes, use kernelsketch convert."
                    )
                for rows, codes in codes_of(hasher, block.X, threads):
                    y = None if block.y is None else block.y[rows]
                    yield from [(codes, y)] if packed else features_of(codes, y, normalize=normalize)

        with set_by(format="to"):
            write_rows(output, hashed(), format=to, zero_based=zero_based)
    seconds = meter.seconds
    if output == "-":
        return
    if json:
        print_json({"output": output, "rows": counted.rows, "n_features": counted.n_features, "seconds": seconds})
    else:
        size = os.stat(output).st_size
        per_row = format_bytes(size / max(counted.rows, 1))
        print_facts({"hashed": counted.summary, "output": f"{output}, {format_bytes(size)}, {per_row} per row"})
