"""Examples of the docstrings and of the page on Spark, on the cluster."""

import doctest
from pathlib import Path

import kernelsketch.spark

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "spark.rst"


def test_docstrings(spark):
    found = doctest.testmod(kernelsketch.spark, extraglobs={"spark": spark}, optionflags=doctest.ELLIPSIS)
    assert (found.failed, found.attempted > 20) == (0, True)


def test_the_page(spark, tmp_path):
    names = {"spark": spark, "folder": str(tmp_path)}
    found = doctest.testfile(str(PAGE), module_relative=False, globs=names, optionflags=doctest.ELLIPSIS)
    assert (found.failed, found.attempted > 10) == (0, True)
