"""The commands that this package adds to ``kernelsketch``, one module per command.

Each command is an entry point of the group ``kernelsketch.commands``. A module imports typer only; everything else is
imported when the command runs, so that ``kernelsketch --help`` stays fast.
"""
