"""The experiments of the paper and some that it leaves out: cells of work, their results, and the runner.

==============  =====================================================================================
_protocol       what is tried: the paper's grids, and our choices where the paper is silent
_targets        what a user chooses, as experiments and datasets
_plan           the cells that the results so far call for
_cells          a cell: one method on one split of one dataset with one setting
_kernels, _hashing, _tunable, _comparison  the work of a cell, by experiment
_kernel_svm, _linear_svm  the models that a cell trains
_run            cells in processes, within limits of memory and time
_store          finished cells on disk
_results        rows of results, and the numbers that the paper publishes
_reproduce      all of it in one call
==============  =====================================================================================
"""

from .._choices import TARGETS
from ._protocol import DETAILED, DETAILED_STAND_INS, LARGER_STAND_INS, SCALES, Scale
from ._reproduce import reproduce
from ._results import PROVENANCE, RESULTS, Published, Row, published, published_errors, read_results, write_results
from ._run import State
from ._targets import Selection

__all__ = [
    "DETAILED",
    "DETAILED_STAND_INS",
    "LARGER_STAND_INS",
    "PROVENANCE",
    "RESULTS",
    "SCALES",
    "TARGETS",
    "Published",
    "Row",
    "Scale",
    "Selection",
    "State",
    "published",
    "published_errors",
    "read_results",
    "reproduce",
    "write_results",
]
