"""The commands of kernelsketch-paper, for the command line of a machine where that package is not installed.

This module imports nothing, so that ``kernelsketch --help`` can use it. An installed package registers its commands as
entry points of the group ``kernelsketch.commands``; an entry point takes the place of the entry here.
"""

from __future__ import annotations

GROUP = "kernelsketch.commands"  # of entry points
PAPER_COMMANDS = {
    "datasets": "List the datasets of the paper and some more.",
    "reproduce": "Run the paper's experiments.",
    "report": "Write the report of the paper's experiments.",
    "theory": "Check the theorems by simulation, and draw the paper's theory figures.",
}
INSTALL = "pip install ./paper"  # from a checkout, until there is a release


def not_installed(command: str) -> str:
    """Return the sentence that says how to get a command of kernelsketch-paper."""
    return (
        f"`kernelsketch {command}` comes with the package kernelsketch-paper, which is not installed: run  {INSTALL}  "
        "in a checkout of kernelsketch."
    )
