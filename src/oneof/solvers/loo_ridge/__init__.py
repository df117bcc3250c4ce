"""Kernel ridge regression that disambiguates its own labels by exact leave-one-out prediction.

Reading order: `solve` (the steps, and the weights of several kernels), `loo_operators` (leave-one-out predictions, of
an inverse or of landmarks, and the rows behind a label), `blocks` and `linear_algebra` (rows in blocks; factors and
products, of arrays and of tensors), `candidate_groups` and `distractors` (the sets, and the distractor models),
`self_training` (the iterations), `linear_judge` (the linear classifier of the labels), `calibration` (probabilities).
"""

from oneof.solvers.loo_ridge.blocks import BlockedRows, RowsInMemory
from oneof.solvers.loo_ridge.calibration import fit_inverse_temperature
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups, spread_rows
from oneof.solvers.loo_ridge.distractors import DISTRACTOR_MODELS
from oneof.solvers.loo_ridge.loo_operators import runner_up_classes
from oneof.solvers.loo_ridge.self_training import SelfTraining
from oneof.solvers.loo_ridge.solve import LOORidgeSolution, RowSamples, solve_loo_ridge

__all__ = [
    "DISTRACTOR_MODELS",
    "BlockedRows",
    "CandidateGroups",
    "LOORidgeSolution",
    "RowSamples",
    "RowsInMemory",
    "SelfTraining",
    "fit_inverse_temperature",
    "runner_up_classes",
    "solve_loo_ridge",
    "spread_rows",
]
