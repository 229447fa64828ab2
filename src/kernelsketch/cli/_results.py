"""What commands print at the end: a few lines, or JSON."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def print_facts(facts: dict[str, str], *, to_stderr: bool = False) -> None:
    """Print one fact per line: its name, and the text in a column."""
    width = max(map(len, facts)) + 2
    for name, text in facts.items():
        print(f"{name:{width}}{text}", file=sys.stderr if to_stderr else sys.stdout)


def print_table(names: Sequence[str], rows: Sequence[list[str]], right: range, most: int, what: str) -> None:
    """Print at most so many rows of a table, which are called ``what``; the columns ``right`` hold numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for name in names:
        table.add_column(Text(name))
    for number in right:
        table.columns[number].justify = "right"
    for row in rows[:most]:
        table.add_row(*map(Text, row))
    if len(rows) > most:
        table.add_row(f"{len(rows) - most} more {what}: see --json")
    Console().print(table)


def print_json(result: Any) -> None:
    """Print a result as one line of JSON; NumPy arrays become lists, and numbers that are not finite null."""
    print(json.dumps(_as_json(result), allow_nan=False))


def _as_json(value: Any) -> Any:
    if hasattr(value, "tolist"):  # an array or a number of NumPy, which is not imported for this
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _as_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def size_of(path: Path | str) -> str:
    """Return the size of a file as text; that of a device is 0."""
    return format_bytes(os.stat(path).st_size)


def format_bytes(size: float) -> str:
    """Return a number of bytes as text, such as 1.5 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def label_value(label: Any) -> Any:
    """Return a label as files have it: 1 rather than 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() and abs(label) < 2**53 else label


def labels_text(labels: list[Any], most: int = 6) -> str:
    """Return the number of labels and the first of them."""
    shown = ", ".join(str(label_value(label)) for label in labels[:most])
    return f"{len(labels)}: {shown}{', ...' if len(labels) > most else ''}"
