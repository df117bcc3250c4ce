"""Several methods under the same folds, and the one to take when no true label is known."""

import sys
from types import ModuleType

from oneof.compare.comparison import compare
from oneof.compare.curve import LearningCurve, learning_curve
from oneof.compare.methods import first_choice, holds_negative, left_out_of_auto, panel, without_slow
from oneof.compare.results import Comparison, FoldResult, MethodResult

__all__ = [
    "Comparison",
    "FoldResult",
    "LearningCurve",
    "MethodResult",
    "compare",
    "first_choice",
    "holds_negative",
    "learning_curve",
    "left_out_of_auto",
    "panel",
    "without_slow",
]


class _CallableModule(ModuleType):
    """A module that is called like its main function.

    Python binds `oneof.compare` to this module as soon as anything imports from it, in place of the function that the
    package's face promises under the same name.
    """

    __call__ = staticmethod(compare)


sys.modules[__name__].__class__ = _CallableModule
