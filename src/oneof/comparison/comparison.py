"""Comparison of methods without true labels."""

import contextlib
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
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
from oneof.comparison.criterion import expected_accuracies
from oneof.comparison.fitting import try_fit_and_score
from oneof.comparison.folds import Progress, Task, check_task, count_groups, make_folds
from oneof.comparison.methods import fastest_first, resolve_methods
from oneof.comparison.results import FoldResult, MethodResult, summarize
from oneof.comparison.schedule import Schedule
from oneof.comparison.tables import Comparison, log_method
from oneof.comparison.training_rows import Correction, Split, Work, correct_rows, has_shared_step, share_features
from oneof.errors import InputError
from oneof.model_selection import unlabeled_rows_by_fold
from oneof.parallel import single_threaded_blas
from oneof.typing import Ints
from oneof.validation import check_bool, check_choice, check_n_jobs, check_positive


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
    methods : "auto", a list of names and estimators, or a dict of estimators by name, default="auto"
        "auto" is all `default_estimators` except `PLGP` and `CandidateEM`, which take minutes while the others take
        seconds. With more than 5,000 features it also excludes `GraphLogisticRegression`, whose time grows with the
        cube of their number.
        Names select from all default estimators. An estimator in a list has the name of its class, that of the last
        step for a pipeline. Estimators are cloned; the originals are not fitted.
    cv : "auto", int, splitter or iterable of (train, test), default="auto"
        The number of folds of a `CandidateKFold`, or another way to split. 1 is a single split that holds out a fifth
        of the labeled rows, at most 10,000. It trains on the other rows, or on a random sample of 100,000 of them. If
        few rows have a truth, at most half as many as are held out, all of them are held out too, except with `groups`.
        "auto" is 5 folds for up to 2,000 labeled rows, and 1 for more. A row may be tested by several folds, for
        example with ``RepeatedKFold``; all count in the rates. For repeated stratified folds, pass ``[split for seed in
        range(5) for split in CandidateKFold(5, random_state=seed).split(X, y)]``.
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
        Minutes for all methods together, without the final fit. Online and linear methods are then fitted first, and
        no fit begins after the time is over.
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
        Seed of the folds and of the default estimators.
    progress : callable, optional
        ``progress(n_done, n_total, name, seconds_left)`` is called after every fold, in order. It is also called before
        each phase, whose name is then "features", "fitting" and the method (one job), "simple baseline", or the method
        "on all rows". The time left is None before the first fold is finished.
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
    Limits are checked before each fit; a running fit is not interrupted. A method is stopped if its next fold, at the
    mean time of its finished folds, would exceed a limit. Methods with missing folds are in the table with the reason,
    and are never the best method. The baseline below is omitted if the budget is used.

    If all methods are pipelines that begin with the same object, such as one vectorizer, and the rows are split once,
    the object is fitted once. The fit times are then those of the other steps.

    Ctrl-C (KeyboardInterrupt) ends the comparison. If a method has all its folds, the result has all folds finished so
    far. The best of these methods is then fitted unless ``refit=False``; a second Ctrl-C ends this fit as well.
    Otherwise KeyboardInterrupt is raised, with a sentence that names the interrupted step.

    The best method has the highest expected accuracy; equal ones are in the order of `methods`. The expected accuracy
    is the mean probability of the held-out predictions, given the sets, in the mixture of all methods for which the
    sets are most likely,

        q_ik  ~  w_ik ((1 - c_k) / c_k)^w_ik sum_m v_m p_mik,

    where w is 1 for the candidates of a set and 0 for other classes, p_m are the held-out probabilities of method m,
    raised to a fitted power, v its weight, and c_k the rate of class k as a distractor. Over the held-out rows of all
    folds, it is the accuracy if all rows are exact, and at most the covering rate if no row has weights. The covering
    rate is biased if the same distractors recur: a method that predicts them covers more rows than it predicts
    correctly.

    The mixture assumes that distractors do not depend on the features. Lists of a weak classifier or of rules violate
    this: a method that imitates them has the highest rates, and makes the same errors.

    On 53 tasks, 11 of them with published sets, the rule lost 0.005 of accuracy on average compared with the choice
    among 15 methods by true labels, and at worst 0.048; LOORidge without a comparison lost 0.010. The rule was chosen
    on half of these tasks; on the other half it lost 0.004 (``python -m benchmarks accuracy choosing``). Small
    differences are weak evidence; true labels of a few hundred rows are stronger evidence than any criterion without
    them.

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
    _check_options(refit, keep_predictions, budget, time_limit, correct, n_jobs)
    task = check_task(X, y, truth, class_weight)
    splits = make_folds(task, cv, random_state, groups)
    estimators = resolve_methods(methods, task, random_state)
    check_class_weights(class_weight, estimators, task.candidates)
    progress = progress or _no_progress
    work = _add_predicted_rows(Work(estimators, task, splits), keep_predictions)
    schedule = _make_schedule(work, budget, time_limit, n_jobs)
    fitted = work
    if correct is None and has_shared_step(work):
        progress(0, len(estimators), "features", None)
        fitted = share_features(work)

    @functools.cache
    def training_sets(fold: int) -> CandidateSets | None:
        return None if correct is None else correct_rows(correct, splits[fold][0], task.candidates)

    folds, is_interrupted = _fit_folds(fitted, training_sets, schedule, n_jobs, progress)
    results = _rank(_measure(work, folds, schedule.reasons, keep_predictions=bool(keep_predictions)), schedule)
    best = results[0].method
    baseline = math.nan, ""
    if correct is None and not schedule.is_over():
        progress(schedule.n_done, schedule.n_total, "simple baseline", None)
        baseline = measure_baseline(task, splits, folds[best], (best, estimators[best]), random_state)
    model = clone(estimators[best])
    if refit:
        progress(schedule.n_done, schedule.n_total, f"{best} on all rows", None)
        rows = np.arange(len(task.candidates))
        sets = task.candidates if correct is None else correct_rows(correct, rows, task.candidates)
        fit_with_class_weights(model, task.X, sets, class_weight)
    return Comparison(
        tuple(results),
        best,
        len(splits),
        *task.candidates.shape,
        is_interrupted=is_interrupted,
        best_estimator=model,
        estimators=estimators,
        classes=task.candidates.classes,
        held_out_rows=_predicted_rows(work) if keep_predictions else None,
        baseline_rate=baseline[0],
        baseline_warning=baseline[1],
        **_count_rows(task, splits, groups),
    )


