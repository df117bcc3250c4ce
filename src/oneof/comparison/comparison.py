"""Comparing methods where no true label is known."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from oneof.comparison.folds import Progress, attempt, folds_of, read_task
from oneof.comparison.methods import choose
from oneof.comparison.results import Comparison, FoldResult, MethodResult, summarize
from oneof.errors import InputError
from oneof.validation import check_n_jobs


def compare(
    X: Any,
    y: Any,
    methods: str | Sequence[str] | Mapping[str, Any] = "auto",
    *,
    cv: Any = 5,
    truth: Any = None,
    random_state: Any = 0,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Score methods under the same folds, and choose one without looking at a true label.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Handed to the estimators as it is, by rows; so pipelines that begin with the encoding of a table are welcome.
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    methods : "auto", a list of names, or a dict of estimators by name, default="auto"
        "auto" is the `panel` without `PLGP`, which takes minutes where the others take seconds, and, of more than 5,000
        features, without `GraphLogisticRegression`, whose time grows with their cube; names choose from the whole
        panel. Estimators are cloned, never fitted themselves.
    cv : int, splitter or iterable of (train, test), default=5
        The number of folds of a `CandidateKFold`, or another way to split.
    truth : array-like of shape (n_samples,), optional
        True labels, missing where not known. They fill the column `accuracy` and nothing else.
    random_state : int, RandomState instance or None, default=0
        For the folds and the panel.
    progress : callable, optional
        ``progress(done, total, name)`` is called after every fold, in order.
    n_jobs : int, optional
        How many folds to fit at once (joblib); fit times then disturb each other.

    Returns
    -------
    Comparison
        The table, best method first; ``print`` shows it. A method that raised in some fold stands last with its error.

    Raises
    ------
    InputError
        If X, y and truth differ in length, a name is not in the panel, every method failed, or the panel is asked for
        and X is no table of features, as texts are not.

    Notes
    -----
    The winner has the highest mean covering rate over the folds; among equals it is the method that was named first.
    The covering rate needs no true label and bounds the accuracy from above, but by no fixed distance: where the same
    labels are candidates again and again, a method that leans toward them covers more than it gets right. Trust small
    differences little, and a truth for a few hundred rows more than any of this.

    On 33 tasks (three real, the others with labels added at random, by confusion or by frequency) this rule gave away
    0.009 of accuracy on average against choosing with the truth, and a method at random 0.041. Taking, among the
    methods within one standard error of the best, the highest approximated accuracy gave away 0.011, and the
    approximated accuracy alone 0.015, since it favors methods that are sure of themselves. Its worst cases are two of
    the real sets, msrcv2 and birdsong, where it gave away 0.07 (``python -m benchmarks accuracy choosing``).
    The rule was preferred to the others with accuracies on such tasks in sight, so these figures flatter it.

    Examples
    --------
    >>> from oneof import AvgPerceptron, MaxPerceptron, compare
    >>> X = [[2.0, 0.1], [1.9, 0.2], [2.1, 0.0], [0.2, 2.0], [0.1, 1.8], [0.0, 2.2]]
    >>> y = [["finch"], ["finch", "wren"], ["finch", "owl"], ["owl"], ["owl", "wren"], ["owl"]]
    >>> comparison = compare(X, y, {"average": AvgPerceptron(), "maximum": MaxPerceptron()}, cv=2)
    >>> comparison.winner
    'average'
    >>> comparison.best_estimator.fit(X, y).predict([[1.0, 0.0]]).tolist()
    ['finch']
    """
    check_n_jobs(n_jobs)
    task = read_task(X, y, truth)
    splits = folds_of(task, cv, random_state)
    if not splits:
        raise InputError("cv gives no fold: give a number of folds or a splitter (a generator yields its folds once).")
    estimators = choose(methods, task, random_state)
    jobs = [(name, train, test) for name in estimators for train, test in splits]
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(attempt)(estimators[name], task, train, test) for name, train, test in jobs
    )
    folds: dict[str, list[FoldResult]] = {name: [] for name in estimators}
    for done, ((name, _, _), outcome) in enumerate(zip(jobs, outcomes, strict=True), start=1):
        folds[name].append(outcome)
        if progress is not None:
            progress(done, len(jobs), name)
    results = _ranked([summarize(name, tuple(outcome)) for name, outcome in folds.items()])
    if results[0].error is not None:
        raise InputError(f"every method failed; {results[0].method} said: {results[0].error}")
    return Comparison(tuple(results), results[0].method, len(splits), *task.candidates.shape, estimators)


def _ranked(results: list[MethodResult]) -> list[MethodResult]:
    """Sort by the rule that `compare` states; sorting is stable, and what failed comes last."""
    # Means of the same rates in another order differ by rounding, which must not decide.
    return sorted(results, key=lambda r: (1, 0.0) if r.error is not None else (0, -round(r.covering_rate, 12)))
