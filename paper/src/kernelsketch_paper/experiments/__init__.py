"""The experiments of the paper, and those it leaves out: cells of work, their results, and the runner."""

from ._plan import Wanted
from ._protocol import SCALES, Scale
from ._reproduce import reproduce
from ._results import Published, Row, published, published_errors, read_results, write_results
from ._run import State
from ._wanted import TARGETS

__all__ = [
    "SCALES",
    "TARGETS",
    "Published",
    "Row",
    "Scale",
    "State",
    "Wanted",
    "published",
    "published_errors",
    "read_results",
    "reproduce",
    "write_results",
]
