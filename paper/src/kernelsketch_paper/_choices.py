"""Values that the commands accept. This module imports nothing, so that the help of a command is shown at once."""

TARGETS = ("table1", "table2", "table3", "table4", "table5", "figures", "beyond", "all")
SCALE_NAMES = ("full", "standard", "quick", "tiny")
FORMATS = ("png", "svg")
