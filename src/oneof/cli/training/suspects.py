"""Wrong labels in a fit: the sentence about corrected weights, and the suspects of a model of uncorrected ones."""

from typing import TYPE_CHECKING, Any

from oneof.cli.auditing.issues import describe_rate
from oneof.cli.tables.written import named_classes

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.comparison import Comparison


def describe_correction(issues: "LabelIssues") -> str:
    """Return the noise rate, and the number of rows that are fitted to corrected weights, in a sentence."""
    if issues.is_rate_unknown:
        return f"{describe_rate(issues)}; the fit is the same as without --noise-rate."
    if not issues.n_changed:
        return "no labels are suspected to be wrong: the fit is the same as without --noise-rate."
    return f"{describe_rate(issues)}; {issues.n_changed:,} rows are fitted to corrected weights."


def has_suspects(method: Any) -> bool:
    """Return whether a fitted method has leave-one-out scores, by which wrong labels are found."""
    from oneof.estimators.loo_ridge import LOORidge

    return isinstance(method, LOORidge)


def find_suspects(comparison: "Comparison", method: Any, prepared: "PreparedTable", seed: int) -> "LabelIssues | None":
    """Return the issues by the leave-one-out scores of a fitted LOORidge; None without result.

    On exact labels, these are the issues of `oneof audit`. Rows with a checked label are not suspected.

    With groups, the scores are those of the comparison, and there are none if it has one split only. Rows of classes
    of one group only are not suspected.
    """
    import warnings

    import numpy as np

    from oneof.audit import issues_from_scores
    from oneof.audit.detection import draw_seed, only_in_one_group
    from oneof.audit.inference import MIN_PROBABILITY
    from oneof.estimators.loo_ridge import loo_logits

    candidates, checked, groups = prepared.candidates, prepared.is_checked, prepared.groups
    if groups is not None:
        single = only_in_one_group(candidates, groups)
        checked = single if checked is None else single | checked
    if checked is not None and (checked | candidates.is_unlabeled).all():
        return None
    scores = None
    if comparison.n_groups is not None:
        rows, proba = comparison.held_out_rows, comparison.results[0].probabilities
        if rows is None or proba is None or len(rows) < (~candidates.is_unlabeled).sum():
            return None
        scores = np.zeros(candidates.shape)
        scores[rows] = np.log(np.maximum(proba, MIN_PROBABILITY))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            return issues_from_scores(
                loo_logits(method) if scores is None else scores,
                candidates,
                seed=draw_seed(seed),
                checked=checked,
                named=named_classes(prepared),
            )
        except UserWarning:  # the features do not predict the labels
            return None
