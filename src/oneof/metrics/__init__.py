"""Judging predictions where the true labels are not known, and where they are."""

from oneof.metrics.break_even import precision_recall_breakeven_point
from oneof.metrics.covering import ambiguous_zero_one_loss, approximated_accuracy, covering_rate, exact_accuracy
from oneof.metrics.differences import WinTieLoss, win_tie_loss

__all__ = [
    "WinTieLoss",
    "ambiguous_zero_one_loss",
    "approximated_accuracy",
    "covering_rate",
    "exact_accuracy",
    "precision_recall_breakeven_point",
    "win_tie_loss",
]
