"""``.. losses::`` makes the table of losses from ``kernelsketch/_losses.py``: name, formula and use of each."""

from __future__ import annotations

from typing import Any

from kernelsketch._losses import LOSS_TABLE


def lines() -> list[str]:
    """Return the table as lines of reStructuredText."""
    rows = [("loss", "formula", "use")]
    rows += [(f'``"{loss.name}"``', f":math:`{loss.formula}`", loss.use) for loss in LOSS_TABLE]
    cells = [f"   {'*' if i == 0 else ' '} - {cell}" for row in rows for i, cell in enumerate(row)]
    return [".. list-table::", "   :header-rows: 1", "   :widths: 24 36 40", "", *cells]


def setup(app: Any) -> dict[str, Any]:
    from docutils import nodes
    from docutils.parsers.rst import Directive
    from docutils.statemachine import StringList

    class Losses(Directive):
        """``.. losses::``: the table."""

        def run(self) -> list[nodes.Node]:
            node = nodes.container()
            self.state.nested_parse(StringList(lines(), source="losses"), self.content_offset, node)
            return list(node.children)

    app.add_directive("losses", Losses)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
