"""Formulas as MathML, rendered by docutils at build time: the page needs no script, font or network."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_log = logging.getLogger(__name__)

# Browsers set no space between the name of a function and its argument, as in "log p"; a parenthesis needs none.
_APPLY = re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*<mo[^>]*>[(\[])")


def _markup(self: Any, node: nodes.Element, *, block: bool) -> str:
    text = node.astext()
    try:
        result = latex2mathml.tex2mathml(text, as_block=block)
    except (SyntaxError, ValueError, NotImplementedError) as error:
        _log.warning("this formula cannot be converted to MathML (%s): %s", error, text, location=node)
        return self.encode(text)
    return _APPLY.sub('<mo lspace="0" rspace="0.167em">&ApplyFunction;</mo>', result)


def visit_inline(self: Any, node: nodes.math) -> None:
    """Render an inline formula."""
    self.body.append(_markup(self, node, block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """Render a displayed formula in a box that scrolls on a narrow screen."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate"))
    self.body.append(_markup(self, node, block=True))
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
