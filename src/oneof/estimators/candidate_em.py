"""EM around any probabilistic classifier of scikit-learn."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from oneof.candidates import CandidateSets
from oneof.candidates.encoding import is_frame
from oneof.candidates.stratification import stratified_folds
from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.estimators.base import ProbabilityMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, CountOrZero, Positive, estimator
from oneof.estimators.soft_labels import (
    check_classifier,
    check_folds,
    check_proba,
    fit_and_predict,
    fit_soft,
    predict_columns,
    remove_generators,
    run_parallel,
    split_rows,
    with_seeds,
)
from oneof.solvers.soft_label_em import SoftLabels, has_several_candidates, posterior, solve_soft_labels
from oneof.typing import FeatureMatrix, Floats, Ints, Mask
from oneof.validation import check_n_jobs, check_random_state, check_squares


@estimator
class CandidateEM(ProbabilityMixin):
    """EM around any classifier with `predict_proba`: gradient boosting, a forest, a neural network.

    Each row has a label distribution q_i. It starts as w_i / sum_k w_ik, where the weights w_i are 1 for the candidates
    of a set and 0 for other classes. In each round, clones of the classifier are fitted to soft labels on all folds but
    one and predict the probabilities p_i of the rows of that fold. Then q_ik = w_ik p_ik / sum_j w_ij p_ij; from the
    sixth round on, q is the mean of these distributions over the rounds. When the labels no longer change, the
    classifier is fitted to all rows. Unlabeled rows are not used.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier with `predict_proba`, such as those of scikit-learn, XGBoost or LightGBM, or a pipeline that ends
        with one. The rows of `fit` are numbers: a vectorizer of a list of texts is a step before `CandidateEM`. A
        pipeline that begins with a `ColumnTransformer` accepts a DataFrame of any columns. None is
        ``HistGradientBoostingClassifier(l2_regularization=1, early_stopping=False)``. The penalty is the default of
        XGBoost; without it, boosting diverges if classes have few rows. It is cloned.
    cv : int, splitter or iterable of (train, test), default=5
        Number of stratified folds, at least 2, or another way to split the rows that are not unlabeled. Each row of
        several candidates must be in one test subset.
    max_iter : int, default=10
        Maximum number of rounds, each with one fit for each fold; if they are not sufficient, a ConvergenceWarning is
        issued.
    tol : float, default=0.02
        The rounds end when the label distributions change by at most this on average over the rows of several
        candidates, in total variation; above 0.
    round_params : dict, default=None
        Parameters of `estimator` that differ in the rounds, such as ``{"max_iter": 20}`` for fewer boosting iterations.
        The last fit has the parameters of `estimator`.
    n_copies : int, default=10
        Number of copies of each row for a classifier without `sample_weight`, if a row has soft labels: label k has
        q_ik `n_copies` of them, rounded. A classifier of nearest neighbors then needs this many times as many
        neighbors.
    n_jobs : int, default=None
        Number of folds fitted in parallel: threads, unless joblib is configured otherwise. The result is the same for
        any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the parameters with this name in `estimator` that are None.
    verbose : int, default=0
        If 1 or more, each round prints a line with the mean change of the labels and its seconds, and so does the last
        fit.

    Attributes
    ----------
    estimator_ : classifier
        The classifier of the last fit. Its classes are the indices of those classes of ``classes_`` that are in a
        label, renumbered from 0 without gaps.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        q, 0 outside the set; for rows of several candidates from held-out predictions. Unlabeled rows have the
        probabilities of `estimator_`.
    transduction_ : ndarray of shape (n_samples,)
        The most probable candidate of each row of fit.
    label_changes_ : ndarray of shape (n_iter_,)
        Mean total variation between the labels before and after each round, in [0, 1]; 0 if all rows are exact.
    n_iter_ : int
        Number of rounds, at least 1.

    Notes
    -----
    If all rows are exact or unlabeled, the model is the classifier fitted to the exact rows. NaN in X and sparse X are
    accepted if `estimator` accepts them.

    A row of several candidates is passed to the classifier once for each of its labels of at least 0.001 times the
    largest, with `sample_weight` q_ik. The memory of a fit is that of the classifier on these rows. In a pipeline the
    weights are passed to the last step only.

    If `estimator` is a pipeline that begins with a `ColumnTransformer`, it receives a DataFrame as it is and validates
    the features: columns of text and missing values are accepted. The transformer is fitted to the training rows of
    each fold. Any other classifier receives an array of numbers.

    Each row is predicted by a classifier that was not fitted to it: a flexible classifier otherwise reproduces the
    labels that it was given. Probabilities below 1e-6 are raised to this value.

    With fewer than 10^7 numbers in X a fit uses one thread of BLAS and OpenMP, since threads that share small products
    wait for each other on a busy machine. With `n_jobs` folds are fitted at the same time.

    References
    ----------
    Jin & Ghahramani (2003), Learning with multiple labels, NIPS 15.
    Raykar et al. (2010), Learning from crowds, JMLR 11.
    Delyon, Lavielle & Moulines (1999), Convergence of a stochastic approximation version of the EM algorithm, Annals of
    Statistics 27(1).

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from oneof import CandidateEM
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> y = [["a"], ["a", "b"], ["a", "c"], ["a"], ["c"], ["b", "c"], ["a", "c"], ["c"]]
    >>> model = CandidateEM(RandomForestClassifier(20), cv=2, random_state=0).fit(X, y)
    >>> model.predict([[0.05], [4.9]]).tolist()
    ['a', 'c']
    """

    estimator: Any = None
    _: KW_ONLY
    cv: Any = 5
    max_iter: Count = 10
    tol: Positive = 0.02
    round_params: dict[str, Any] | None = None
    n_copies: Count = 10
    n_jobs: int | None = None
    random_state: Any = None
    verbose: CountOrZero = 0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_n_jobs(self.n_jobs)
        check_folds(self.cv)
        self._classifier_of_rounds(self._classifier())

    def _fit(self, training: TrainingRows) -> None:
        rng = check_random_state(self.random_state)
        labeled, rows = training.labeled, training.select(training.labeled)
        if not self._passes_frame(training.X):
            check_squares(training.X, "X")
        classifier = with_seeds(self._classifier(), rng)
        candidates = training.candidates[labeled]
        solution = self._solve(classifier, rows, candidates, rng)
        start = time.perf_counter()
        self.estimator_, self._columns = fit_soft(classifier, rows, solution.distributions, self.n_copies)
        self._print(f"last fit, {time.perf_counter() - start:.1f} s")
        remove_generators(self.estimator_)

        def predict(others: Ints) -> Floats:
            n_classes = training.candidates.shape[1]
            proba = predict_columns(self.estimator_, self._columns, training.select(others), n_classes)
            check_proba(proba, classifier, others)
            return proba

        self.label_distributions_ = training.complete(solution.distributions, labeled, predict)
        self.transduction_ = training.most_probable(self.label_distributions_)
        self.label_changes_ = solution.changes
        self.n_iter_ = solution.n_iter
        self._warn_unless(solution.converged, solution.n_iter)

    def _solve(
        self, classifier: Any, rows: FeatureMatrix, candidates: CandidateSets, rng: np.random.RandomState
    ) -> SoftLabels:
        """Return the labels of the labeled rows, by held-out predictions of those with several candidates."""
        rounds, evidence = self._classifier_of_rounds(classifier), candidates.evidence
        ambiguous = has_several_candidates(evidence)
        folds = self._folds(rows, candidates, ambiguous, rng) if ambiguous.any() else []
        tests = [test[ambiguous[test]] for _, test in folds]

        def predict_held_out(distributions: Floats) -> Floats:
            calls = (
                delayed(fit_and_predict)(rounds, rows, distributions, train, test, self.n_copies)
                for (train, _), test in zip(folds, tests)
            )
            with reraise_as_input_error():
                predictions = run_parallel(calls, self.n_jobs)
            proba = np.ones(evidence.shape)  # the only labeled row, which cannot be held out, keeps its labels
            for test, values in zip(tests, predictions):
                proba[test] = values
            return proba[ambiguous]

        return solve_soft_labels(
            evidence, predict_held_out, max_iter=int(self.max_iter), tol=float(self.tol), report=self._report()
        )

    def _scores(self, rows: FeatureMatrix) -> Floats:
        with reraise_as_input_error():
            return predict_columns(self.estimator_, self._columns, rows, len(self.classes_))

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        return posterior(candidates.weights, self._finite_scores(rows))

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = None) -> FeatureMatrix:
        if self._passes_frame(X):
            if reset:
                with reraise_as_input_error():
                    validate_data(self, X, skip_check_array=True)
            else:
                check_is_fitted(self)  # the transformer checks the names, and ignores other columns
            return X
        return super()._validate_rows(X, reset=reset, finite=finite)

    def _passes_frame(self, X: Any) -> bool:
        """Return whether X is a DataFrame that the classifier receives as it is, since it selects columns by name."""
        step = self.estimator
        while isinstance(step, Pipeline) and step.steps:
            step = step.steps[0][1]
        return isinstance(step, ColumnTransformer) and is_frame(X)

    def _classifier(self) -> Any:
        """Return the classifier, not cloned."""
        if self.estimator is None:
            # Imported here: the trees take longer to import than the other methods.
            from sklearn.ensemble import HistGradientBoostingClassifier

            return HistGradientBoostingClassifier(l2_regularization=1.0, early_stopping=False)
        remedy = " Wrap it in sklearn.calibration.CalibratedClassifierCV."
        return check_classifier(self.estimator, ("predict_proba",), "RandomForestClassifier()", remedy)

    def _classifier_of_rounds(self, classifier: Any) -> Any:
        """Return a clone with the parameters of the rounds."""
        if self.round_params is None:
            return classifier
        if not isinstance(self.round_params, dict):
            raise InputTypeError(f"`round_params` must be a dict of parameters, or None; got {self.round_params!r}.")
        with reraise_as_input_error():
            return clone(classifier).set_params(**self.round_params)

    def _folds(
        self, rows: FeatureMatrix, candidates: CandidateSets, ambiguous: Mask, rng: np.random.RandomState
    ) -> list[tuple[Ints, Ints]]:
        """Return the folds of the labeled rows; no folds for one row."""
        if len(candidates) == 1:
            return []
        folds = split_rows(self.cv, rows, candidates, stratified_folds, rng)
        times = np.zeros(len(candidates), dtype=np.int64)
        for _, test in folds:
            times[test] += 1
        wrong = np.flatnonzero((times != 1) & ambiguous)
        if len(wrong):
            raise InputError(
                "`cv` must have each row of several candidates in exactly one test subset; of the rows that are not "
                f"unlabeled, row {wrong[0]} is in {times[wrong[0]]}."
            )
        return folds

    def _print(self, line: str) -> None:
        if self.verbose:
            print(f"CandidateEM: {line}", flush=True)  # noqa: T201 - as in scikit-learn

    def _report(self) -> Callable[[int, float], None]:
        """Return a callback that prints one line for each round if `verbose` is above 0."""
        last = time.perf_counter()

        def report(n_rounds: int, change: float) -> None:
            nonlocal last
            start, last = last, time.perf_counter()
            self._print(
                f"round {n_rounds} of at most {self.max_iter}, mean change of labels {change:.4f}, {last - start:.1f} s"
            )

        return report

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.sparse = inner is not None and inner.sparse
        tags.input_tags.allow_nan = inner is None or inner.allow_nan
        tags.input_tags.positive_only = inner is not None and inner.positive_only
        return tags
