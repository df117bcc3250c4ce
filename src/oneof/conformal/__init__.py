"""Predictions that are sets of classes and contain the true class with a given probability.

Reading order: `conformal_classifier` (the estimator), `held_out` (its models and calibration rows), the scores,
p-values and sets in `oneof.solvers.conformal`, and `evaluation` (coverage and mean size of given sets).
"""

from oneof.conformal.conformal_classifier import ConformalClassifier
from oneof.conformal.evaluation import SetEvaluation, SetGroup, evaluate_sets

__all__ = ["ConformalClassifier", "SetEvaluation", "SetGroup", "evaluate_sets"]
