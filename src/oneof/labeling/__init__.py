"""The labeling page: asks the most useful question next, and takes "A or B" for an answer.

Names are imported on first use, so that what only reads or writes a log of answers starts fast.
"""

import importlib
from typing import Any

_HOME = {
    "LabelingSession": "oneof.labeling.session",
    "LabelTable": "oneof.labeling.table",
    "serve": "oneof.labeling.server",
}

__all__ = [*_HOME]  # noqa: PLE0604 - computed from the table above, so that the two cannot differ


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'oneof.labeling' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
