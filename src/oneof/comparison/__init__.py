"""Comparison of methods by cross-validation, and the choice of a method without true labels.

Reading order: `folds` (rows and labels, and their folds), `class_weights` (weights of classes in a fit), `fitting` (one
method on one fold), `results` (by fold and by method), `tables` (the result of `compare`, as text and DataFrame),
`methods` (the default estimators), `training_rows` (common features, corrected labels), `schedule` (limits of time),
`criterion` (the expected accuracy), `baseline` (a simple classifier), `comparison` (`compare`), `curve`
(`learning_curve`).
"""

from oneof.comparison.comparison import compare
from oneof.comparison.curve import LearningCurve, learning_curve
from oneof.comparison.methods import default_estimators
from oneof.comparison.results import FoldResult, MethodResult
from oneof.comparison.tables import Comparison

__all__ = [
    "Comparison",
    "FoldResult",
    "LearningCurve",
    "MethodResult",
    "compare",
    "default_estimators",
    "learning_curve",
]
