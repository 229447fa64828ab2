"""The commands as a user sees them: one file per command with its options, help text and examples.

A file imports typer and the shared options, nothing heavier. The function imports its counterpart in
``kernelsketch.cli.work`` when the command line is correct and the work begins.
"""
