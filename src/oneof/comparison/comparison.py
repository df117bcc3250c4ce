"""Comparison of methods without true labels."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from oneof.comparison.folds import Progress, check_task, make_folds, try_fit_and_score
from oneof.comparison.methods import resolve_methods
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
    """Cross-validate methods on the same folds and select one without using true labels.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Passed to the estimators unchanged, by rows, so a pipeline may begin with the encoder of a table.
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` accepts.
    methods : "auto", a list of names, or a dict of estimators by name, default="auto"
        "auto" is all `default_estimators` but `PLGP`, which takes minutes while the others take seconds. With more
        than 5,000 features it also excludes `GraphLogisticRegression`, whose time grows with the cube of their number.
        Names select from all default estimators. Estimators are cloned; the originals are not fitted.
    cv : int, splitter or iterable of (train, test), default=5
        The number of folds of a `CandidateKFold`, or another way to split.
    truth : array-like of shape (n_samples,), optional
        True labels, with missing values for unknown ones. They are used for the column `accuracy` only.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of the default estimators.
    progress : callable, optional
        ``progress(done, total, name)`` is called after every fold, in order.
    n_jobs : int, optional
        The number of folds fitted in parallel (joblib). Parallel fits distort each other's fit times.

    Returns
    -------
    Comparison
        The table, best method first; ``print`` shows it. Methods that raised in a fold are last, with their error.

    Raises
    ------
    InputError
        If X, y and truth differ in length, if a name is not a default estimator, if every method fails, or if the
        default estimators are requested and X is not a table of features (for example, texts).

    Notes
    -----
    The best method has the highest mean covering rate over the folds; ties are broken by the order of `methods`.
    The covering rate needs no true label and is an upper bound of the accuracy, but the gap is not bounded. If the
    same distractors recur, a method biased toward them covers more rows than it predicts correctly. Small differences
    are weak evidence; true labels of a few hundred rows are stronger evidence than any covering rate.

    On 33 tasks (three real, the others with random, confusable or cooccurring distractors) this rule lost 0.009 of
    accuracy on average compared with selection by the truth. A random method lost 0.041. Selecting the highest
    approximated accuracy among the methods within one standard error of the best lost 0.011. Selection by approximated
    accuracy alone lost 0.015, since it favors overconfident methods. The worst cases are two of the real sets, msrcv2
    and birdsong, with a loss of 0.07 (``benchmarks/choosing.py``).
    The rule was selected with knowledge of accuracies on such tasks, so these figures are optimistic.

    Examples
    --------
    >>> from oneof import AvgPerceptron, MaxPerceptron, compare
    >>> X = [[2.0, 0.1], [1.9, 0.2], [2.1, 0.0], [0.2, 2.0], [0.1, 1.8], [0.0, 2.2]]
    >>> y = [["finch"], ["finch", "wren"], ["finch", "owl"], ["owl"], ["owl", "wren"], ["owl"]]
    >>> comparison = compare(X, y, {"average": AvgPerceptron(), "maximum": MaxPerceptron()}, cv=2)
    >>> comparison.best_method
    'average'
    >>> comparison.best_estimator.fit(X, y).predict([[1.0, 0.0]]).tolist()
    ['finch']
    """
    check_n_jobs(n_jobs)
    task = check_task(X, y, truth)
    splits = make_folds(task, cv, random_state)
    if not splits:
        raise InputError(
            "`cv` must yield at least one fold; got none. Pass a number of folds or a splitter "
            "(a generator yields its folds once)."
        )
    estimators = resolve_methods(methods, task, random_state)
    jobs = [(name, train, test) for name in estimators for train, test in splits]
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(try_fit_and_score)(estimators[name], task, train, test) for name, train, test in jobs
    )
    folds: dict[str, list[FoldResult]] = {name: [] for name in estimators}
    for done, ((name, _, _), outcome) in enumerate(zip(jobs, outcomes, strict=True), start=1):
        folds[name].append(outcome)
        if progress is not None:
            progress(done, len(jobs), name)
    results = _ranked([summarize(name, tuple(outcome)) for name, outcome in folds.items()])
    if results[0].error is not None:
        raise InputError(f"every method failed; {results[0].method} raised {results[0].error}")
    return Comparison(tuple(results), results[0].method, len(splits), *task.candidates.shape, estimators)


def _ranked(results: list[MethodResult]) -> list[MethodResult]:
    """Sort the methods by the rule of `compare`, failed methods last; the sort is stable."""
    # Means of the same rates in another order differ by rounding, which must not affect the ranking.
    return sorted(results, key=lambda r: (1, 0.0) if r.error is not None else (0, -round(r.covering_rate, 12)))
