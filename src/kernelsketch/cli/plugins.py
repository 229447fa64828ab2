"""What a package that adds commands to ``kernelsketch`` may import.

A plug-in declares an entry point in the group ``kernelsketch.commands``. The entry point names a function with typer's
annotations, or a ``typer.Typer``; its name is the name of the command. ``kernelsketch --help`` lists the command
without importing it.

======================= ====================================================================================
`UsageError`            raise it for options that contradict each other: one sentence, exit status 2
`with_option_groups`    decorator: parameters that are dataclasses become groups of options, and files are checked
`FileRole`              in the annotation of a parameter that names a file: whether it is read or written
`examples`              the examples at the end of a help screen, for ``epilog``
`RunOptions`            option group: threads, memory, quiet
`memory_of`             bytes that a SIZE of ``--memory`` means, such as 2GB, 512MiB or half
`ProgressMeter`         a progress bar on a terminal, a line every few seconds elsewhere
`print_facts`           print a result as lines
`print_json`            print a result as JSON
`format_bytes`          a number of bytes as text, such as 1.5 MB
`format_duration`       a number of seconds as text, such as 12 s
======================= ====================================================================================

Every other error that derives from :class:`kernelsketch.exceptions.KernelsketchError`, and every ``OSError`` and
``ValueError``, ends the command with its message as one sentence and exit status 1. The status is 2 for a
:class:`~kernelsketch.exceptions.ParameterError` and for an error whose ``parameter`` is an option of the command. A
:class:`~kernelsketch.exceptions.Setting` in the message is shown as the option of the command that sets this parameter.
"""

from ._errors import UsageError
from ._file_roles import FileRole
from ._memory import memory_of
from ._option_groups import examples, with_option_groups
from ._options import RunOptions
from ._progress import ProgressMeter, format_duration
from ._results import format_bytes, print_facts, print_json

__all__ = [
    "FileRole",
    "ProgressMeter",
    "RunOptions",
    "UsageError",
    "examples",
    "format_bytes",
    "format_duration",
    "memory_of",
    "print_facts",
    "print_json",
    "with_option_groups",
]