def _check_options(refit: Any, keep_predictions: Any, budget: Any, time_limit: Any, correct: Any, n_jobs: Any) -> None:
    """Raise if an option of `compare` that does not depend on the rows is invalid."""
    check_n_jobs(n_jobs)
    check_bool("refit", refit)
    if isinstance(keep_predictions, str):
        check_choice("keep_predictions", keep_predictions, ("labeled",), ", True or False")
    else:
        check_bool("keep_predictions", keep_predictions)
    for name, limit in (("budget", budget), ("time_limit", time_limit)):
        if limit is not None:
            check_positive(name, limit, alternatives=" or None")
    if correct is not None and not callable(correct):
        raise InputError(f"`correct` must be a function of the training rows, or None; got {correct!r}.")


def _make_schedule(work: Work, budget: float | None, time_limit: float | None, n_jobs: int | None) -> Schedule:
    """Return the folds of all methods, of fast kinds of methods first if there is a limit."""
    is_limited = budget is not None or time_limit is not None
    return Schedule(
        fastest_first(work.estimators) if is_limited else list(work.estimators),
        len(work.splits),
        effective_n_jobs(n_jobs),
        end=math.inf if budget is None else fold_module.clock() + 60.0 * budget,
        time_limit=math.inf if time_limit is None else float(time_limit),
    )


def _no_progress(n_done: int, n_total: int, name: str, seconds_left: float | None) -> None:
    """Report nothing."""


def _add_predicted_rows(work: Work, keep_predictions: bool | str) -> Work:
    """Return the work with unlabeled rows after the test rows of each fold, without their true labels, if requested."""
    estimators, task, splits = work
    if not keep_predictions or isinstance(keep_predictions, str):
        return work
    further = unlabeled_rows_by_fold(task.candidates, splits)
    if task.truth is not None:
        is_further = np.isin(np.arange(len(task.candidates)), np.concatenate(further))
        task = task._replace(truth=CandidateSets(task.truth.mask | is_further[:, None], task.truth.classes))
    added = [(train, np.concatenate([test, rows])) for (train, test), rows in zip(splits, further, strict=True)]
    return Work(estimators, task, added)


def _predicted_rows(work: Work) -> Ints:
    """Return the rows that a fold predicts, ascending."""
    return np.unique(np.concatenate([test for _, test in work.splits]))


def _fit_folds(
    work: Work, training_sets: Any, schedule: Schedule, n_jobs: int | None, progress: Progress
) -> tuple[dict[str, list[FoldResult]], bool]:
    """Fit the folds that the schedule requests; return the finished ones, and whether Ctrl-C ended the loop."""
    is_parallel, n_folds = effective_n_jobs(n_jobs) > 1, len(work.splits)
    folds: dict[str, list[FoldResult]] = {name: [] for name in work.estimators}

    def requested() -> Iterator[tuple[str, int]]:
        for name, fold in schedule.jobs():
            if not is_parallel and not fold:
                progress(schedule.n_done, schedule.n_total, f"fitting {name}", schedule.seconds_left())
            yield name, fold

    # The next fit is requested when a worker is free, so that the schedule has all times measured so far.
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="n_jobs", batch_size=1)(
        delayed(_run_fold)(work.estimators[name], work.task, work.splits[fold], training_sets(fold), is_parallel)
        for name, fold in requested()
    )
    try:
        for outcome in outcomes:
            name = schedule.record(outcome.seconds)
            folds[name].append(outcome)
            progress(schedule.n_done, schedule.n_total, name, schedule.seconds_left())
            if len(folds[name]) == n_folds:
                log_method(summarize(name, tuple(folds[name])), schedule.n_done, schedule.n_total)
    except KeyboardInterrupt as interrupt:
        if type(interrupt) is not KeyboardInterrupt:  # a request to end the process, such as SIGTERM
            raise
        if not any(len(done) == n_folds and all(fold.error is None for fold in done) for done in folds.values()):
            raise KeyboardInterrupt("interrupted before a method was compared on all folds.") from None
        return folds, True
    return folds, False


