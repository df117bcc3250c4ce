"""Several methods under the same folds, and the one to take when no true label is known."""

from oneof.comparison.comparison import compare
from oneof.comparison.curve import LearningCurve, learning_curve
from oneof.comparison.methods import first_choice, holds_negative, left_out_of_auto, panel, without_slow
from oneof.comparison.results import Comparison, FoldResult, MethodResult

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
