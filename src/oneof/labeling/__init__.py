"""Labeling sessions: active learning with candidate sets as answers, on a local web page or from Python.

Reading order: `session` (the public class), `answers` (log, current answers, degrees of certainty, imports),
`scheduler` (selection of the next row), `learner` (the model), `quality` (its estimated accuracy), `annotators`
(agreement, accuracies, progress), `content` (the table, images, audio, proposals), `http` (the page).

Names are imported on first use, so that reading or writing a log of answers starts fast.
"""

from oneof.lazy import import_on_use, read_stub

_PUBLIC = read_stub(__name__)

__all__ = [*_PUBLIC]  # noqa: PLE0604 - as the stub file lists them
__getattr__, __dir__ = import_on_use(__name__, _PUBLIC)
