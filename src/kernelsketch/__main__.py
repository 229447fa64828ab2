"""``python -m kernelsketch``: the command line."""

from .cli import main

main()
