"""Wrong labels in a fit: the sentence about corrected weights, and the suspects of a model of uncorrected ones."""

from typing import TYPE_CHECKING, Any

from oneof.cli.auditing.issues import count_folds, describe_rate, find_issues
from oneof.cli.output.progress import Progress
from oneof.cli.tables.first_labels import excluded_rows

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.comparison import Comparison


def describe_correction(issues: "LabelIssues", auditor: str) -> str:
    """Return the noise rate with its origin, and the number of rows that are fitted to corrected weights."""
    if not issues.n_changed:
        return f"{describe_rate(issues)}; no row is corrected: the fit is the same as without --noise-rate."
    n_changed = "1 row is" if issues.n_changed == 1 else f"{issues.n_changed:,} rows are"
    origin = "" if issues.is_rate_given else f", estimated from predictions of {auditor} without each row's own labels"
    return f"{describe_rate(issues)}{origin}; {n_changed} fitted to corrected weights."


def has_suspects(method: Any) -> bool:
    """Return whether wrong labels are searched for by a fitted method."""
    from oneof.estimators.loo_ridge import LOORidge

    return isinstance(method, LOORidge)


def has_predictions_of_all_rows(comparison: "Comparison", candidates: "CandidateSets") -> bool:
    """Return whether wrong labels are searched for: not in a table so large that one split of its sets is held out."""
    is_exact = bool((candidates.is_exact | candidates.is_unlabeled).all())
    return comparison.n_folds > 1 or (comparison.n_groups is None and is_exact)


def find_suspects(
    prepared: "PreparedTable", method: str, *, seed: int = 0, progress: Progress | None = None
) -> "LabelIssues | None":
    """Return the issues of `oneof audit`; None if no row can be audited."""
    import warnings

    from oneof.audit.detection import only_in_one_group

    excluded, candidates = excluded_rows(prepared), prepared.candidates
    left_out = candidates.is_unlabeled if excluded is None else candidates.is_unlabeled | excluded
    if prepared.groups is not None:
        left_out = left_out | only_in_one_group(candidates, prepared.groups)
    if left_out.all():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that some rows are not audited
        return find_issues(prepared, method, folds=count_folds(prepared), seed=seed, progress=progress)[1]
