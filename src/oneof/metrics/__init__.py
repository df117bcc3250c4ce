"""Metrics of predictions, with and without true labels.

Reading order: `covering` (metrics that need only candidate sets), `break_even` (a metric of rankings with true labels),
`paired_tests` (comparison of two methods over several runs).
"""

from oneof.metrics.break_even import precision_recall_breakeven_point
from oneof.metrics.covering import ambiguous_zero_one_loss, approximated_accuracy, covering_rate, exact_accuracy
from oneof.metrics.paired_tests import WinTieLoss, paired_p_values, win_tie_loss

__all__ = [
    "WinTieLoss",
    "ambiguous_zero_one_loss",
    "approximated_accuracy",
    "covering_rate",
    "exact_accuracy",
    "paired_p_values",
    "precision_recall_breakeven_point",
    "win_tie_loss",
]
