"""``kernelsketch hash``: read blocks, hash them, write codes or features."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..._hash_parameters import checked_hasher
from ..._validation import check_n_jobs
from ...exceptions import InputError
from ...hashing import PackedCodes
from .._hashing import codes_of, features_of
from .._options import open_input
from .._progress import CountedRows, ProgressMeter
from .._results import format_bytes
from ..commands.hash import Hash
from .convert import print_written, write_blocks


def hash_rows(task: Hash) -> None:
    packed = task.to == "codes" or (task.to is None and task.output.lower().endswith(".safetensors"))
    with ProgressMeter("hashing", task.quiet) as meter, open_input(task.inputs, task) as stream:
        counted = CountedRows(stream, meter)

        def hashed() -> Iterator[Any]:
            hasher, threads = checked_hasher(**task.hash_parameters(), seed=task.seed), check_n_jobs(task.threads)
            for block in counted:
                if isinstance(block.X, PackedCodes):
                    raise InputError(
                        f"{task.input} holds codes, not rows. To get features from codes, use kernelsketch convert."
                    )
                for rows, codes in codes_of(hasher, block.X, threads):
                    y = None if block.y is None else block.y[rows]
                    yield from [(codes, y)] if packed else features_of(codes, y, normalize=task.normalize)

        write_blocks(task, hashed())
    if task.output != "-":
        row_bytes = os.stat(task.output).st_size / max(counted.rows, 1)
        print_written(task, "hashed", counted, f", {format_bytes(row_bytes)} per row")
