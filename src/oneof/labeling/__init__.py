"""Labeling sessions: active learning with candidate sets as answers, on a local web page or from Python.

<<<<<<< HEAD
Reading order: `session` (the public class), `answer_api` (its answers), `result_api` (combined answers and files),
`scheduler` (selection of the next row), `learner` (the model), `quality` (its estimated accuracy), `agreement` and
`degrees` (several annotators and degrees of certainty); below them `answer_store`, `answer_state` and `answer_log`
(answers in memory and on disk), `importing` and `table` (input and output); on top `server` and `app` (the page).
=======
Reading order: `session` (the public class), `answer_api` (its answers), `scheduler` (selection of the next row),
`learner` (the model), `quality` (its estimated accuracy); below them `answer_store`, `answer_state` and `answer_log`
(answers in memory and on disk), `importing`, `table`, `label_changes` and `media` (input and output); beside them
`highlights` (marked words) and `review` (labels that are probably wrong); on top `server` and `app` (the page).
>>>>>>> content

Names are imported on first use, so that reading or writing a log of answers starts fast.
"""

import importlib
from typing import Any

_LAZY_NAMES = {
    "LabelingSession": "oneof.labeling.session",
    "LabelTable": "oneof.labeling.table",
    "serve": "oneof.labeling.server",
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
