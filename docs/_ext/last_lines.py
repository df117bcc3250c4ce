"""Remove the trailing blank line of code blocks, which doctests in Markdown need before the closing fence."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def cut(app: Sphinx, doctree: nodes.document) -> None:  # noqa: ARG001 - the signature of the event
    """Remove trailing blank lines from every code block, in place."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # otherwise it contains markup
            block.rawsource = block.rawsource.rstrip("\n")
            block[:] = [nodes.Text(block.rawsource)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Process every page after it has been read."""
    app.connect("doctree-read", cut)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
