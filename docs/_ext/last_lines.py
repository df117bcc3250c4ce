"""A doctest in Markdown needs a blank line before its fence closes; on the page no block of code ends with one."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def cut(app: Sphinx, doctree: nodes.document) -> None:  # noqa: ARG001 - as Sphinx calls it
    """Take blank lines from the end of every block of code, in place."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # else it holds markup of its own
            block.rawsource = block.rawsource.rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page once it has been read."""
    app.connect("doctree-read", cut)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
