"""Escape plain-text formulas in docstrings, such as |S| or gamma_+, so that they are not parsed as references.

Docstrings are mostly read in terminals and editors, so they contain no escapes; this extension adds them.
"""

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(``.*?``|`[^`]*`)")
_REFERENCE = re.compile(r"\||(?<=[A-Za-z])_(?![\w*`])")


def escape(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001 - the signature of the event
    """Escape bars and trailing underscores outside code, in place, after numpydoc has formatted the sections."""
    is_example = False  # of a doctest, up to the blank line after its output
    for at, line in enumerate(lines):
        is_example = bool(line.strip()) and (is_example or line.lstrip().startswith(">>>"))
        if is_example or line.lstrip().startswith((".. ", ":")):
            continue
        parts = _CODE.split(line)
        parts[::2] = [_REFERENCE.sub(lambda match: "\\" + match[0], part) for part in parts[::2]]
        lines[at] = "".join(parts)


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after numpydoc, which has the default priority 500."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
