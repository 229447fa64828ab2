"""``kernelsketch demo``: accuracy, log-loss and time of the models on a table with categories and gaps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .._option_groups import launcher, option
from .._options import json_flag, quiet_flag


@dataclass
class Demo:
    """Compare GCWSTabularClassifier with linear and kernel SVMs and with boosted trees on a table of loans.

    Below the comparison are two predictions as pictures: why a loan is repaid, and an income with its interval.
    """

    rows: int = option(20_000, "Number of rows. Half of them train the models.", min=200)
    write: Path | None = option(
        None,
        "Only write files to try the other commands on: digits.svm, digits.t.svm, loans.csv, loans.t.csv and "
        "articles.jsonl.",
        metavar="FOLDER",
    )
    quiet: bool = quiet_flag()
    json: bool = json_flag()


command = launcher(Demo, "demo", "demo")
