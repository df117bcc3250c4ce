"""Predictions that are sets of classes and contain the true class with a given probability.

Reading order: `conformal_classifier` (the estimator), `held_out` (its models and calibration rows),
`calibration_warnings`, the p-values in `oneof.solvers.conformal`, and `evaluation` (coverage and mean size of given
sets).
"""

from oneof.conformal.conformal_classifier import CALIBRATIONS as CALIBRATIONS
from oneof.conformal.conformal_classifier import METHODS as METHODS
from oneof.conformal.conformal_classifier import ConformalClassifier
from oneof.conformal.evaluation import SetEvaluation, SetGroup, evaluate_sets

__all__ = ["ConformalClassifier", "SetEvaluation", "SetGroup", "evaluate_sets"]
