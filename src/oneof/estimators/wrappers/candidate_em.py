"""EM around any probabilistic classifier of scikit-learn."""

import numbers
import time
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from oneof.candidates import CandidateSets
from oneof.candidates.encoding import is_frame
from oneof.candidates.stratification import stratified_folds
from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.wrappers._soft_labels import (
    check_classifier,
    check_lengths_of_rows,
    check_proba,
    fit_and_predict,
    fit_soft,
    predict_columns,
    remove_generators,
    run_parallel,
    with_seeds,
)
from oneof.messages import warn
from oneof.solvers.soft_label_em import (
    has_several_candidates,
    posterior,
    solve_soft_labels,
)
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_n_jobs, check_positive, check_random_state


class CandidateEM(CandidateClassifier):
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
    classes_ : ndarray of shape (n_classes,)
        The class labels.
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
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

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

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        max_iter: int = 10,
        tol: float = 0.02,
        round_params: dict[str, Any] | None = None,
        n_copies: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.round_params = round_params
        self.n_copies = n_copies
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Disambiguate the labels by held-out predictions, and fit the classifier to them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights; unlabeled rows are
            ignored.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter is invalid, or `estimator` raises a ValueError.
        """
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        check_positive("n_copies", self.n_copies, integer=True)
        check_positive("verbose", self.verbose, integer=True, allow_zero=True)
        check_n_jobs(self.n_jobs)
        classifier = self._classifier()
        rows, candidates = self._validate_fit(X, y, finite=self._finite)
        rng = check_random_state(self.random_state)
        if not self._passes_frame(X):
            check_lengths_of_rows(rows)
        classifier = with_seeds(classifier, rng)
        rounds = self._classifier_of_rounds(classifier)
        labeled = ~candidates.is_unlabeled
        known = candidates[labeled]
        known_rows = rows if labeled.all() else _safe_indexing(rows, np.flatnonzero(labeled))
        evidence = known.evidence
        ambiguous = has_several_candidates(evidence)
        folds = self._folds(known_rows, known, rng) if ambiguous.any() else []
        tests = [test[ambiguous[test]] for _, test in folds]

        def predict_held_out(distributions: Floats) -> Floats:
            calls = (
                delayed(fit_and_predict)(rounds, known_rows, distributions, train, test, self.n_copies)
                for (train, _), test in zip(folds, tests)
            )
            with reraise_as_input_error():
                predictions = run_parallel(calls, self.n_jobs)
            proba = np.ones(evidence.shape)  # the only labeled row, which cannot be held out, keeps its labels
            for test, values in zip(tests, predictions):
                proba[test] = values
            return proba[ambiguous]

        solution = solve_soft_labels(
            evidence, predict_held_out, max_iter=int(self.max_iter), tol=float(self.tol), report=self._report()
        )
        if not solution.converged:
            warn(
                f"The labels of CandidateEM did not converge in {solution.n_iter} rounds: their last mean change was "
                f"{solution.changes[-1]:.2g}. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        start = time.perf_counter()
        self.estimator_, self._columns = fit_soft(classifier, known_rows, solution.distributions, self.n_copies)
        if self.verbose:
            print(f"CandidateEM: last fit, {time.perf_counter() - start:.1f} s", flush=True)  # noqa: T201 - as in scikit-learn
        remove_generators(self.estimator_)
        self.label_distributions_ = np.empty(candidates.shape)
        self.label_distributions_[labeled] = solution.distributions
        if not labeled.all():
            unlabeled = np.flatnonzero(~labeled)
            rest = _safe_indexing(rows, unlabeled)
            proba = predict_columns(self.estimator_, self._columns, rest, candidates.shape[1])
            check_proba(proba, classifier, unlabeled)
            self.label_distributions_[~labeled] = proba
        inside = np.where(candidates.mask, self.label_distributions_, -1.0)
        self.transduction_ = candidates.classes[inside.argmax(axis=1)]
        self.label_changes_ = solution.changes
        self.n_iter_ = solution.n_iter
        return self._finalize_fit(X, y, candidates)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Those of `estimator_`; 0 for a class that is in no label.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the probabilities are not finite.
        """
        return self._finite_scores(self._validate_rows(X))

    def _scores(self, rows: FeatureMatrix) -> Floats:
        with reraise_as_input_error():
            return predict_columns(self.estimator_, self._columns, rows, len(self.classes_))

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Return the held-out labels of the rows of fit."""
        if training:
            return self.label_distributions_
        return posterior(candidates.weights, self._finite_scores(rows))

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = None) -> FeatureMatrix:
        if self._passes_frame(X):
            if reset:
                with reraise_as_input_error():
                    validate_data(self, X, skip_check_array=True)
            else:
                check_is_fitted(self)  # the transformer checks the names, and ignores other columns
            return X
        return super()._validate_rows(X, reset=reset, finite=self._finite if finite is None else finite)

    def _passes_frame(self, X: Any) -> bool:
        """Return whether X is a DataFrame that the classifier receives as it is, since it selects columns by name."""
        step = self.estimator
        while isinstance(step, Pipeline) and step.steps:
            step = step.steps[0][1]
        return isinstance(step, ColumnTransformer) and is_frame(X)

    @property
    def _finite(self) -> Any:
        """The values of X that are checked: NaN is left to a classifier that accepts it."""
        return "allow-nan" if get_tags(self).input_tags.allow_nan else True

    def _classifier(self) -> Any:
        """Return the classifier, not cloned."""
        if self.estimator is None:
            # Imported here: the trees take longer to import than the other methods.
            from sklearn.ensemble import HistGradientBoostingClassifier

            return HistGradientBoostingClassifier(l2_regularization=1.0, early_stopping=False)
        remedy = " Wrap it in sklearn.calibration.CalibratedClassifierCV."
        check_classifier(self.estimator, ("predict_proba",), "RandomForestClassifier()", remedy)
        return self.estimator

    def _classifier_of_rounds(self, classifier: Any) -> Any:
        """Return a clone with the parameters of the rounds."""
        if self.round_params is None:
            return classifier
        if not isinstance(self.round_params, dict):
            raise InputTypeError(f"`round_params` must be a dict of parameters, or None; got {self.round_params!r}.")
        with reraise_as_input_error():
            return clone(classifier).set_params(**self.round_params)

    def _folds(self, rows: FeatureMatrix, known: CandidateSets, rng: np.random.RandomState) -> list[tuple[Ints, Ints]]:
        """Return the folds of the labeled rows; no folds for one row."""
        n_rows = len(known)
        if isinstance(self.cv, numbers.Integral):
            if isinstance(self.cv, bool) or self.cv < 2:
                raise InputError(f"`cv` must be an integer of at least 2 or a splitter; got {self.cv!r}.")
            if n_rows == 1:
                return []
            order = rng.permutation(n_rows)
            fold = np.empty(n_rows, dtype=np.int64)
            fold[order] = stratified_folds(known.evidence[order], min(int(self.cv), n_rows))
            return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]
        index = np.arange(n_rows)
        with reraise_as_input_error():
            folds = [(index[train], index[test]) for train, test in check_cv(self.cv).split(rows, known)]
        times = np.zeros(n_rows, dtype=np.int64)
        for _, test in folds:
            times[test] += 1
        wrong = np.flatnonzero((times != 1) & has_several_candidates(known.evidence))
        if len(wrong):
            raise InputError(
                "`cv` must have each row of several candidates in exactly one test subset; of the rows that are not "
                f"unlabeled, row {wrong[0]} is in {times[wrong[0]]}."
            )
        return folds

    def _report(self) -> Callable[[int, float], None] | None:
        """Return a callback that prints one line for each round; None if `verbose` is 0."""
        if not self.verbose:
            return None
        last = time.perf_counter()

        def report(n_rounds: int, change: float) -> None:
            nonlocal last
            start, last = last, time.perf_counter()
            line = f"CandidateEM: round {n_rounds} of at most {self.max_iter}, mean change of labels {change:.4f}"
            print(f"{line}, {last - start:.1f} s", flush=True)  # noqa: T201 - as in scikit-learn

        return report

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.sparse = inner is not None and inner.sparse
        tags.input_tags.allow_nan = inner is None or inner.allow_nan
        tags.input_tags.positive_only = inner is not None and inner.positive_only
        return tags
