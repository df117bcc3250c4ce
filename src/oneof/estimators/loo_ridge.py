"""Kernel ridge regression that disambiguates its own labels."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier, DecisionFunctionMixin
from oneof.estimators.loo_kernels import check_kernel, named_kernels
from oneof.likelihoods import masked_softmax, normalize_within_sets, softmax
from oneof.solvers.loo_ridge import (
    ACCOUNTS,
    CandidateGroups,
    LOORidgeSolution,
    best_sharpness,
    rivals,
    solve_loo_ridge,
)
from oneof.typing import FeatureMatrix, Floats, Ints, Mask
from oneof.validation import check_choice, check_positive, check_random_state

MOST_EXACT_ROWS = 6000
"""Most labeled rows for which approximation="auto" takes the kernel as it is."""
MOST_WEIGHED_ROWS = 3000
"""Most rows on which kernels are weighed where they are approximated."""


class LOORidge(DecisionFunctionMixin, CandidateClassifier):
    """Kernel ridge regression whose exact leave-one-out predictions disambiguate its labels.

    The labels P start as equal shares of each row's candidates. Then, round by round, every row is predicted from the
    labels of all others, and what is predicted within its set becomes its label. This is done under three accounts of
    the false candidates: they are drawn evenly; they are the other labels of the same scene, so that common labels are
    common distractors; they are what annotators take for the truth. How much better the rows are foretold once their
    sets are known says how much of the labels each account gives.

    Parameters
    ----------
    kernel : {"auto", "rbf", "laplacian", "precomputed"} or callable, default="auto"
        "rbf" is exp(-.3 ||x - y||^2 / V), with V the summed variance of the features, "laplacian" exp(-1.5 |x - y|_1 /
        d). "auto" takes both, see `features`. "precomputed": X is the kernel of all pairs of rows. A callable
        ``kernel(X, Y)`` returns the matrix of all pairs, of the rows as they are.
    distractors : {"auto", "uniform", "scene", "confusion"}, default="auto"
        Where false candidates come from: judged by the sets; drawn evenly; all labels that are present in one scene;
        what annotators take one class for.
    lam : float, default=0.05
        Ridge penalty, above 0. For kernels with k(x, x) = 1 the default seldom needs a change.
    max_iter : int, default=25
        Of each of the five loops: one weighs the kernels, three are judged, and that of the scenes is run anew with
        clearer labels. If all rows are exact, none is made.
    features : {"auto", "standard", "rank", "angle", "unit", "scaled_unit"}, default="auto"
        What the rows are made before distances are taken (see the notes); "precomputed" and a callable do without.
        Where this and `kernel` leave several, their predictions are averaged, with the weights with which the left-out
        ones come nearest the labels. No true label is asked.
    unlabeled : {"ignore", "class_mass"}, default="ignore"
        Rows without a label teach nothing, or join: they start from equal shares of all classes and get labels as the
        others do, kept to the others' class frequencies.
    approximation : {"auto", None, "nystroem"}, default="auto"
        None takes the kernel as it is: time grows with n^3 and memory with n^2. "nystroem" takes `n_components` rows
        for all; time grows with n m^2, memory with n m, and kernels are weighed on at most 3,000 rows. "auto" does so
        above 6,000 rows, and never with "precomputed".
    n_components : int, default=1000
        m, or the number of rows if that is less.
    random_state : int, RandomState instance or None, default=None
        Draws these rows; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        P: 0 outside a row's set, rows sum to 1. Of rows that were ignored, their probabilities.
    loo_scores_ : ndarray of shape (n_samples, n_classes)
        Scores of each row by a model that was not told its label.
    transduction_ : ndarray of shape (n_samples,)
        The label of the largest confidence of each row of fit.
    runner_up_ : ndarray of shape (n_samples,)
        The candidate that comes next by the left-out scores; of all classes, where a row has one candidate alone.
    influential_rows_ : ndarray of shape (n_samples, 5), or (n_samples, n - 1) if fewer than six rows teach
        The rows of fit that speak most for each row's label against its rival; -1 for rows that were ignored. With an
        approximation this and the next are None.
    influences_ : ndarray of shape (n_samples, 5)
        How much of the margin between the two left-out scores each of them brings; 0 for rows that were ignored. The
        whole margin is below 0 where an account of the distractors overruled the scores.
    distractor_weights_ : dict of str to float
        The part of "uniform", "scene" and "confusion" in the labels; they sum to 1. A weight that does for the labels,
        and no finding of how the sets arose: where two accounts lead to like labels, either may have it.
    distractor_z_scores_ : dict of str to float
        Standard scores of "scene" and "confusion" against "uniform": by how many standard errors rows are better
        foretold. Empty where nothing was judged.
    distractor_exponent_ : float
        The part of the scenes, from 0 to 1, in which the rate of false candidates goes with the rows of the class.
    kernel_weights_ : dict of str to float
        What each kernel counts, by the names of features and kernel, such as "rank-laplacian"; they sum to 1.
    label_changes_ : ndarray of shape (n_iter_,)
        The share of label mass that was moved in each round of the account with the largest part.
    inverse_temperature_ : float
        b of `predict_proba`: the softmax of b times the scores. Between .1 and 1,000; 1 where no row has a label.
    n_iter_ : int
        Rounds made of each account.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    Maps of features. "standard": z-scores. "rank": each feature's ranks made normal. "angle": z-scores of z-scores
    whose rows were scaled to one length, which takes out a gain that differs from row to row. They make CSR rows dense.
    "unit": rows scaled to length 1; "scaled_unit": features divided by their largest absolute value first. They keep
    zeros, and go with the RBF kernel alone. "auto" takes these two where at most a tenth of the entries of features in
    use is not 0 or there are more than 5,000 features, the other three where more than half are not 0, and all five
    between. One factor for all features changes nothing, nor, without "unit", does one for each.

    What is left out is the row's own label; the means of the labels, the maps, the landmarks of "nystroem" and the
    weights of the kernels are those of all rows. So the left-out scores of a single row are still its own label.

    Probabilities maximize the likelihood of the sets under the scores left out, with the part of the scenes as judged;
    Platt's smoothing keeps them from certainty. A set is taken to tell no more than that, so where wrong predictions
    come to lie in the sets they are too high.

    Without an approximation the row order matters to rounding alone. Rounds need not converge; `label_changes_` tells. The
    model, and its file, keep the rows of fit or the landmarks. More of when to trust it: docs/loo_ridge.md; how the
    accounts are judged: docs/decisions/0022-how-false-candidates-arise.md.

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

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "auto",
        distractors: Literal["auto", "uniform", "scene", "confusion"] = "auto",
        lam: float = 0.05,
        max_iter: int = 25,
        *,
        features: Literal["auto", "standard", "rank", "angle", "unit", "scaled_unit"] = "auto",
        unlabeled: Literal["ignore", "class_mass"] = "ignore",
        approximation: Literal["auto", "nystroem"] | None = "auto",
        n_components: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.distractors = distractors
        self.lam = lam
        self.max_iter = max_iter
        self.features = features
        self.unlabeled = unlabeled
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Settle the labels of the rows, and fit them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            With ``kernel="precomputed"`` the kernel of all pairs of rows, dense.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used, or the work would not fit in memory.
        """
        self._check_parameters()
        rows, candidates = self._validate_fit(X, y)
        ignored = candidates.is_unlabeled if self.unlabeled == "ignore" else np.zeros(len(candidates), dtype=bool)
        used = np.flatnonzero(~ignored)
        sets = CandidateGroups.of(candidates.mask[used])
        names, kernels = zip(*named_kernels(self.kernel, self.features, rows, used), strict=True)
        landmarks, weighed = self._drawn_rows(sets.unlabeled)
        found = solve_loo_ridge(
            kernels,
            sets,
            lam=float(self.lam),
            max_iter=int(self.max_iter),
            account=None if self.distractors == "auto" else self.distractors,
            landmarks=landmarks,
            weighed=weighed,
        )
        self.kernel_weights_ = dict(zip(names, found.weights.tolist(), strict=True))
        self._keep(found, rows, used, candidates)
        return self._finalize_fit(X, y, candidates)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The softmax of the scores times ``inverse_temperature_``; rows sum to 1.
        """
        rows = self._validate_rows(X)
        return softmax(self.inverse_temperature_ * self._finite_scores(rows))

    def _check_parameters(self) -> None:
        check_kernel(self.kernel, self.features)
        check_positive("lam", self.lam)
        for name in ("max_iter", "n_components"):
            check_positive(name, getattr(self, name), integer=True)
        for name, known in (("distractors", ("auto", *ACCOUNTS)), ("unlabeled", ("ignore", "class_mass"))):
            check_choice(name, getattr(self, name), known)
        check_choice("approximation", self.approximation, ("auto", None, "nystroem"))
        if self._is_precomputed() and self.approximation == "nystroem":
            raise InputError("a precomputed kernel is taken as it is: pass approximation=None.")

    def _keep(self, found: LOORidgeSolution, rows: FeatureMatrix, used: Ints, candidates: CandidateSets) -> None:
        """Keep a solution; rows that were ignored have what is predicted of them."""
        shape, judgment = candidates.shape, found.judgment
        self._model = found.model
        self.inverse_temperature_ = best_sharpness(found.scores, found.sets.mask, found.odds)
        self.loo_scores_, others = np.empty(shape), np.ones(shape[0], dtype=bool)
        self.loo_scores_[used], others[used] = found.scores, False
        if others.any():
            self.loo_scores_[others] = self._model.scores(rows[others])
        self.label_distributions_ = softmax(self.inverse_temperature_ * self.loo_scores_)
        rival = rivals(self.label_distributions_, self.loo_scores_, candidates.mask)
        self.label_distributions_[used], rival[used] = judgment.shares, found.rivals
        self.transduction_ = candidates.classes[self.label_distributions_.argmax(axis=1)]
        self.runner_up_ = candidates.classes[rival]
        self.influential_rows_ = self.influences_ = None
        if found.vouchers is not None:
            named = found.vouchers.rows.shape[1]
            self.influential_rows_, self.influences_ = np.full((shape[0], named), -1), np.zeros((shape[0], named))
            self.influential_rows_[used] = used[found.vouchers.rows]
            self.influences_[used] = found.vouchers.brought
        self.distractor_weights_, self.distractor_z_scores_ = dict(judgment.parts), dict(judgment.evidence)
        self.distractor_exponent_ = judgment.parts["scene"]
        self.label_changes_ = judgment.changes
        self.n_iter_ = len(self.label_changes_)

    def _drawn_rows(self, unlabeled: Mask) -> tuple[Ints | None, Ints | None]:
        """Return the landmarks, and the labeled rows on which kernels are weighed; None where all rows are taken."""
        n, random = len(unlabeled), check_random_state(self.random_state)
        if self.approximation is None or (
            self.approximation == "auto" and (n <= MOST_EXACT_ROWS or self._is_precomputed())
        ):
            return None, None
        order = random.permutation(n)
        return np.sort(order[: int(self.n_components)]), np.sort(order[~unlabeled[order]][:MOST_WEIGHED_ROWS])

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return self._model.scores(rows)

    def _candidate_proba(self, rows: FeatureMatrix, candidates: Any, *, training: bool) -> Floats:
        """Take what the rounds of fit settled for its own rows."""
        if training:
            return normalize_within_sets(self.label_distributions_, candidates.mask)
        return masked_softmax(self.inverse_temperature_ * self._finite_scores(rows), candidates.mask)

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags
