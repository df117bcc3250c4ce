"""Predictions that are sets of classes and contain the true class with a given probability.

Reading order: `conformal_classifier` (the estimator), `evaluation` (coverage and mean size of given sets), and the
p-values in `oneof.solvers.conformal`.
"""

from oneof.conformal.conformal_classifier import ConformalClassifier
from oneof.conformal.evaluation import SetEvaluation, SetGroup, evaluate_sets

__all__ = ["ConformalClassifier", "SetEvaluation", "SetGroup", "evaluate_sets"]
