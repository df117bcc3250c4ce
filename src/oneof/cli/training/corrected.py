"""Held-out rates of a method that is fitted to corrected weights.

In each fold, the audit has the training rows alone: weights that were corrected with the labels of the test rows would
help to predict them, and the rates would be too high.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneof.cli.output.progress import Progress

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.comparison import Comparison
    from oneof.comparison.folds import Task
    from oneof.typing import Ints

MIN_LOSS = 0.01
"""Difference of the rates from which a fit to corrected weights is reported as worse."""


@dataclass
class Audit:
    """Audit of some rows of a table by a method, called with the rows; it returns their corrected sets."""

    prepared: "PreparedTable"
    method: str
    noise_rate: float | None
    seed: int

    def __call__(self, rows: "Ints") -> "CandidateSets":
        """Return the corrected sets of some rows."""
        import warnings

        from oneof.cli.auditing.issues import find_issues
        from oneof.cli.tables.first_labels import excluded_rows

        excluded, candidates = excluded_rows(self.prepared), self.prepared.candidates[rows]
        if excluded is not None and (excluded[rows] | candidates.is_unlabeled).all():
            return candidates  # the few rows that are not checked are held out
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a fold; those of all rows are given elsewhere
            return find_issues(self.prepared, self.method, seed=self.seed, noise_rate=self.noise_rate, rows=rows)[
                1
            ].corrected()


def compare_corrected(
    comparison: "Comparison",
    task: "Task",
    splits: Sequence[Any],
    audit: Audit,
    *,
    progress: Progress | None = None,
) -> "tuple[Comparison, str]":
    """Return the comparison with the result of the best method fitted to corrected weights in its place, and a note.

    The test rows are compared with their labels as they are. If the audit or the fit fails in a fold, such as one
    without some class, or is interrupted by Ctrl-C, the comparison is returned as it was; the note has the reason.
    """
    from oneof.comparison import compare

    try:
        corrected = compare(
            task.X,
            task.candidates,
            {comparison.best_method: comparison.best_estimator},
            cv=splits,
            groups=audit.prepared.groups,
            truth=audit.prepared.truth,
            class_weight=task.class_weight,
            random_state=audit.seed,
            correct=audit,
            refit=False,
            keep_predictions="labeled",
            progress=progress,
        )
    except KeyboardInterrupt as interrupt:
        if type(interrupt) is not KeyboardInterrupt:  # a request to end the process, such as SIGTERM
            raise
        reason = "it was interrupted. A second Ctrl-C ends without a model"
    except Exception as error:  # as for the methods of a comparison, an error of a fold must not stop the fit
        reason = f"the audit or the fit of a fold failed ({type(error).__name__}: {str(error).rstrip('.')})"
    else:
        # Its expected accuracy, by which it was chosen among several methods, is that of the labels as they are.
        first = replace(corrected.results[0], expected_accuracy=comparison.results[0].expected_accuracy)
        result = replace(comparison, results=(first, *comparison.results[1:]))
        return result, _describe_change(comparison, result)
    return comparison, f"the held-out estimate is that of the fit without the correction, because {reason}."


def _describe_change(plain: "Comparison", corrected: "Comparison") -> str:
    """Return the rates of the held-out rows with and without the correction in a note."""
    before, after = plain.results[0], corrected.results[0]
    name, old, new = "covering rate", before.covering_rate, after.covering_rate
    if before.accuracy is not None and after.accuracy is not None:
        name, old, new = "accuracy", before.accuracy, after.accuracy
    worse = "The correction does not help on these rows: leave out --noise-rate, or check some suspected rows. "
    others = "The other methods, and the learning curve, are" if len(plain.results) > 1 else "The learning curve is"
    return (
        f"the held-out estimate is that of the corrected fit: its {name} is {100 * new:.1f} %, and {100 * old:.1f} % "
        f"without the correction. {worse * (new < old - MIN_LOSS)}{others} without the correction."
    )
