"""Comparison of methods without true labels."""

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from oneof.candidates import CandidateSets
from oneof.comparison import folds as fold_module
from oneof.comparison.baseline import measure_baseline
from oneof.comparison.class_weights import check_class_weights, fit_with_class_weights
from oneof.comparison.cost import Schedule, estimate_costs
from oneof.comparison.few_labels import (
    FEW_LABELS,
    keep_classes_in_training,
    number_of_folds,
    sample_unlabeled_rows,
)
from oneof.comparison.folds import Progress, Task, check_task, count_groups, make_folds, try_fit_and_score
from oneof.comparison.methods import DEFAULT_METHOD, resolve_methods
from oneof.comparison.results import FoldResult, MethodResult, summarize
from oneof.comparison.scoring import held_out_predictions, score_held_out
from oneof.comparison.tables import Comparison, log_method
from oneof.comparison.training_rows import Correction, TrainingSets, correct_rows, has_shared_step, share_features
from oneof.errors import InputError
from oneof.estimators.base import last_step
from oneof.model_selection import unlabeled_rows_by_fold
from oneof.parallel import single_threaded_blas
from oneof.typing import Ints
from oneof.validation import check_bool, check_choice, check_n_jobs, check_positive, check_random_state


def compare(
    X: Any,
    y: Any,
    methods: str | Sequence[Any] | Mapping[str, Any] = "auto",
    *,
    cv: Any = "auto",
    groups: Any = None,
    truth: Any = None,
    class_weight: Any = None,
    correct: Correction | None = None,
    budget: float | None = None,
    time_limit: float | None = None,
    refit: bool = True,
    keep_predictions: bool | Literal["labeled"] = False,
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
        The candidate sets, in any form that `fit` accepts, with or without weights.
    methods : "auto", "few_labels", a list of names and estimators, or a dict of estimators by name, default="auto"
        "auto" is all `default_estimators` except `PLGP` and `CandidateEM`, which take minutes while the others take
        seconds. With more than 5,000 features it also excludes `GraphLogisticRegression`, whose time grows with the
        cube of their number.
        "few_labels" is for about 10 to 100 labeled rows among many unlabeled ones: the graph methods `HarmonicField`,
        `LocalGlobalConsistency`, `MarkovWalk` and `SpectralGraphTransducer`, `TransductiveSVM`, `GaussianEM`,
        `MultinomialEM` and `LOORidge`. The choice then depends on the unlabeled rows too, see Notes. Sparse rows are
        not scaled; pass TF-IDF.
        Names select from all default estimators. An estimator in a list has the name of its class, that of the last
        step for a pipeline. Estimators are cloned; the originals are not fitted.
    cv : "auto", int, splitter or iterable of (train, test), default="auto"
        The number of folds of a `CandidateKFold`, or another way to split. 1 is a single split that holds out a fifth
        of the labeled rows, at most 10,000. It trains on the other rows, or on a random sample of 100,000 of them. If
        few rows have a truth, at most half as many as are held out, all of them are held out too, except with `groups`.
        "auto" is 5 folds for up to 2,000 labeled rows, and 1 for more; for "few_labels" it is at most one fold for
        each labeled row. A row may be tested by several folds, for example with ``RepeatedKFold``; all count in the
        rates. For repeated stratified folds, pass ``[split for seed in range(5) for split in CandidateKFold(5,
        random_state=seed).split(X, y)]``.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient or a recording. No group is in the training and in the test subset of a
        fold, so that the rates are those of new groups. An integer is the number of folds of a `CandidateGroupKFold`,
        and "auto" at most the number of groups; with fewer than 100 groups it is never one split.
    truth : array-like of shape (n_samples,), optional
        True labels, with missing values for unknown ones. They are used for the column `accuracy` only.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in every fit, as in `oneof.model_selection.compute_sample_weight`. The scores have none.
        "auto" is then the methods with weights of rows or classes; another method without them is an error.
    correct : callable, optional
        ``correct(rows)`` returns the candidate sets to which the methods are fitted, in place of those of the training
        rows `rows` (indices) of a fold, also of unlabeled ones. It is called once for each fold, and for all rows
        before the final fit, in this process; its time counts for the budget alone. Test rows keep their sets. A
        correction that also uses the labels of the test rows makes their rates too high: see Examples for an audit of
        the training rows alone. There is no baseline, which would imitate the errors of the labels.
    budget : float, optional
        Minutes for all methods together, without the final fit. The cheapest methods are fitted first, and methods
        that do not fit into the remaining time are left out.
    time_limit : float, optional
        Seconds for the folds of each method.
    refit : bool, default=True
        Whether to fit the best estimator on all rows.
    keep_predictions : bool or "labeled", default=False
        Whether the result has the held-out predictions and probabilities of each method: `MethodResult.predictions`
        and `MethodResult.probabilities` of the rows `Comparison.held_out_rows`. Unlabeled rows are then predicted too,
        each by one fold, and do not affect any score. "labeled" leaves them out. Of a row that several folds test, the
        last prediction is kept.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds, of the default estimators and of the samples for the estimates of time.
    progress : callable, optional
        ``progress(n_done, n_total, name, seconds_left)`` is called after every fold, in order. It is also called before
        each phase, whose name is then "features", "time of" and the method (with a budget or a time limit), "fitting"
        and the method (one job), "simple baseline", or the method "on all rows". The time left is None if unknown.
        Without it, ``logging.basicConfig(level="INFO")`` prints a line for each method (logger "oneof").
    n_jobs : int, optional
        The number of folds fitted in parallel (joblib), each with one BLAS thread. Parallel fits distort each other's
        fit times.

    Returns
    -------
    Comparison
        The table, best method first; ``print`` shows it. Methods that raised in a fold are last, with their error.

    Raises
    ------
    InputError
        If X, y, groups and truth differ in length, if a group is in both subsets of a fold, if class weights are given
        and a method has none, if a name is not a default estimator, if every method fails or is left out, or if the
        default estimators are requested and X is not a table of features (for example, texts).

    Notes
    -----
    With a budget or a time limit, the time of each method is estimated from fits on samples of doubling size, if there
    are at least 1,000 training rows. The time is assumed to grow as a power of the number of rows, with an exponent
    from the last two samples between 1 and 3. Online and linear methods come first. The samples end after a quarter of
    the budget; a method without an estimate is then left out, since a running fit is not interrupted. A method may
    therefore exceed its limit by one fold; it is stopped before the next one. Methods with missing folds are in the
    table with the reason, and are never the best method. The baseline below is omitted if the budget is used.

    If all methods are pipelines that begin with the same object, such as one vectorizer, and the rows are split once,
    the object is fitted once. The fit times are then those of the other steps.

    Ctrl-C (KeyboardInterrupt) ends the comparison. If a method has all its folds, the result has all folds finished so
    far. The best of these methods is then fitted unless ``refit=False``; a second Ctrl-C ends this fit as well.
    Otherwise KeyboardInterrupt is raised, with a sentence that names the interrupted step.

    The best method has the highest expected accuracy; equal ones are in the order of `methods`. The default method,
    LOORidge, is preferred if it is compared and within one standard error of the highest. The expected accuracy is the
    mean probability of the held-out predictions under a posterior of the labels,

        q_ik  ~  w_ik p_ik prod_{j != k} C_kj^w_ij (1 - C_kj)^(1 - w_ij),

    where w is 1 for the candidates of a set and 0 for other classes, p is the mean of the calibrated held-out
    probabilities of the five leading methods, and C_kj the rate of class j as a distractor of label k, estimated from
    q. Over the held-out rows of all folds, it is the accuracy if all rows are exact, and at most the covering rate if
    no row has weights. The covering rate, the former criterion, is biased if the same distractors recur: a method that
    predicts them covers more rows than it predicts correctly.

    The posterior assumes that distractors depend on the label alone. Lists of a weak classifier or of rules violate
    this: a method that imitates them has the highest rates, and makes the same errors. `distractor_odds_ratio`
    compares the rate of the second most probable class in the sets with C; 1 means no dependence. If it is above 10,
    LOORidge is preferred whatever its expected accuracy, since it was the best method on most tasks. If all rows are
    exact, no method is preferred.

    The rule was compared with selection by the truth on 53 tasks, 11 of them with published sets. It lost 0.007 of
    accuracy on average, and at worst 0.067. Selection by the covering rate lost 0.011, LOORidge without a comparison
    0.009, and a random method 0.12 (``python -m benchmarks accuracy choosing``). The rule was developed with the
    accuracies of half of these tasks in sight; on the other half it lost 0.008.
    Small differences are weak evidence; true labels of a few hundred rows are stronger evidence than any criterion
    without them.

    With ``methods="few_labels"`` there are too few labeled rows to rank methods, and many methods have equal rates. The
    expected accuracy is then (n s + 10 a) / (n + 10), where n is the number of labeled rows, s the expected accuracy
    above, and a the mean fraction of the votes of the other methods that the held-out predictions of unlabeled rows
    get (of all of them with ``keep_predictions=True``, otherwise of at most 10,000). The votes of a method are its
    log-odds of a correct prediction, from s. No method is preferred. An exact row whose class has no other label is
    always a training row, except with `groups`; if this leaves no row to hold out, a alone decides. On a benchmark that
    was not used for its development, the rule was slightly better than the best single method,
    `SpectralGraphTransducer`, with 100 labels, and worse than it with 10: methods that give nearly all rows one class
    agree with each other. Check the class sizes.

    The best method is compared with a simple baseline on the same folds: ridge regression on the labels of largest
    weight of at most 5,000 training rows, with the features of the last step of its pipeline. If the baseline predicts
    such a label in more of the held-out rows, by three points and two standard errors, the result has a warning. A
    method that has not converged or does not suit the data is often recognized in this way. Without weights, a baseline
    that imitates recurring distractors may be higher without being better. Features that are not finite numbers, or of
    more than 20,000 columns, have no baseline.

    Examples
    --------
    >>> from oneof import AvgPerceptron, MaxPerceptron, compare
    >>> X = [[2.0, 0.1], [1.9, 0.2], [2.1, 0.0], [0.2, 2.0], [0.1, 1.8], [0.0, 2.2]]
    >>> y = [["finch"], ["finch", "wren"], ["finch", "owl"], ["owl"], ["owl", "wren"], ["owl"]]
    >>> comparison = compare(X, y, {"average": AvgPerceptron(), "maximum": MaxPerceptron()}, cv=2)
    >>> comparison.best_method
    'average'
    >>> comparison.best_estimator.predict([[1.0, 0.0]]).tolist()
    ['finch']

    The rates of a fit to labels that an audit of the training rows has corrected:

    >>> import numpy as np
    >>> from oneof import CandidateSets
    >>> from oneof.audit import find_label_issues
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0.0], [4.0]], 30, axis=0) + rng.normal(size=(60, 2))
    >>> labels = np.repeat(["finch", "owl"], 30)
    >>> labels[:3] = "owl"
    >>> y = CandidateSets.from_labels(labels)
    >>> comparison = compare(
    ...     X, y, ["LOORidge"], correct=lambda rows: find_label_issues(X[rows], y[rows]).corrected()
    ... )
    >>> comparison.results[0].covering_rate
    0.95
    """
    check_n_jobs(n_jobs)
    check_bool("refit", refit)
    if isinstance(keep_predictions, str):
        check_choice("keep_predictions", keep_predictions, ("labeled",), ", True or False")
    else:
        check_bool("keep_predictions", keep_predictions)
    for name, limit in (("budget", budget), ("time_limit", time_limit)):
        if limit is not None:
            check_positive(name, limit, alternatives=" or None")
    task = check_task(X, y, truth, class_weight)
    if correct is not None and not callable(correct):
        raise InputError(f"`correct` must be a function of the training rows, or None; got {correct!r}.")
    few_labels = isinstance(methods, str) and methods == FEW_LABELS
    if few_labels and groups is None and isinstance(cv, str) and cv == "auto":
        cv = number_of_folds(task.candidates)
    splits = make_folds(task, cv, random_state, groups)
    if few_labels and groups is None:
        splits = keep_classes_in_training(task.candidates, splits)
    estimators = resolve_methods(methods, task, random_state)
    if class_weight is not None:
        check_class_weights(class_weight, estimators, task.candidates)
    limit = math.inf if time_limit is None else float(time_limit)
    seconds = math.inf if budget is None else 60 * float(budget)
    end = fold_module.clock() + seconds
    keeps_unlabeled = bool(keep_predictions) and not isinstance(keep_predictions, str)
    further = [np.empty(0, dtype=np.int64)] * len(splits)
    if keeps_unlabeled:
        further = unlabeled_rows_by_fold(task.candidates, splits)
    elif few_labels:
        further = sample_unlabeled_rows(task.candidates, splits, check_random_state(random_state))
    parts = [(*split, rows) for split, rows in zip(splits, further, strict=True)]
    fitted, fitted_task, fitted_parts = estimators, task, parts
    if len(splits) == 1 and correct is None and has_shared_step(estimators):
        if progress is not None:
            progress(0, len(estimators), "features", None)
        shared = share_features(estimators, task, parts[0])
        if shared is not None:
            fitted, fitted_task, fitted_parts = shared.estimators, shared.task, shared.parts
    costs = dict.fromkeys(estimators, math.nan)
    if budget is not None or time_limit is not None:
        left = max(end - fold_module.clock(), 0.0)
        timed_splits = [part[:2] for part in fitted_parts]
        costs = estimate_costs(fitted, fitted_task, timed_splits, left, limit, random_state, progress)
    schedule = Schedule(costs, len(splits), effective_n_jobs(n_jobs), end=end, time_limit=limit)
    sets = TrainingSets(task.candidates, [np.arange(len(task.candidates))[train] for train, _ in splits], correct)
    folds, is_interrupted = _fit_folds(fitted, fitted_task, fitted_parts, sets, schedule, n_jobs, progress)
    scores = score_held_out(task, parts, folds, few_labels=few_labels)
    results, held_out_rows = [], None
    if keep_predictions:
        tested_rows = np.concatenate([rows for _, *tested in parts for rows in tested[: 1 + keeps_unlabeled]])
        held_out_rows = np.unique(tested_rows)
    for name, outcome in folds.items():
        incomplete = schedule.reasons.get(name)
        if incomplete is None and len(outcome) < len(splits):
            incomplete = f"interrupted after {len(outcome)} of {len(splits)} folds" if outcome else "interrupted"
        estimated = None if not math.isfinite(costs[name]) else costs[name] * len(splits)
        result = summarize(name, tuple(outcome), incomplete=incomplete, estimated_seconds=estimated)
        result = replace(result, expected_accuracy=scores.expected_accuracy.get(name))
        if held_out_rows is not None:
            result = replace(result, **held_out_predictions(outcome, parts, held_out_rows, task.candidates))
        results.append(result)
    preferred = frozenset() if few_labels else scores.tied & _default_methods(estimators)
    results = _sorted(results, preferred, schedule.over_time_limit)
    baseline = None
    if correct is None and fold_module.clock() < end:
        if progress is not None:
            progress(schedule.n_done, schedule.n_total, "simple baseline", None)
        first = results[0].method
        baseline = measure_baseline(task, splits, folds[first], estimators[first], random_state)
    best = clone(estimators[results[0].method])
    if refit:
        if progress is not None:
            progress(schedule.n_done, schedule.n_total, f"{results[0].method} on all rows", None)
        all_rows = np.arange(len(task.candidates))
        all_sets = task.candidates if correct is None else correct_rows(correct, all_rows, task.candidates)
        fit_with_class_weights(best, task.X, all_sets, class_weight)
    n_rows, is_labeled = len(task.candidates), ~task.candidates.is_unlabeled
    is_true = np.zeros(n_rows, dtype=bool) if task.truth is None else task.truth.is_exact
    all_times = np.bincount(np.concatenate([np.arange(n_rows)[test] for _, test in splits]), minlength=n_rows)
    times = all_times[(all_times > 0) & (is_labeled | is_true)]
    return Comparison(
        tuple(results),
        results[0].method,
        len(splits),
        *task.candidates.shape,
        round(sum(len(train) for train, _ in splits) / len(splits)),
        len(times),
        is_interrupted,
        best,
        estimators,
        scores.odds_ratio,
        task.candidates.classes,
        held_out_rows,
        math.nan if baseline is None else baseline.rate,
        "" if baseline is None else baseline.warning(results[0].method),
        None if groups is None else count_groups(groups, task.candidates),
        (int(times.min()), int(times.max())) if len(times) else (1, 1),
        int((is_true & ~is_labeled & (all_times == 0)).sum()),
    )


def _fit_folds(
    estimators: Mapping[str, Any],
    task: Task,
    parts: Sequence[tuple[Ints, Ints, Ints]],
    sets: TrainingSets,
    schedule: Schedule,
    n_jobs: int | None,
    progress: Progress | None,
) -> tuple[dict[str, list[FoldResult]], bool]:
    """Fit the folds that the schedule requests; return the finished ones, and whether Ctrl-C ended the loop."""
    is_parallel = effective_n_jobs(n_jobs) > 1
    folds: dict[str, list[FoldResult]] = {name: [] for name in estimators}
    # The next fit is requested when a worker is free, so that the schedule has all times measured so far.
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="n_jobs", batch_size=1)(
        delayed(_run_fold)(estimators[name], task, *parts[fold], sets(fold), is_parallel)
        for name, fold in _announced(schedule, None if is_parallel else progress)
    )
    try:
        for outcome in outcomes:
            name = schedule.record(outcome.seconds)
            folds[name].append(outcome)
            if progress is not None:
                progress(schedule.n_done, schedule.n_total, name, schedule.seconds_left())
            if len(folds[name]) == len(parts):
                log_method(summarize(name, tuple(folds[name])), schedule.n_done, schedule.n_total)
    except KeyboardInterrupt as interrupt:
        # A subclass is a request to end the process, such as SIGTERM.
        is_complete = any(len(results) == len(parts) and not _has_failed(results) for results in folds.values())
        if type(interrupt) is not KeyboardInterrupt:
            raise
        if not is_complete:
            raise KeyboardInterrupt("interrupted before a method was compared on all folds.") from None
        return folds, True
    return folds, False


def _announced(schedule: Schedule, progress: Progress | None) -> Iterator[tuple[str, int]]:
    """Yield the folds of a schedule; the progress gets the name of each method before its first fit."""
    for name, fold in schedule.jobs():
        if progress is not None and not fold:
            progress(schedule.n_done, schedule.n_total, f"fitting {name}", schedule.seconds_left())
        yield name, fold


def _run_fold(
    estimator: Any, task: Task, train: Ints, test: Ints, further: Ints, sets: CandidateSets | None, is_parallel: bool
) -> FoldResult:
    """Fit and score one fold, in parallel with others or not."""
    with single_threaded_blas() if is_parallel else contextlib.nullcontext():
        return try_fit_and_score(estimator, task, train, test, further, sets)


def _has_failed(folds: Sequence[FoldResult]) -> bool:
    return any(fold.error is not None for fold in folds)


def _default_methods(estimators: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the estimators of the default method."""
    return frozenset(name for name, model in estimators.items() if type(last_step(model)).__name__ == DEFAULT_METHOD)


