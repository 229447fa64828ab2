"""Formulas as MathML: Sphinx converts them while it builds, and every browser shows them without a script or a network.

A command without a conversion would appear in the page as text. It is a warning here, and therefore an
error in ``make docs``.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)
_UNKNOWN = re.compile(r"<m[ion]>(\\[A-Za-z]+)</m[ion]>")
_FUNCTIONS = re.compile(r"<mi>(log|exp|cos|sin|sinh)</mi>(?!<mo stretchy=\"false\">&#x00028;)")


def to_mathml(formula: str, display: str, location: Any = None) -> str:
    """Return the MathML of a formula in TeX; ``display`` is "inline" or "block"."""
    text = convert(formula, display=display)
    for unknown in _UNKNOWN.findall(text):
        _LOGGER.warning("MathML: %s in %r is not known to latex2mathml.", unknown, formula, location=location)
    # A function and its argument stand apart, as in "log u"; before a parenthesis they do not.
    return _FUNCTIONS.sub(r'<mi>\1</mi><mspace width="0.1667em" />', text)


def visit_inline(translator: Any, node: Any) -> None:
    from docutils import nodes

    translator.body.append(to_mathml(node.astext(), "inline", node))
    raise nodes.SkipNode


def visit_block(translator: Any, node: Any) -> None:
    from docutils import nodes

    translator.body.append(translator.starttag(node, "div", CLASS="formula"))
    translator.body.append(to_mathml(node.astext(), "block", node))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
