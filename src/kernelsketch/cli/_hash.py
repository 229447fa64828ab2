"""``kernelsketch hash``: rows to codes, or to features for other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum
from typing import Annotated

import typer

from .._validation import check_n_jobs
from ..exceptions import InputError
from ..formats import RowBlock, write_rows
from ..hashing import PackedCodes, checked_hasher
from ._codes import codes_of, features_of
from ._groups import grouped
from ._options import Hashing, Input, Json, Reading, Running, open_input
from ._output import bytes_text, tell, tell_json
from ._progress import Counted, Meter, duration

HashFormat = Enum("HashFormat", {n: n for n in ("codes", "libsvm", "vw", "parquet", "npz")}, type=str)  # type: ignore[misc]


@grouped
def hash_command(
    input: Input,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUTPUT",
            help="Ends in .safetensors (packed codes), .libsvm, .vw, .parquet or .npz; text may end in .gz, .bz2, .xz "
            "or .zst. - is standard output, with --to libsvm or vw.",
            show_default=False,
        ),
    ],
    hashing: Hashing,
    reading: Reading,
    running: Running,
    to: Annotated[
        HashFormat | None, typer.Option("--to", help="By default by the ending of OUTPUT.", show_default=False)
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize/--ones", help="Features of rows of unit norm, or ones.")
    ] = True,
    one_based: Annotated[
        bool, typer.Option("--one-based/--from-zero", help="Ids in text count from 1 (LIBLINEAR wants it) or 0.")
    ] = True,
    json: Json = False,
) -> None:
    """Hash rows by GCWS: k small integers a row, which agree as often as the rows are similar.

    Packed codes take k * bits / 8 bytes a row, keep the labels, and are read by [bold]train[/bold],
    [bold]predict[/bold], [bold]evaluate[/bold] and PackedCodes.load. The other formats hold k ones a row among
    k * 2^bits features, for LIBLINEAR, Vowpal Wabbit and other linear models.

    The codes of a row depend on the row, the seed and the parameters only: hash training and test files, or parts of
    one file on many machines, by the same command.
    """
    wanted = None if to is None else to.value
    packed = wanted == "codes" or (wanted is None and output.lower().endswith(".safetensors"))
    with Meter("hashing", running.quiet) as meter, open_input(input, reading, running) as stream:
        counted = Counted(stream, meter)

        def hashed() -> Iterator[RowBlock]:
            hasher, threads = checked_hasher(**hashing.fields()), check_n_jobs(running.threads)
            for rows in counted:
                if isinstance(rows.X, PackedCodes):
                    raise InputError(
                        f"{input} holds codes, not rows: use kernelsketch convert to get features from them."
                    )
                for part, codes in codes_of(hasher, rows.X, threads):
                    y = None if rows.y is None else rows.y[part]
                    yield from [RowBlock(codes, y)] if packed else features_of(codes, y, normalize=normalize)

        write_rows(output, hashed(), format=wanted, zero_based=not one_based)
    seconds = meter.seconds
    if output == "-":
        return
    if json:
        tell_json({"output": output, "rows": counted.rows, "n_features": counted.n_features, "seconds": seconds})
    else:
        size = os.stat(output).st_size
        rate = f"{counted.rows:,} rows in {duration(seconds)}, {counted.rate:,.0f} a second"
        tell(
            {"hashed": rate, "output": f"{output}, {bytes_text(size)}, {bytes_text(size / max(counted.rows, 1))} a row"}
        )
