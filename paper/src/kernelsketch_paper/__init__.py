"""The paper beside the library: its datasets, experiments, simulations, figures and report.

data          registry and loaders of the paper's datasets
experiments   the paper's tables and what it leaves out, cell by cell
simulations   the theorems simulated, and their figures
report        results beside the paper's numbers, as a page, tables and figures
commands      `kernelsketch datasets`, `reproduce`, `report` and `theory`
"""
