"""Kernel ridge regression that disambiguates its own labels by exact leave-one-out prediction.

Reading order: `solve` (the steps, and the weights of several kernels), `loo_operators` (leave-one-out predictions),
`linear_algebra` (their factors and products, of arrays and of tensors), `candidate_groups` and `distractors` (the sets,
and the distractor models), `self_training` (the iterations), `selection` and `group_shares` (the choice among the
distractor models), `blocks` (many rows), `calibration` (probabilities), `influences` (the rows behind a label).
"""

from oneof.solvers.loo_ridge.blocks import BlockedRows, RowsInMemory
from oneof.solvers.loo_ridge.calibration import fit_inverse_temperature
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import (
    ClassMassNormalization,
    ConfusableDistractors,
    CooccurringDistractors,
    Distractors,
    IterationState,
    UniformDistractors,
)
from oneof.solvers.loo_ridge.group_shares import GroupShares, fit_group_shares
from oneof.solvers.loo_ridge.influences import Influences, runner_up_classes, top_influences
from oneof.solvers.loo_ridge.loo_operators import (
    DualCoefficients,
    ExactRidge,
    LinearLOO,
    LOOPredictor,
    NystroemRidge,
    Ridge,
)
from oneof.solvers.loo_ridge.selection import (
    DISTRACTOR_MODELS,
    DistractorModel,
    DistractorSelection,
    select_distractor_models,
)
from oneof.solvers.loo_ridge.self_training import SelfTrainingResult, self_train
from oneof.solvers.loo_ridge.solve import (
    KernelModel,
    LOORidgeSolution,
    solve_loo_ridge,
    stacking_weights,
    weigh_kernels,
)

__all__ = [
    "DISTRACTOR_MODELS",
    "CandidateGroups",
    "ClassMassNormalization",
    "ConfusableDistractors",
    "CooccurringDistractors",
    "DistractorModel",
    "DistractorSelection",
    "Distractors",
    "DualCoefficients",
    "ExactRidge",
    "GroupShares",
    "Influences",
    "IterationState",
    "KernelModel",
    "LOOPredictor",
    "LOORidgeSolution",
    "LinearLOO",
    "NystroemRidge",
    "Ridge",
    "BlockedRows",
    "RowsInMemory",
    "SelfTrainingResult",
    "UniformDistractors",
    "fit_group_shares",
    "fit_inverse_temperature",
    "runner_up_classes",
    "select_distractor_models",
    "self_train",
    "solve_loo_ridge",
    "stacking_weights",
    "top_influences",
    "weigh_kernels",
]
