"""The public names, as the reference in the documentation lists them."""

from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "index.rst"


def names_of_the_reference():
    """The names that the reference lists, as they are shown, each with the module of ``currentmodule`` before it."""
    module, listed, found = "", False, []
    for line in REFERENCE.read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1]
        elif line.startswith(".. autosummary::"):
            listed = True
        elif listed and line.startswith("   ") and not line.startswith("   :"):
            found.append((line.strip(), module))
        elif line and not line.startswith(" "):
            listed = False
    return found
