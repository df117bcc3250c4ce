"""Labeling sessions: active learning with candidate sets as answers, on a local web page or from Python.

Reading order: `session` (the public class), `answers` (log, current answers, degrees of certainty, imports),
`scheduler` (selection of the next row), `learner` (the model), `quality` (its estimated accuracy), `annotators`
(agreement, accuracies, progress), `content` (the table, images, audio, proposals), `http` (the page).

Names are imported on first use, so that reading or writing a log of answers starts fast.
"""

import importlib
from typing import Any

_LAZY_NAMES = {
    "LabelingSession": "oneof.labeling.session",
    "LabelTable": "oneof.labeling.content.table",
    "serve": "oneof.labeling.http.server",
}

__all__ = [*_LAZY_NAMES]  # noqa: PLE0604 - computed from the table above, so that the two cannot differ


def __getattr__(name: str) -> Any:
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module 'oneof.labeling' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
