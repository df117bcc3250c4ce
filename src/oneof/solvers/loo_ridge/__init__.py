"""Kernel ridge regression whose exact leave-one-out predictions disambiguate its own labels."""

from oneof.solvers.loo_ridge.calibration import best_sharpness
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.class_mass import ClassMass
from oneof.solvers.loo_ridge.distractors import CommonDistractors, Correction, Distractors
from oneof.solvers.loo_ridge.left_out import Dual, ExactRidge, NystroemRidge, Ridge
from oneof.solvers.loo_ridge.model import KernelModel, fit_kernel
from oneof.solvers.loo_ridge.solve import LOORidgeSolution, solve_loo_ridge

__all__ = [
    "CandidateGroups",
    "ClassMass",
    "CommonDistractors",
    "Correction",
    "Distractors",
    "Dual",
    "ExactRidge",
    "KernelModel",
    "LOORidgeSolution",
    "NystroemRidge",
    "Ridge",
    "best_sharpness",
    "fit_kernel",
    "solve_loo_ridge",
]
