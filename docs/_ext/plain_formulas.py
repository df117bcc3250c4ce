"""Formulas in docstrings are plain text, such as |S| or gamma_+; here they are kept from being read as references.

Docstrings are read in terminals and editors more often than on the site: they stay free of escapes, which this adds.
"""

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(``.*?``|`[^`]*`)")
_REFERENCE = re.compile(r"\||(?<=[A-Za-z])_(?![\w*`])")


def escape(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001 - as Sphinx calls it
    """Escape bars and trailing underscores outside code, in place, after numpydoc has made its sections."""
    for at, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...", ".. ", ":")):
            continue
        parts = _CODE.split(line)
        parts[::2] = [_REFERENCE.sub(lambda found: "\\" + found[0], part) for part in parts[::2]]
        lines[at] = "".join(parts)


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after numpydoc, whose priority is the usual 500."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
