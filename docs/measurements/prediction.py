"""Two predictions with their explanations, one of them with an interval: the picture of docs/how-to/tables.rst.

Run ``python docs/measurements/prediction.py``: it runs the examples of the page up to the lines that draw, and writes
prediction.png beside itself.
"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import matplotlib

HERE = Path(__file__).parent
PAGE = HERE.parent / "how-to" / "tables.rst"


def main() -> None:
    matplotlib.use("agg")
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text()):
        draws = any(word in example.source for word in ("plt", "plot_explanation"))
        if draws or not example.options.get(doctest.SKIP):
            exec(compile(example.source, str(PAGE), "single"), names)
        if "axes[1]" in example.source:
            break
    names["figure"].savefig(HERE / "prediction.png", dpi=110)


if __name__ == "__main__":
    main()
