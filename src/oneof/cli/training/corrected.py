"""Held-out rates of a method that is fitted to corrected weights.

In each fold, the audit has the training rows alone: weights that were corrected with the labels of the test rows would
help to predict them, and the rates would be too high.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneof.cli.output.progress import Progress

if TYPE_CHECKING:
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.comparison import Comparison
    from oneof.comparison.folds import Task

MIN_LOSS = 0.01
"""Difference of the rates from which a fit to corrected weights is reported as worse."""


def compare_corrected(
    comparison: "Comparison",
    prepared: "PreparedTable",
    task: "Task",
    splits: Sequence[Any],
    *,
    noise_rate: float | None,
    seed: int,
    progress: Progress | None = None,
) -> "Comparison | None":
    """Return the comparison with the result of the best method fitted to corrected weights in its place.

    The test rows are compared with their labels as they are. None if the audit or the fit fails in a fold, such as one
    without some class.
    """
    import warnings

    import numpy as np
    from sklearn.utils import _safe_indexing

    from oneof.audit import find_label_issues
    from oneof.candidates import CandidateSets
    from oneof.cli.commands.audit import count_folds
    from oneof.cli.tables.methods import resolve_methods
    from oneof.comparison.folds import try_fit_and_score
    from oneof.comparison.methods import DEFAULT_METHOD
    from oneof.comparison.results import summarize
    from oneof.comparison.scoring import held_out_predictions
    from oneof.model_selection.folds import encode_groups

    [auditor] = resolve_methods(prepared, DEFAULT_METHOD, seed)[0].values()
    groups = None if prepared.groups is None else encode_groups(prepared.groups, len(task.candidates))
    results, no_rows = [], np.empty(0, dtype=np.int64)
    is_labeled = ~task.candidates.is_unlabeled
    for i, (train, test) in enumerate(splits):
        n_groups = 0 if groups is None else len(np.unique(groups[train][is_labeled[train]]))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of a fold; those of all rows are given elsewhere
                issues = find_label_issues(
                    _safe_indexing(task.X, train),
                    task.candidates[train],
                    auditor,
                    cv=count_folds(prepared) if n_groups < 2 else min(count_folds(prepared), n_groups),
                    groups=None if groups is None or n_groups < 2 else groups[train],
                    checked=None if prepared.is_checked is None else prepared.is_checked[train],
                    noise_rate=noise_rate,
                    random_state=seed,
                )
        except Exception:  # as for the methods of a comparison, an error of a fold must not stop the fit
            return None
        weights = task.candidates.evidence.astype(np.float64)
        weights[train] = issues.corrected().evidence
        corrected = CandidateSets.from_weights(weights, task.candidates.classes)
        fold = task._replace(candidates=corrected)
        results.append(try_fit_and_score(comparison.best_estimator, fold, train, test))
        if progress is not None:
            progress(i + 1, len(splits), comparison.best_method, None)
    first = summarize(comparison.best_method, tuple(results))
    if first.error is not None or comparison.held_out_rows is None:
        return None
    parts = [(train, test, no_rows) for train, test in splits]
    predictions = held_out_predictions(results, parts, comparison.held_out_rows, task.candidates)
    # Its expected accuracy, by which it was chosen among several methods, is that of the labels as they are.
    first = replace(first, expected_accuracy=comparison.results[0].expected_accuracy, **predictions)
    return replace(comparison, results=(first, *comparison.results[1:]))


def describe_change(plain: "Comparison", corrected: "Comparison | None") -> str:
    """Return a sentence with the rates of the held-out rows with and without the correction."""
    if corrected is None:
        return "the held-out estimate is that of the fit without the correction, because the audit of a fold failed."
    before, after = plain.results[0], corrected.results[0]
    name, old, new = "covering rate", before.covering_rate, after.covering_rate
    if before.accuracy is not None and after.accuracy is not None:
        name, old, new = "accuracy", before.accuracy, after.accuracy
    sentence = (
        f"the held-out estimate is that of the corrected fit: its {name} is {100 * new:.1f} %, and {100 * old:.1f} % "
        "without the correction."
    )
    if new < old - MIN_LOSS:
        sentence += " The correction does not help on these rows: leave out --noise-rate, or check some suspected rows."
    return sentence
