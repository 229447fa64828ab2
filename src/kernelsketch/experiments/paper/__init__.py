"""The experiments of the paper, and those it leaves out: cells of work, their results, and the runner."""

from ._results import Published, Row, published, published_errors, read_results, write_results

__all__ = ["Published", "Row", "published", "published_errors", "read_results", "write_results"]
