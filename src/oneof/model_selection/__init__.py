"""Cross-validation with candidate sets: splitters, scorers that need no true labels, and held-out predictions.

Weights of classes are here as well.

Reading order: `folds` (splitters), `scoring` (scorers), `prediction` (held-out predictions), `temperature` (calibration
of probabilities, and of lists of probabilities).
"""

from oneof.candidates.class_weights import compute_sample_weight
from oneof.model_selection.folds import CandidateGroupKFold, CandidateKFold
from oneof.model_selection.prediction import cross_val_predict
from oneof.model_selection.scoring import (
    Scorer,
    approximated_accuracy_scorer,
    covering_rate_scorer,
    exact_accuracy_scorer,
)
from oneof.model_selection.scoring import get_proba as get_proba
from oneof.model_selection.temperature import calibrate_posteriors

__all__ = [
    "CandidateGroupKFold",
    "CandidateKFold",
    "Scorer",
    "approximated_accuracy_scorer",
    "calibrate_posteriors",
    "compute_sample_weight",
    "covering_rate_scorer",
    "cross_val_predict",
    "exact_accuracy_scorer",
]
