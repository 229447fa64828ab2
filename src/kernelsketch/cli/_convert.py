"""``kernelsketch convert``: a file of rows in another format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Annotated

import typer

from ..formats import RowBlock, write_rows
from ..hashing import PackedCodes
from ._codes import features_of
from ._groups import grouped
from ._options import Input, Json, Reading, Running, open_input
from ._output import size_of, tell, tell_json
from ._progress import Counted, Meter, duration

OutFormat = Enum("OutFormat", {n: n for n in ("libsvm", "vw", "parquet", "npz")}, type=str)  # type: ignore[misc]


@grouped
def convert(
    input: Input,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUTPUT",
            help="Ends in .libsvm, .vw, .parquet or .npz; text may end in .gz, .bz2, .xz or .zst. - is standard "
            "output, with --to libsvm or vw.",
            show_default=False,
        ),
    ],
    reading: Reading,
    running: Running,
    to: Annotated[
        OutFormat | None, typer.Option("--to", help="By default by the ending of OUTPUT.", show_default=False)
    ] = None,
    one_based: Annotated[
        bool, typer.Option("--one-based/--from-zero", help="Ids in text count from 1 (LIBLINEAR wants it) or 0.")
    ] = True,
    json: Json = False,
) -> None:
    """Convert a file of rows to another format, in constant memory.

    A file of codes becomes the features that they stand for. OUTPUT appears when it is complete; if anything fails,
    what was there before stays.
    """
    with Meter("converting", running.quiet) as meter, open_input(input, reading, running) as stream:
        counted = Counted(stream, meter)
        names, wanted = stream.feature_names, None if to is None else to.value
        write_rows(output, _features(counted), format=wanted, zero_based=not one_based, feature_names=names)
    if output == "-":
        return
    if json:
        found = {"output": output, "rows": counted.rows, "n_features": counted.n_features, "seconds": meter.seconds}
        tell_json(found)
    else:
        tell(
            {
                "converted": f"{counted.rows:,} rows in {duration(meter.seconds)}, {counted.rate:,.0f} a second",
                "output": f"{output}, {size_of(output)}",
            }
        )


def _features(rows: Iterable[RowBlock]) -> Iterator[RowBlock]:
    for part in rows:
        yield from features_of(part.X, part.y) if isinstance(part.X, PackedCodes) else [part]
