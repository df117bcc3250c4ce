"""Cross-validated scores: of several methods, without true labels, and of one method by the number of rows."""

import contextlib
import functools
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.parallel import Parallel, delayed

from oneof.candidates import CandidateSets
from oneof.comparison import folds, results
from oneof.comparison.criterion import expected_accuracies
from oneof.comparison.folds import Progress, Task, check_class_weights, check_task, fit_with_class_weights, make_folds
from oneof.comparison.methods import fastest_first, resolve_methods
from oneof.comparison.results import Comparison, FoldResult, LearningCurve, MethodResult, summarize
from oneof.errors import InputError
from oneof.estimators.base import last_step
from oneof.messages import merged_warnings, warn
from oneof.model_selection.folds import Split, count_groups
from oneof.model_selection.prediction import add_unlabeled_rows
from oneof.parallel import single_threaded_blas
from oneof.typing import Ints, Mask
from oneof.validation import check_bool, check_choice, check_estimator, check_n_jobs, check_positive, check_random_state

Correction: TypeAlias = Callable[[Ints], CandidateSets]
"""``correct(rows)`` returns the candidate sets to which the methods are fitted on these training rows."""
MAX_BASELINE_ROWS = 5_000
"""Maximum number of training rows of the baseline, drawn at random."""
MAX_BASELINE_FEATURES = 20_000
N_BASELINE_STEPS = 50
"""Maximum number of steps of the iterative solver, for sparse features."""
MIN_BASELINE_GAP = 0.03
"""Difference of the rates below which a method is not called worse than the baseline."""


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
    methods : "auto", "few_labels", a name or an estimator, a list of these, or a dict of estimators, default="auto"
        "auto" is all `default_estimators` except `PLGP` and `CandidateEM`, which take minutes while the others take
        seconds. With more than 5,000 features it also excludes `GraphLogisticRegression`, whose time grows with the
        cube of their number. "few_labels" is the graph-based methods on the features as they are, `TransductiveSVM` and
        `LOORidge`: pass it for about 100 labels among many unlabeled rows, with features of one unit. With fewer than
        about 5 labels a class the rates are noise.
        Names select from all default estimators. An estimator without a name has that of its class, or of the class of
        the last step for a pipeline. Estimators are cloned; the originals are not fitted.
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
    more than 20,000 columns, and folds without labeled test rows have no baseline.

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
    if not isinstance(keep_predictions, bool | np.bool_):
        check_choice("keep_predictions", keep_predictions, ("labeled",), ", True or False")
    check_positive("budget", budget, or_none=True)
    check_positive("time_limit", time_limit, or_none=True)
    if correct is not None and not callable(correct):
        raise InputError(f"`correct` must be a function of the training rows, or None; got {correct!r}.")
    task, progress = check_task(X, y, truth, class_weight), folds.check_progress(progress)
    splits = make_folds(task, cv, random_state, groups)
    work = Work(resolve_methods(methods, task, random_state), task, splits, correct)
    check_class_weights(class_weight, work.estimators, task.candidates)
    schedule = Schedule(work, budget, time_limit, n_jobs)
    tested = work if keep_predictions in (False, "labeled") else _add_unlabeled_rows(work)
    with merged_warnings():
        is_interrupted = _fit_folds(_share_features(tested, progress), schedule, n_jobs, progress)
    ranked = _rank(_measure(tested, schedule, keep_predictions=bool(keep_predictions)))
    best, baseline = ranked[0].method, dict[str, Any]()
    if correct is None and folds.clock() < schedule.end:
        progress(schedule.n_done, schedule.n_total, "simple baseline", None)
        baseline = _measure_baseline(tested, schedule.folds[best], best, random_state)
    model = clone(work.estimators[best])
    if refit:
        progress(schedule.n_done, schedule.n_total, f"{best} on all rows", None)
        fit_with_class_weights(model, task.X, work.training_sets(np.arange(len(task.candidates))), class_weight)
    return Comparison(
        tuple(ranked),
        best,
        len(splits),
        *task.candidates.shape,
        is_interrupted=is_interrupted,
        best_estimator=model,
        estimators=work.estimators,
        classes=task.candidates.classes,
        held_out_rows=np.unique(tested.predicted_rows) if keep_predictions else None,
        n_groups=None if groups is None else count_groups(groups, task.candidates),
        **(_count_rows(work) | baseline),
    )