def _run_fold(estimator: Any, task: Task, split: Split, sets: CandidateSets | None, is_parallel: bool) -> FoldResult:
    """Fit and score one fold, in parallel with others or not."""
    with single_threaded_blas() if is_parallel else contextlib.nullcontext():
        return try_fit_and_score(estimator, task, *split, sets)


def _measure(
    work: Work, folds: Mapping[str, Sequence[FoldResult]], reasons: Mapping[str, str], *, keep_predictions: bool
) -> list[MethodResult]:
    """Return the result of each method, with its expected accuracy and, on request, its held-out predictions.

    A single method has no expected accuracy: its own probabilities alone would be overconfident.
    """
    n_folds, results = len(work.splits), {}
    for name, done in folds.items():
        interrupted = f"interrupted after {len(done)} of {n_folds} folds" if done else "interrupted"
        incomplete = reasons.get(name) or (interrupted if len(done) < n_folds else None)
        results[name] = summarize(name, tuple(done), incomplete=incomplete)
    held_out = {
        name: [fold.held_out for fold in folds[name] if fold.held_out is not None]
        for name, result in results.items()
        if result.error is None and result.incomplete is None
    }
    predicted = np.concatenate([test for _, test in work.splits])
    codes = {name: np.concatenate([fold.predicted for fold in outputs]) for name, outputs in held_out.items()}
    proba = {name: np.concatenate([fold.proba for fold in outputs]) for name, outputs in held_out.items()}
    if len(held_out) > 1:
        scores = expected_accuracies(work.task.candidates.evidence[predicted], [*proba.values()], [*codes.values()])
        for name, score in zip(held_out, scores.tolist(), strict=True):
            results[name] = replace(results[name], expected_accuracy=score)
    if keep_predictions:
        # Of several predictions of a row, the last one.
        last = len(predicted) - 1 - np.unique(predicted[::-1], return_index=True)[1]
        for name, outputs in held_out.items():
            labels = _labels_of(codes[name][last], work.task.candidates)
            kept = proba[name][last] if all(output.has_proba for output in outputs) else None
            results[name] = replace(results[name], predictions=labels, probabilities=kept)
    return list(results.values())


def _labels_of(codes: Ints, candidates: CandidateSets) -> Any:
    """Return the labels of columns; None for a label that is not a class."""
    labels = candidates.classes[codes]
    if (codes < 0).any():
        labels = labels.astype(object)
        labels[codes < 0] = None
    return labels


def _rank(results: Sequence[MethodResult], schedule: Schedule) -> list[MethodResult]:
    """Return the methods by expected accuracy, then those with missing folds, then the failed ones.

    Raise if no method has all its folds. The sort is stable, and differences by rounding do not affect it.
    """
    failed = [result for result in results if result.error is not None]
    incomplete = [result for result in results if result.error is None and result.incomplete is not None]
    incomplete.sort(key=lambda result: -len(result.folds))
    ranked = [result for result in results if result.error is None and result.incomplete is None]
    if not ranked and incomplete:
        first = incomplete[0]
        limit = "`time_limit`" if first.method in schedule.over_time_limit else "`budget`"
        raise InputError(
            f"no method has finished; {first.method}: {first.incomplete}. Raise {limit}, use one fold or fewer rows, "
            "or compare one method without a limit."
        )
    if not ranked:
        raise InputError(f"every method failed; {failed[0].method} raised {failed[0].error}")
    ranked.sort(key=lambda result: -round(result.expected_accuracy or 0.0, 12))
    return [*ranked, *incomplete, *failed]


def _count_rows(task: Task, splits: Sequence[Split], groups: Any) -> dict[str, Any]:
    """Return the fields of `Comparison` with numbers of rows and groups."""
    is_labeled = ~task.candidates.is_unlabeled
    is_true = np.zeros(len(is_labeled), dtype=bool) if task.truth is None else task.truth.is_exact
    all_times = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(is_labeled))
    times = all_times[(all_times > 0) & (is_labeled | is_true)]
    return {
        "n_groups": None if groups is None else count_groups(groups, task.candidates),
        "n_train": round(sum(len(train) for train, _ in splits) / len(splits)),
        "n_held_out": len(times),
        "n_tests": (int(times.min()), int(times.max())) if len(times) else (1, 1),
        "n_true_unlabeled": int((is_true & ~is_labeled & (all_times == 0)).sum()),
    }
