"""Kernel ridge regression that disambiguates its own labels."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from oneof.errors import InputError
from oneof.estimators.base import (
    DecisionFunctionMixin,
    PrecomputedKernelMixin,
    SoftmaxMixin,
    TensorClassifier,
    TrainingRows,
)
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, estimator
from oneof.kernels.mapped import check_kernel, iter_kernels
from oneof.kernels.pairwise import check_square
from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge.distractors import CandidateGroups, spread_rows
from oneof.solvers.loo_ridge.loo_operators import BlockedRows, RowsInMemory, runner_up_classes
from oneof.solvers.loo_ridge.solve import (
    LOORidgeSolution,
    RowSamples,
    SelfTraining,
    fit_inverse_temperature,
    solve_loo_ridge,
)
from oneof.typing import FeatureMatrix, Floats, Ints, Labels
from oneof.validation import check_random_state

MAX_EXACT_ROWS = 6000
"""Number of used rows up to which approximation="auto" is exact."""
MAX_STACKING_ROWS, N_STACKING_ROWS = 1500, 1000
"""The kernels are weighted on all labeled rows up to the first number; otherwise on as many as the second one."""
MAX_MAP_ROWS = 10_000
"""Maximum number of rows, evenly spaced, to which the feature transformations are fitted."""
MIN_COMPONENTS, MAX_COMPONENTS, MAX_FEATURE_ENTRIES = 2000, 4000, 200_000_000
"""Limits of the default number of landmarks, and of the number of rows times landmarks in memory."""


@estimator
class LOORidge(PrecomputedKernelMixin, SoftmaxMixin, DecisionFunctionMixin, TensorClassifier):
    """Kernel ridge classifier that disambiguates labels by exact leave-one-out prediction.

    The labels P start as the uniform distribution over each row's candidates, or as w / sum w with weights w. In each
    iteration every row is predicted from the labels of all other rows, and the prediction within its set, corrected by
    the model of the distractors, becomes its label. The held-out probabilities of a linear classifier, the judge, are
    mixed with these labels. Its weight is large only where it explains the sets of held-out rows better.

    Parameters
    ----------
    kernel : {"auto", "rbf", "laplacian", "precomputed"} or callable, default="auto"
        "rbf" is exp(-.3 ||x - y||^2 / V), with V the summed variance of the features, "laplacian" exp(-1.5 |x - y|_1 /
        d). "auto" uses both, see `features`. "precomputed": X is the kernel of all pairs of rows. A callable
        ``kernel(X, Y)`` returns the matrix of all pairs of untransformed rows.
    distractors : {"cooccurring", "uniform", "confusable"}, default="cooccurring"
        Origin of the distractors. "cooccurring": the other labels in one scene, so that common labels are common
        distractors. "uniform": all other classes are equally probable. "confusable": classes mistaken for the truth.
    lam : float, default=0.05
        Ridge penalty, above 0. For kernels with k(x, x) = 1 the default rarely needs a change.
    max_iter : int, default=25
        Maximum number of iterations of self-training. No iteration is made if all rows are exact.
    tol : float, default=1e-4
        Self-training ends when at most this fraction of the label mass changes in an iteration; with 0 all `max_iter`
        iterations are made.
    features : {"auto", "standard", "quantile", "spherical", "l2", "maxabs_l2"}, default="auto"
        Transformation of the features before distances are computed (see the notes); ignored with "precomputed" and a
        callable. If this parameter and `kernel` select several kernels, the kernel is their weighted sum. With these
        weights the averaged leave-one-out predictions are closest to the labels, on at most 1,500 rows. No true label
        is needed. The transformations are fitted to at most 10,000 rows.
    judge : {"linear", None}, default="linear"
        "linear": the labels are mixed with those of averaged Pegasos, see the notes. None: without it. There is no
        judge with a precomputed or callable kernel, whose features are not given, or with so many rows that
        self-training uses a part of them.
    unlabeled : {"ignore", "class_mass"}, default="ignore"
        "ignore": unlabeled rows are not used. "class_mass": they start from the uniform distribution over all classes
        and are labeled like the other rows, with the class frequencies of those.
    approximation : {"auto", None, "nystroem"}, default="auto"
        None is exact: time grows with n^3 and memory with n^2. "nystroem" replaces the rows by `n_components`
        landmarks; time grows with n m^2 and memory with n m. "auto" uses it above 6,000 rows, and never with
        "precomputed".
    n_components : int or None, default=None
        Number of landmarks m, limited to the number of rows. None is 2,000 to 4,000: fewer for more rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the random landmarks. The folds of the judge and its order of the rows have a fixed seed.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        P, which is 0 outside a row's set; rows sum to 1. Ignored rows have their predicted probabilities.
    loo_scores_ : ndarray of shape (n_samples, n_classes)
        Leave-one-out scores: the scores of each row without its own label.
    transduction_ : ndarray of shape (n_samples,)
        The most probable label of each row of fit.
    runner_up_ : ndarray of shape (n_samples,)
        The candidate with the next best leave-one-out score; of all classes if a row has a single candidate.
    influential_rows_ : ndarray of shape (n_samples, 5), or (n_samples, n_used - 1) if n_used < 6 rows are used
        The rows of fit with the largest contributions to each row's label against its runner-up; -1 for ignored rows.
        None with an approximation.
    influences_ : ndarray of the shape of `influential_rows_`
        Contributions of these rows to the margin between the two leave-one-out scores; 0 for ignored rows, and None
        with an approximation. The total margin is negative if the distractor model or the judge changed the decision of
        the scores.
    judge_weight_ : float
        The weight of the judge in the labels, in [0, 1]; 0 without a judge.
    kernel_weights_ : dict of str to float
        The weight of each kernel, by the names of features and kernel, such as "quantile-laplacian"; they sum to 1.
    label_changes_ : ndarray
        The fraction of label mass that changed in each iteration; empty if no iteration was made.
    inverse_temperature_ : float
        b of `predict_proba`: the softmax of b times the scores. Between .1 and 1,000; 1 if all used rows are unlabeled.
    n_iter_ : int
        Number of iterations in `label_changes_`, and 1 without iterations, since the linear solve counts as one.

    Notes
    -----
    ``logging.basicConfig(level="INFO")`` prints a line after each step of a long fit (logger "oneof").

    Feature transformations. "standard": z-scores. "quantile": normal quantiles of each feature's ranks. "spherical":
    z-scores, scaled to one length in each row and standardized again, which removes a gain that differs from row to
    row. These make CSR rows dense. "l2": rows scaled to length 1; "maxabs_l2": features first divided by their largest
    absolute value. These keep zeros and require the RBF kernel.

    "auto" uses "l2" and "maxabs_l2" if at most a tenth of the entries is nonzero or if there are more than 5,000
    features. It uses the first three if more than half of the entries are nonzero, and all five in between. Features
    that are 0 in all rows do not count. The result is invariant to one factor for all features and, without "l2", to
    one factor for each feature.

    Rows with weights. The weights multiply the labels; those below 1e-6 count as 0. The distractor model is about the
    sets of the main candidates, which have weights of at least .1. Rows belong to one group if they have the identical
    main candidates, whatever their weights are. Other classes have the mass of their predictions times their weights.
    If all classes of a row are main candidates, it has no observable distractors: its labels are its predictions times
    its weights.

    The judge. The other rows with the same set are often the most similar ones, and confirm its wrong label, as in
    dictionaries. A linear classifier with the average loss of the set (AvgPegasos, rows of length 1) confirms less, but
    predicts worse. With w its weight in a pool with the ridge, for which the sets of held-out rows are most likely, its
    weight in the labels is w^2. Rows with the identical partial set are held out together. The probabilities in the
    labels are those of three folds.

    Leave-one-out omits only the row's own label. The means of the labels, the transformations, the landmarks of
    "nystroem" and the weights of the kernels are those of all rows. So the leave-one-out scores still depend on the
    row's own label if it is the only used row.

    Probabilities maximize the expected likelihood of the labels under the leave-one-out scores; Platt's smoothing keeps
    them below 1. Only the sets are used. So probabilities are too high if confident labels are wrong: if the truth is
    missing in many sets, or if rules make systematic errors.

    Rows may be torch tensors on any device. Kernels, factorizations and products are then computed on that device in
    the precision of the rows, and `predict_proba` and `decision_function` return tensors. The fitted attributes are
    NumPy arrays. The kernel must then be "auto", "rbf" or "laplacian". See docs/guides/gpu.md.

    The row order affects the folds of the judge. Without a judge and up to 1,500 rows it affects rounding only. With
    more rows the kernels are weighted on evenly spaced ones, and above 10,000 rows the transformations are fitted to
    such rows. The number of rows times landmarks is limited to
    2 x 10^8. Above this limit self-training uses a part of the rows, evenly spaced, and then at most three iterations
    use all rows in blocks. `oneof.distributed.fit` does the same over Dask blocks.

    The iterations need not converge; see `label_changes_`. The model, and its file, store the rows of fit or the
    landmarks, in float32 from 10^6 entries. Limits of the method: docs/loo_ridge.md; reasons:
    docs/decisions/0022-linear-judge.md.

    The method has no paper: cite oneof by the file CITATION.cff. Its formulas are in docs/theory/loo_ridge.md.

    Examples
    --------
    >>> from oneof import LOORidge
    >>> X = [[2.0, 0.1], [1.5, 0.3], [1.8, 0.0], [0.2, 1.0], [0.1, 2.0], [0.0, 1.7]]
    >>> model = LOORidge().fit(X, [["a"], ["a", "c"], ["a", "b"], ["b"], ["b", "c"], ["a", "b"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    >>> model.disambiguate().labels.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """

    _uses_gram_matrix = True

    kernel: str | Callable[[Any, Any], Any] = "auto"
    distractors: Literal["cooccurring", "uniform", "confusable"] = "cooccurring"
    lam: Positive = 0.05
    max_iter: Count = 25
    _: KW_ONLY
    tol: NonNegative = 1e-4
    features: Literal["auto", "standard", "quantile", "spherical", "l2", "maxabs_l2"] = "auto"
    judge: Literal["linear"] | None = "linear"
    unlabeled: Literal["ignore", "class_mass"] = "ignore"
    approximation: Literal["auto", "nystroem"] | None = "auto"
    n_components: Count | None = None
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_kernel(self.kernel, self.features)
        if self._is_precomputed() and self.approximation == "nystroem":
            raise InputError('`approximation` must be None or "auto" with kernel="precomputed"; got "nystroem".')

    def _fit(self, training: TrainingRows) -> None:
        if self._is_precomputed():
            check_square(training.X.shape)
        used = training.labeled if self.unlabeled == "ignore" else np.arange(len(training.candidates))
        sets = CandidateGroups.from_evidence(training.evidence[used])
        self._set_row_attributes(self._solve(RowsInMemory(training.select(used)), sets, used), training, used)

    def _solve(self, blocks: BlockedRows, sets: CandidateGroups, used: Ints) -> LOORidgeSolution:
        """Fit the model to the used rows, and set the attributes that do not have an entry for each row."""
        n = len(used)
        labeled, everywhere = ~sets.unlabeled, np.ones(n, dtype=bool)
        map_rows = None if self._is_precomputed() or n <= MAX_MAP_ROWS else spread_rows(MAX_MAP_ROWS, everywhere)
        names, kernels = zip(*iter_kernels(self.kernel, self.features, blocks.take(map_rows), used), strict=True)
        landmarks, training_rows = self._draw_landmarks(n), None
        if landmarks is not None and n * len(landmarks) > MAX_FEATURE_ENTRIES:
            # Labeled rows first, since these may be few.
            training_rows = spread_rows(MAX_FEATURE_ENTRIES // len(landmarks), labeled, ~labeled)
        stacking_rows = spread_rows(N_STACKING_ROWS if labeled.sum() > MAX_STACKING_ROWS else n, labeled)
        solution = solve_loo_ridge(
            kernels,
            blocks,
            sets,
            SelfTraining(float(self.lam), int(self.max_iter), float(self.tol), self.distractors),
            RowSamples(landmarks, training_rows, stacking_rows),
            # A kernel of the user has features that a linear classifier does not have.
            use_judge=self.judge is not None and not callable(self.kernel) and not self._is_precomputed(),
        )
        self._model, labels = solution.model, solution.labels
        self.kernel_weights_ = dict(zip(names, solution.kernel_weights.tolist(), strict=True))
        self.inverse_temperature_ = fit_inverse_temperature(
            solution.scores[labeled], labels.label_distributions[labeled]
        )
        self.judge_weight_ = solution.judge_weight
        self.label_changes_ = labels.changes
        self.n_iter_ = max(len(self.label_changes_), 1)
        return solution

    def _set_row_attributes(self, solution: LOORidgeSolution, training: TrainingRows, used: Ints) -> None:
        """Set the attributes of the rows of fit; ignored rows have the predictions of the model."""
        candidates = training.candidates
        self.loo_scores_ = training.complete(
            solution.scores, used, lambda others: self._scores(training.select(others))
        )
        self.label_distributions_ = training.complete(
            solution.labels.label_distributions, used, lambda others: softmax(loo_logits(self)[others])
        )
        runner_up = runner_up_classes(self.label_distributions_, self.loo_scores_, candidates.mask)
        self.transduction_: Labels = candidates.classes[self.label_distributions_.argmax(axis=1)]
        self.runner_up_ = candidates.classes[runner_up]
        self.influential_rows_ = self.influences_ = None
        if solution.influences is not None:
            influential, values = solution.influences
            self.influential_rows_ = np.full((len(candidates), values.shape[1]), -1)
            self.influences_ = np.zeros((len(candidates), values.shape[1]))
            self.influential_rows_[used], self.influences_[used] = used[influential], values

    def _draw_landmarks(self, n: int) -> Ints | None:
        """Return the indices of the landmarks among n used rows; None if the exact form is used."""
        is_exact = n <= MAX_EXACT_ROWS or self._is_precomputed()
        if self.approximation is None or (self.approximation == "auto" and is_exact):
            return None
        m = default_n_components(n) if self.n_components is None else self.n_components
        return np.sort(check_random_state(self.random_state).permutation(n)[: int(m)])

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return self._model.scores(rows)

    def _fitted_rows(self) -> FeatureMatrix | None:
        model = getattr(self, "_model", None)
        return None if model is None else model.support[0]

    def _logits(self, rows: FeatureMatrix) -> Floats:
        return np.asarray(self.inverse_temperature_ * self._finite_scores(rows))


FIRST_CHOICE = LOORidge
"""The default estimator of `oneof fit`, `CrowdClassifier`, `find_label_issues` and `ConformalClassifier`."""


def loo_logits(model: LOORidge) -> Floats:
    """Return the leave-one-out scores of a fitted model times its inverse temperature: softmax gives probabilities."""
    return np.asarray(model.inverse_temperature_ * model.loo_scores_)


def default_n_components(n: int) -> int:
    """Return the number of landmarks for n rows if `n_components` is None."""
    return min(max(MAX_FEATURE_ENTRIES // n, MIN_COMPONENTS), MAX_COMPONENTS)
