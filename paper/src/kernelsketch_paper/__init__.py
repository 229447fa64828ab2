"""The experiments of the GMM kernel paper, run with kernelsketch.

==============  =====================================================================================
data            registry and loaders of the paper's datasets
experiments     the paper's tables and further comparisons, one cell of work at a time
simulations     simulations that check the theorems, and the theory figures
drawing         plots as data, and the one module that draws them to files
report          measured results beside the published numbers: a page, tables and figures
commands        ``kernelsketch datasets``, ``reproduce``, ``report`` and ``theory``
==============  =====================================================================================

Modules import in this direction: ``_library``, ``_checks``, ``_choices`` <- ``data``, ``drawing`` <- ``experiments``,
``simulations`` <- ``report`` <- ``commands``.
"""
