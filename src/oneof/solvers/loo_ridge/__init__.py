"""Kernel ridge regression whose exact leave-one-out predictions disambiguate its own labels."""

from oneof.solvers.loo_ridge.calibration import best_sharpness
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.class_mass import ClassMass
from oneof.solvers.loo_ridge.confusion import ConfusedDistractors
from oneof.solvers.loo_ridge.distractors import Distractors, EvenDistractors, Round, SceneDistractors
from oneof.solvers.loo_ridge.judgment import ACCOUNTS, Account, Judgment, judged_labels
from oneof.solvers.loo_ridge.left_out import Dual, ExactRidge, LeavesOut, NystroemRidge, Ridge
from oneof.solvers.loo_ridge.model import KernelModel, StackedModel
from oneof.solvers.loo_ridge.rounds import Rounds, run_rounds
from oneof.solvers.loo_ridge.solve import LOORidgeSolution, solve_loo_ridge
from oneof.solvers.loo_ridge.stacking import stacked, stacking_weights
from oneof.solvers.loo_ridge.vouchers import Vouchers, rivals, vouchers

__all__ = [
    "ACCOUNTS",
    "Account",
    "CandidateGroups",
    "ClassMass",
    "ConfusedDistractors",
    "Distractors",
    "Dual",
    "EvenDistractors",
    "ExactRidge",
    "Judgment",
    "KernelModel",
    "LOORidgeSolution",
    "LeavesOut",
    "NystroemRidge",
    "Ridge",
    "Round",
    "Rounds",
    "SceneDistractors",
    "StackedModel",
    "Vouchers",
    "best_sharpness",
    "judged_labels",
    "rivals",
    "run_rounds",
    "solve_loo_ridge",
    "stacked",
    "stacking_weights",
    "vouchers",
]