class Work(NamedTuple):
    """The methods, the rows that they are fitted to, the training and the predicted rows of each fold, a correction."""

    estimators: Mapping[str, Any]
    task: Task
    splits: Sequence[Split]
    correct: Correction | None = None

    @property
    def predicted_rows(self) -> Ints:
        """The predicted rows of all folds."""
        return np.concatenate([test for _, test in self.splits])

    def training_sets(self, rows: Ints) -> CandidateSets:
        """Return the sets of some training rows, with their correction; raise if it changes rows or classes."""
        if self.correct is None:
            return self.task.candidates[rows]
        sets, classes = self.correct(rows), self.task.candidates.classes.tolist()
        if not isinstance(sets, CandidateSets) or len(sets) != len(rows) or sets.classes.tolist() != classes:
            raise InputError(
                f"`correct` must return a CandidateSets with one set for each of its {len(rows)} rows, over the "
                f"classes of `y`, such as `issues.corrected()` or `y[rows]`; got {sets!r}."
            )
        return sets


def _add_unlabeled_rows(work: Work) -> Work:
    """Return the work with unlabeled rows after the test rows of each fold, without their true labels."""
    task = work.task
    if task.truth is not None:
        is_tested = np.isin(np.arange(len(task.candidates)), work.predicted_rows)
        task = task._replace(truth=CandidateSets(task.truth.mask | ~is_tested[:, None], task.truth.classes))
    return work._replace(task=task, splits=add_unlabeled_rows(task.candidates, work.splits))


def _share_features(work: Work, progress: Progress) -> Work:
    """Return the work with the features of the object with which all pipelines begin, if the rows are split once.

    The vectorizer of 80,000 texts takes longer than a linear method. It is fitted to the training rows, as in each of
    the pipelines. If it raises an error, the work is returned as it is: each method then has the error for itself.
    """
    task, models = work.task, work.estimators
    first = [model[0] if isinstance(model, Pipeline) and len(model) > 1 else None for model in models.values()]
    is_shared = len(first) > 1 and first[0] is not None and all(step is first[0] for step in first)
    if not is_shared or len(work.splits) > 1 or work.correct is not None:
        return work
    progress(0, len(models), "features", None)
    [(train, test)] = work.splits
    try:
        known, new = _encode(first[0], task, train, test)
    except Exception:  # an error of one step must not end a comparison
        return work
    X = sp.vstack([known, new], format="csr") if sp.issparse(known) else np.concatenate([known, new])
    order = np.concatenate([train, test])
    truth = None if task.truth is None else task.truth[order]
    encoded = task._replace(X=X, candidates=task.candidates[order], truth=truth)
    pipelines = {name: Pipeline(model.steps[1:]) for name, model in models.items()}
    return Work(pipelines, encoded, [(np.arange(len(train)), np.arange(len(train), len(order)))])


def _encode(encoder: Any, task: Task, train: Ints, test: Ints) -> tuple[Any, Any]:
    """Return the features of the training and of the other rows, by a transformer that is fitted to the former."""
    encoder = clone(encoder)
    known = encoder.fit_transform(_safe_indexing(task.X, train), task.candidates[train])
    return known, encoder.transform(_safe_indexing(task.X, test))


class Schedule:
    """Folds of all methods, one method after the other, with a limit of time for all methods and for each.

    The limits are checked when a fit is requested. A running fit is not interrupted. With a limit, fast kinds of
    methods are first.

    Attributes
    ----------
    folds : dict of str to list of FoldResult
        The finished folds of the methods, in the order of their fits.
    n_total : int
        Number of folds of all methods without those left out so far.
    reasons : dict of str to str
        The reason for each method with missing folds.
    end : float
        Time of `folds.clock` at which the budget ends; infinite without a budget.
    """

    def __init__(self, work: Work, budget: float | None, time_limit: float | None, n_jobs: int | None) -> None:
        self.n_folds, self.n_jobs = len(work.splits), effective_n_jobs(n_jobs)
        self.n_total = self.n_folds * len(work.estimators)
        self.time_limit = math.inf if time_limit is None else float(time_limit)
        self.end = math.inf if budget is None else folds.clock() + 60.0 * budget
        names = fastest_first(work.estimators) if budget or time_limit else work.estimators
        self.folds: dict[str, list[FoldResult]] = {name: [] for name in names}
        self.reasons: dict[str, str] = {}

    def stops(self, name: str, fold: int) -> bool:
        """Return whether a method is stopped: its next fold, at the mean time of the finished ones, exceeds a limit."""
        times = [done.seconds for done in self.folds[name]]
        following = sum(times) / max(len(times), 1)
        left, budget = self.time_limit - sum(times), self.end - folds.clock()
        if following <= min(left, budget) and budget > 0:
            return False
        reason = "the budget is used" if following <= left else f"time limit {results.format_duration(self.time_limit)}"
        state = f"stopped after {fold} of {self.n_folds} folds" if fold else "left out"
        self.reasons[name] = f"{state}: {reason}"
        self.n_total -= self.n_folds - fold
        return True

    @property
    def n_done(self) -> int:
        """Number of finished folds."""
        return sum(map(len, self.folds.values()))

    def seconds_left(self) -> float | None:
        """Return the time of the other folds, at the mean time of the finished ones, and at most until the end."""
        times = [fold.seconds for done in self.folds.values() for fold in done]
        left = sum(times) / max(len(times), 1) * (self.n_total - len(times)) / self.n_jobs
        return max(min(left, self.end - folds.clock()), 0.0) if times else None


