"""Wrong labels in a fit: the sentence about corrected weights, and the suspects of a model of uncorrected ones."""

from typing import TYPE_CHECKING, Any

from oneof.cli.auditing.issues import describe_rate

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.candidates import CandidateSets
    from oneof.comparison import Comparison
    from oneof.typing import Mask


def describe_correction(issues: "LabelIssues", auditor: str) -> str:
    """Return the noise rate with its origin, and the number of rows that are fitted to corrected weights."""
    if issues.is_rate_unknown:
        return f"{describe_rate(issues)}; the fit is the same as without --noise-rate."
    if not issues.n_changed:
        return f"{describe_rate(issues)}; no row is corrected: the fit is the same as without --noise-rate."
    n_changed = "1 row is" if issues.n_changed == 1 else f"{issues.n_changed:,} rows are"
    origin = "" if issues.is_rate_given else f", estimated from predictions of {auditor} without each row's own labels"
    limit = "" if issues.share_interval[0] > 0 else ", those that contradict their prediction most: all may be right"
    return f"{describe_rate(issues)}{origin}; {n_changed} fitted to corrected weights{limit}."


def has_suspects(method: Any) -> bool:
    """Return whether wrong labels are searched for by a fitted method."""
    from oneof.estimators.loo_ridge import LOORidge

    return isinstance(method, LOORidge)


def has_predictions_of_all_rows(comparison: "Comparison", candidates: "CandidateSets") -> bool:
    """Return whether `find_suspects` has predictions of all rows, which a single split of partial rows has not."""
    is_exact = bool((candidates.is_exact | candidates.is_unlabeled).all())
    return comparison.n_folds > 1 or (comparison.n_groups is None and is_exact)


def find_suspects(
    comparison: "Comparison",
    method: Any,
    candidates: "CandidateSets",
    checked: "Mask | None" = None,
    groups: Any = None,
    *,
    named: "Mask | None" = None,
    seed: int = 0,
) -> "LabelIssues | None":
    """Return the issues by held-out predictions of a fitted LOORidge; None without result.

    On exact labels without groups, these are its leave-one-out scores, and the issues are those of `oneof audit`.
    Leave-one-out scores of partial rows depend on their own sets, and the noise rate would be too low: .03 to .10 for
    true rates of .08 to .17 in simulations of 500 rows. With partial rows or groups they are the predictions of the
    comparison, and there are none if it has one split only. Rows with a checked label, and with groups those of classes
    of one group only, are not suspected. `named` has the classes that lists with a rest name.
    """
    import warnings

    import numpy as np

    from oneof.audit import issues_from_scores
    from oneof.audit.detection import draw_seed, only_in_one_group
    from oneof.audit.inference import MIN_PROBABILITY
    from oneof.estimators.loo_ridge import loo_logits

    if groups is not None:
        single = only_in_one_group(candidates, groups)
        checked = single if checked is None else single | checked
    if checked is not None and (checked | candidates.is_unlabeled).all():
        return None
    scores = None
    if comparison.n_groups is not None or not (candidates.is_exact | candidates.is_unlabeled).all():
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
                named=named,
            )
        except UserWarning:  # the features do not predict the labels
            return None