def _sorted(results: Sequence[MethodResult], preferred: Collection[str], slow: Collection[str]) -> list[MethodResult]:
    """Return the ranked methods, then those with missing folds, then the failed ones; raise if none is ranked."""
    failed = [result for result in results if result.error is not None]
    incomplete = [result for result in results if result.error is None and result.incomplete is not None]
    ranked = _ranked([result for result in results if result.error is None and result.incomplete is None], preferred)
    if not ranked and incomplete:
        first = min(incomplete, key=lambda result: (-len(result.folds), result.estimated_seconds or math.inf))
        limit = "`time_limit`" if first.method in slow else "`budget`"  # slow: over the time limit
        raise InputError(
            f"no method has finished; {first.method}: {first.incomplete}. Raise {limit}, use one fold or fewer rows, "
            "or compare one method without a limit."
        )
    if not ranked:
        raise InputError(f"every method failed; {failed[0].method} raised {failed[0].error}")
    return [*ranked, *sorted(incomplete, key=lambda result: -len(result.folds)), *failed]


def _ranked(results: list[MethodResult], preferred: Collection[str]) -> list[MethodResult]:
    """Sort the methods by the rule of `compare`: preferred ones first; the sort is stable."""
    # Equal rates that were computed in another order differ by rounding, which must not affect the ranking.
    return sorted(results, key=lambda r: (r.method not in preferred, -round(r.expected_accuracy or 0.0, 12)))