def _fit_folds(work: Work, schedule: Schedule, n_jobs: int | None, progress: Progress) -> bool:
    """Fit the folds that the schedule requests, and store the finished ones there; return whether Ctrl-C ended it."""
    training_sets = functools.cache(lambda fold: work.training_sets(work.splits[fold][0]))

    def requests() -> Iterator[Any]:
        for name in schedule.folds:
            for fold, split in enumerate(work.splits):
                if schedule.stops(name, fold):
                    break
                if schedule.n_jobs == 1 and not fold:
                    progress(schedule.n_done, schedule.n_total, f"fitting {name}", schedule.seconds_left())
                data = work.estimators[name], work.task, split, training_sets(fold)
                yield delayed(_run_fold)(name, data, schedule.n_jobs > 1)

    # The next fit is requested when a worker is free, so that the schedule has all times measured so far.
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="n_jobs", batch_size=1)(requests())
    try:
        for name, outcome in outcomes:
            done = schedule.folds[name]
            done.append(outcome)
            progress(schedule.n_done, schedule.n_total, name, schedule.seconds_left())
            if len(done) == schedule.n_folds:
                _log(summarize(name, done), schedule)
    except KeyboardInterrupt as interrupt:
        if type(interrupt) is not KeyboardInterrupt:  # a request to end the process, such as SIGTERM
            raise
        n_fitted = [sum(fold.error is None for fold in done) for done in schedule.folds.values()]
        if max(n_fitted) < schedule.n_folds:
            raise KeyboardInterrupt("interrupted before a method was fitted on all folds.") from None
        return True
    return False


def _run_fold(name: str, data: tuple[Any, ...], is_parallel: bool) -> tuple[str, FoldResult]:
    """Fit and score one fold of a method, in parallel with others or not."""
    with single_threaded_blas() if is_parallel else contextlib.nullcontext():
        return name, folds.try_fit_and_score(*data)


def _log(result: MethodResult, schedule: Schedule) -> None:
    """Log the scores of a method with all its folds, and the number of finished folds of all methods."""
    rate = f"covering rate {results.format_mean_std(result.covering_rate, result.covering_rate_std)}"
    outcome = rate if result.error is None else f"failed: {result.error}"
    finished = f"{len(result.folds)} folds in {sum(fold.seconds for fold in result.folds):.3g} s"
    total = f"{schedule.n_done} of {schedule.n_total} folds of all methods"
    logging.getLogger("oneof").info("%s: %s, %s (%s)", result.method, outcome, finished, total)


def _measure(work: Work, schedule: Schedule, *, keep_predictions: bool) -> list[MethodResult]:
    """Return the result of each method, with its expected accuracy and, on request, its held-out predictions.

    A single method has no expected accuracy: its own probabilities alone would be overconfident.
    """
    candidates, predicted, measured, held_out = work.task.candidates, work.predicted_rows, {}, {}
    for name in work.estimators:
        done, n_folds = schedule.folds[name], schedule.n_folds
        interrupted = f"interrupted after {len(done)} of {n_folds} folds" if done else "interrupted"
        incomplete = schedule.reasons.get(name) or (interrupted if len(done) < n_folds else None)
        measured[name] = summarize(name, done, incomplete=incomplete)
        outputs = [fold.held_out for fold in done if fold.held_out is not None]
        if len(outputs) == n_folds:
            codes, proba, methods = zip(*outputs, strict=True)
            held_out[name] = np.concatenate(codes), np.concatenate(proba), methods[0]
    if len(held_out) > 1:
        codes, proba, _ = zip(*held_out.values(), strict=True)
        rates = expected_accuracies(candidates.evidence[predicted], proba, codes)
        for name, rate in zip(held_out, rates.tolist(), strict=True):
            measured[name] = replace(measured[name], expected_accuracy=rate)
    if keep_predictions:
        # Of several predictions of a row, the last one.
        last = len(predicted) - 1 - np.unique(predicted[::-1], return_index=True)[1]
        for name, (predictions, scores, method) in held_out.items():
            classes, is_known = candidates.classes, predictions.min() >= 0
            labels = (classes if is_known else np.array([*classes.tolist(), None], dtype=object))[predictions[last]]
            kept = scores[last] if method == "predict_proba" else None
            measured[name] = replace(measured[name], predictions=labels, probabilities=kept)
    return list(measured.values())


