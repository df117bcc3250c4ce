"""Kernel ridge regression that disambiguates its own labels by exact leave-one-out prediction.

Reading order: `solve` (the steps, and the weights of several kernels), `loo_operators` (leave-one-out predictions and
influential rows), `distractors` (candidate groups and the distractor models), `self_training` (the iterations, and the
selection of distractor models), `calibration` (probabilities).
"""

from oneof.solvers.loo_ridge.calibration import fit_inverse_temperature
from oneof.solvers.loo_ridge.distractors import (
    CandidateGroups,
    ClassMassNormalization,
    ConfusableDistractors,
    CooccurringDistractors,
    Distractors,
    IterationState,
    UniformDistractors,
)
from oneof.solvers.loo_ridge.loo_operators import (
    DualCoefficients,
    ExactRidge,
    Influences,
    LOOPredictor,
    NystroemRidge,
    Ridge,
    runner_up_classes,
    stack_ridges,
    top_influences,
)
from oneof.solvers.loo_ridge.self_training import (
    DISTRACTOR_MODELS,
    DistractorModel,
    DistractorSelection,
    SelfTrainingResult,
    select_distractor_models,
    self_train,
)
from oneof.solvers.loo_ridge.solve import (
    KernelModel,
    LOORidgeSolution,
    StackedModel,
    solve_loo_ridge,
    stacking_weights,
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
    "Influences",
    "IterationState",
    "KernelModel",
    "LOOPredictor",
    "LOORidgeSolution",
    "NystroemRidge",
    "Ridge",
    "SelfTrainingResult",
    "StackedModel",
    "UniformDistractors",
    "fit_inverse_temperature",
    "runner_up_classes",
    "select_distractor_models",
    "self_train",
    "solve_loo_ridge",
    "stack_ridges",
    "stacking_weights",
    "top_influences",
]
