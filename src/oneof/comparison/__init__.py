"""Comparison of methods by cross-validation, and the choice of a method without true labels.

Reading order: `folds` (rows and labels, their folds, and one method on one fold), `results` (by fold, by method and of
all methods, with their table), `methods` (the default estimators), `criterion` (the expected accuracy), `comparison`
(`compare`, with its limits of time and a simple baseline, and `learning_curve`).
"""

from oneof.comparison.comparison import compare, learning_curve
from oneof.comparison.methods import default_estimators
from oneof.comparison.results import Comparison, FoldResult, LearningCurve, MethodResult

__all__ = [
    "Comparison",
    "FoldResult",
    "LearningCurve",
    "MethodResult",
    "compare",
    "default_estimators",
    "learning_curve",
]