def _rank(methods: Sequence[MethodResult]) -> list[MethodResult]:
    """Return the methods by expected accuracy, then those with missing folds, then the failed ones.

    Raise if no method has all its folds. The sort is stable, and differences by rounding do not affect it.
    """
    ranked = sorted(methods, key=lambda r: (r.error is not None, -len(r.folds), -round(r.expected_accuracy or 0.0, 12)))
    first = ranked[0]
    if first.error is not None:
        raise InputError(f"every method failed; {first.method} raised {first.error}")
    if first.incomplete is not None:
        raise InputError(
            f"no method has finished; {first.method}: {first.incomplete}. Raise `budget` or `time_limit`, use one fold "
            "or fewer rows, or compare one method without a limit."
        )
    return ranked


def _count_rows(work: Work) -> dict[str, Any]:
    """Return the fields of `Comparison` with numbers of rows."""
    candidates, truth = work.task.candidates, work.task.truth
    is_labeled = ~candidates.is_unlabeled
    is_true = np.zeros(len(candidates), dtype=bool) if truth is None else truth.is_exact
    all_times = np.bincount(work.predicted_rows, minlength=len(candidates))
    times = all_times[(all_times > 0) & (is_labeled | is_true)]
    return {
        "n_train": round(sum(len(train) for train, _ in work.splits) / len(work.splits)),
        "n_held_out": len(times),
        "n_tests": (int(times.min()), int(times.max())) if len(times) else (1, 1),
        "n_true_unlabeled": int((is_true & ~is_labeled & (all_times == 0)).sum()),
    }


def _measure_baseline(work: Work, folds_of_best: Sequence[FoldResult], best: str, random_state: Any) -> dict[str, Any]:
    """Compare the best method with a simple classifier on its own folds, and on the features of its last step.

    Return the fields of `Comparison`: the fraction of the held-out predictions of the baseline that are a label of
    largest weight, and a sentence if that of the best method is lower by three points and two standard errors. The
    rate is missing if the features are not finite numbers, or all held-out rows are unlabeled.
    """
    estimator, candidates, hits = work.estimators[best], work.task.candidates, []
    tops = candidates.evidence == candidates.evidence.max(axis=1, keepdims=True)
    steps = estimator.steps[:-1] if isinstance(estimator, Pipeline) else []
    rng, is_labeled = check_random_state(random_state), ~candidates.is_unlabeled
    outputs = [fold.held_out for fold in folds_of_best if fold.held_out is not None]
    for (train, test), output in zip(work.splits, outputs, strict=True):
        known, rows = rng.permutation(train[is_labeled[train]])[:MAX_BASELINE_ROWS], test[is_labeled[test]]
        if not len(rows):
            continue
        try:
            encoded = _encode(Pipeline([*steps, ("features", "passthrough")]), work.task, known, rows)
            baseline = _ridge_predictions(*encoded, tops[known])
        except Exception:  # such as rows of texts, or a category that the sample lacks
            return {}
        codes = output.predicted[is_labeled[test]]
        hits.append([tops[rows, baseline], tops[rows, codes] & (codes >= 0)])
    if not hits:
        return {}
    first, second = np.concatenate(hits, axis=1).astype(float)
    rate, gap = float(first.mean()), float(first.mean() - second.mean())
    if gap <= max(MIN_BASELINE_GAP, 2.0 * float(np.std(first - second)) / math.sqrt(len(first))):
        return {"baseline_rate": rate}
    label = "a label of largest weight" if candidates.is_weighted.any() else "a candidate"
    warning = (
        f"{best} predicts {label} in {second.mean():.0%} of the held-out rows, and a simple baseline (ridge regression "
        f"on these labels) in {rate:.0%}. Compare other methods, or other parameters of {best}."
    )
    return {"baseline_rate": rate, "baseline_warning": warning}


