"""The commands that this package adds to ``kernelsketch``, found by entry point."""

from ._datasets import datasets
from ._report import report
from ._reproduce import reproduce_command as reproduce
from ._theory import theory

__all__ = ["datasets", "report", "reproduce", "theory"]
