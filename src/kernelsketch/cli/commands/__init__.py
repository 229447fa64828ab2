"""The commands as a user sees them: one file per command with its options, help text and examples.

A command is a dataclass of its options, and its docstring is the help. Groups of options are base classes; the options
of the last one come first, as in dataclasses. A file imports typer and the shared options, nothing heavier: its
counterpart in ``kernelsketch.cli.work`` is imported when the command line is correct and the work begins.
"""