def _ridge_predictions(known: Any, new: Any, labels: Mask) -> Ints:
    """Return the columns predicted by ridge regression of the labels of each known row, in equal parts."""
    known, new = (check_array(rows, accept_sparse="csr", dtype=np.float64) for rows in (known, new))
    if known.shape[1] > MAX_BASELINE_FEATURES:
        raise ValueError("too many features")
    ridge = make_pipeline(MaxAbsScaler() if sp.issparse(known) else StandardScaler(), Ridge(max_iter=N_BASELINE_STEPS))
    return ridge.fit(known, labels / labels.sum(axis=1, keepdims=True)).predict(new).argmax(axis=1)


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    truth: Any = None,
    train_sizes: Iterable[float] = (0.1, 0.2, 0.4, 0.7, 1.0),
    cv: Any = "auto",
    groups: Any = None,
    class_weight: Any = None,
    max_rows: int | None = None,
    last: MethodResult | None = None,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> LearningCurve:
    """Cross-validate an estimator with increasing numbers of labeled training rows.

    Each fold has one test set and one random order of its labeled training rows, so the training sets are nested. The
    other labeled rows are excluded; all unlabeled rows are always included.

    Parameters
    ----------
    estimator : estimator or Pipeline
        It is cloned; the original is not fitted.
    X, y, truth
        As in `compare`.
    train_sizes : iterable of float, default=(0.1, 0.2, 0.4, 0.7, 1.0)
        Fractions of the labeled training rows of the smallest fold, in (0, 1].
    cv, groups, class_weight
        As in `compare`.
    max_rows : int, optional
        The fractions are of at most this number of rows.
    last : MethodResult, optional
        Result of the estimator on the same folds, which becomes the last point: all labeled training rows. The points
        of `train_sizes` that have as many rows are omitted, so that nothing is fitted twice.
    random_state, progress
        As in `compare`. The time left is None.

    Returns
    -------
    LearningCurve
        One entry per fraction, in the given order; fractions that give the same number of rows share one entry. An
        entry is NaN if the estimator raises in a fold, for example on very few rows; `errors` has the first error. A
        FitFailedWarning is issued if this is true of every entry.

    Raises
    ------
    InputError
        If a fraction is not in (0, 1], if `max_rows` is not a positive integer, if class weights are given and the
        estimator has none, or if X, y and truth differ in length.
    InputTypeError
        If `estimator` is not an estimator.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.comparison import learning_curve
    >>> X, y = [[k / 10] for k in range(20)], [["finch"]] * 10 + [["wren", "owl"], ["wren"]] * 5
    >>> learning_curve(PLKNN(n_neighbors=1), X, y, train_sizes=[0.2, 1.0], cv=2).train_sizes
    (2, 10)
    """
    # scikit-learn's learning_curve would count unlabeled rows, computes one score per call and reports no progress.
    check_estimator(estimator, ", such as those of `default_estimators()`")
    fractions = list(train_sizes) if isinstance(train_sizes, Iterable) else [train_sizes]
    for fraction in fractions or (None,):
        check_positive("train_sizes", fraction, max_value=1, alternatives=", or several of them")
    check_positive("max_rows", max_rows, integer=True, or_none=True)
    task, progress = check_task(X, y, truth, class_weight), folds.check_progress(progress)
    check_class_weights(class_weight, {type(last_step(estimator)).__name__: estimator}, task.candidates)
    rng, splits = check_random_state(random_state), make_folds(task, cv, random_state, groups)
    orders = [rng.permutation(train[~task.candidates.is_unlabeled[train]]) for train, _ in splits]
    n_labeled = min(map(len, orders))
    n_used = min(n_labeled, max_rows or n_labeled)
    distinct = dict.fromkeys(max(1, round(fraction * n_used)) for fraction in fractions)
    sizes = [size for size in distinct if last is None or size < n_labeled]
    points: list[MethodResult] = []
    for size in sizes:
        done: list[FoldResult] = []
        for (train, test), order in zip(splits, orders, strict=True):
            done.append(folds.try_fit_and_score(estimator, task, (np.setdiff1d(train, order[size:]), test)))
            progress(len(points) * len(splits) + len(done), len(sizes) * len(splits), f"{size} rows", None)
        points.append(summarize(f"{size} rows", done))
    if last is not None:
        sizes, points = [*sizes, n_labeled], [*points, last]
    errors = tuple(point.error for point in points)
    if None not in errors:
        warn(f"`estimator` failed in a fold at every number of rows. First error: {errors[-1]}", FitFailedWarning)
    names = ["covering_rate", "covering_rate_std", *["accuracy", "accuracy_std"] * (task.truth is not None)]
    # None, which is the accuracy of a failed point, becomes NaN.
    rates = {name: tuple(np.array([getattr(p, name) for p in points], dtype=float).tolist()) for name in names}
    return LearningCurve(tuple(sizes), **rates, errors=errors)
