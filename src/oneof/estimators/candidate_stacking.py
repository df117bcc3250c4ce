"""A linear opinion pool of several estimators, weighted by the held-out likelihood of the candidate sets."""

from contextlib import suppress
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition

from oneof.candidates import CandidateSets
from oneof.candidates.stratification import folds_by_set
from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.estimators.base import ProbabilityMixin, TrainingRows, check_accepts_candidates
from oneof.estimators.linear import PLEM
from oneof.estimators.loo_ridge import LOORidge
from oneof.estimators.parameters import KW_ONLY, estimator
from oneof.estimators.soft_labels import check_folds, split_rows, with_seeds
from oneof.likelihoods import softmax, weigh
from oneof.solvers.annotators.temper import temper
from oneof.solvers.opinion_pool import pool_weights
from oneof.solvers.soft_label_em import MIN_PROBABILITY
from oneof.typing import Evidence, FeatureMatrix, Floats
from oneof.validation import check_estimator, check_random_state

MIN_WEIGHT = 1e-3
"""A member of a smaller weight changes no probability by more than this, and is not fitted."""


@estimator
class CandidateStacking(ProbabilityMixin, _BaseComposition):
    """Linear opinion pool (super learner): the weighted mean of the probabilities of several estimators.

    The probabilities are sum_m w_m p_m(k | x), with weights w_m >= 0 that sum to 1. The weights maximize the likelihood
    of the candidate sets under held-out predictions, sum_i log sum_m w_m sum_k e_ik p_m(k | x_i), where e_ik is 1 for
    the candidates of a row and 0 for other classes, or the weight of the class. The members are then fitted to all
    rows.

    Parameters
    ----------
    estimators : list of (str, estimator), default=None
        The members, with different names; they are cloned. A member is an estimator of oneof or a pipeline that ends
        with one; wrap a classifier of scikit-learn in `CandidateEM`. None is `LOORidge` and
        ``PLEM(fit_intercept=True)``.
    cv : int, splitter or iterable of (train, test), default=3
        Number of folds, at least 2, or another way to split the rows. An integer holds out all partial rows of a set
        together, if there are enough sets; other labeled rows are stratified by class. Unlabeled rows are in every
        training subset.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the parameters with this name in the members that are None.

    Attributes
    ----------
    weights_ : dict of float
        The weight of each member by its name. Weights below 0.001 are set to 0.
    estimators_ : dict of estimators
        The members of a weight above 0 by their names, fitted to all rows.
    inverse_temperatures_ : dict of float
        For each of `estimators_` that has no `predict_proba`: the factor by which its `decision_function` is multiplied
        before the softmax.

    See Also
    --------
    sklearn.ensemble.StackingClassifier : Stacking with exact labels.
    oneof.comparison.compare : The choice of one method.

    Notes
    -----
    The members are fitted ``cv + 1`` times. Each weight is the fraction of the rows that the member explains, so a
    member that is worse for all rows has the weight 0.

    Flexible methods reproduce the label that they give to a set, right or wrong, in held-out rows with the same set:
    with random folds such a method gets the largest weight. If rows have the same partial sets, such as the entries of
    a dictionary, the folds must therefore keep them together. A row is partial here if several of its classes have a
    weight above 0.5.

    The factor of a decision function maximizes the likelihood of the same rows.

    References
    ----------
    Genest & Zidek (1986), Combining probability distributions: a critique and an annotated bibliography, Statistical
    Science 1(1).
    Wolpert (1992), Stacked generalization, Neural Networks 5(2).
    Breiman (1996), Stacked regressions, Machine Learning 24.
    van der Laan, Polley & Hubbard (2007), Super learner, Statistical Applications in Genetics and Molecular Biology
    6(1).

    Examples
    --------
    >>> from oneof import CandidateStacking, PLEM, PLKNN
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> y = [["a"], ["a", "b"], ["a", "c"], ["a"], ["c"], ["b", "c"], ["a", "c"], ["c"]]
    >>> members = [("linear", PLEM(fit_intercept=True)), ("neighbors", PLKNN(n_neighbors=2))]
    >>> model = CandidateStacking(members, cv=2, random_state=0).fit(X, y)
    >>> model.predict([[0.05], [4.9]]).tolist()
    ['a', 'c']
    >>> sorted(model.weights_)
    ['linear', 'neighbors']
    """

    estimators: Any = None
    _: KW_ONLY
    cv: Any = 3
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_members()
        check_folds(self.cv)

    def _fit(self, training: TrainingRows) -> None:
        rows, candidates, rng = training.X, training.candidates, check_random_state(self.random_state)
        members = {name: with_seeds(member, rng) for name, member in self._check_members().items()}
        self.weights_, factors = self._fit_weights(members, rows, candidates, rng)
        self.estimators_ = {
            name: clone(member).fit(rows, candidates) for name, member in members.items() if self.weights_[name]
        }
        self.inverse_temperatures_ = {name: factors[name] for name in self.estimators_ if name in factors}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of the members as ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the members and their parameters.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a member is replaced by its name, and its parameters are ``name__parameter``.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        self._set_params("estimators", **params)
        return self

    def _scores(self, rows: FeatureMatrix) -> Floats:
        proba = np.zeros((rows.shape[0], len(self.classes_)))
        for name, member in self.estimators_.items():
            proba += self.weights_[name] * _proba(_values(member, rows), self.inverse_temperatures_.get(name))
        return proba

    def _fit_weights(
        self, members: dict[str, Any], rows: FeatureMatrix, candidates: CandidateSets, rng: np.random.RandomState
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the weights of the members by their names, and inverse temperatures of those without `predict_proba`.

        The weights are equal if no row can be held out.
        """
        labeled = ~candidates.is_unlabeled
        splits = split_rows(self.cv, rows, candidates, folds_by_set, rng)
        splits = [(train, test[labeled[test]]) for train, test in splits if labeled[train].any()]
        folds = [(train, test) for train, test in splits if len(test)]
        test = np.concatenate([np.empty(0, dtype=np.int64), *(test for _, test in folds)])
        evidence = candidates.evidence[test]
        factors, likelihoods = {}, []
        for name, member in members.items():
            held_out = [_values(clone(member).fit(rows[train], candidates[train]), rows[test]) for train, test in folds]
            values = np.concatenate([np.empty((0, candidates.shape[1])), *held_out])
            if not hasattr(member, "predict_proba"):
                factors[name] = _inverse_temperature(values, evidence)
            likelihoods.append(weigh(_proba(values, factors.get(name)), evidence).sum(axis=1))
        weights = pool_weights(np.maximum(np.column_stack(likelihoods), MIN_PROBABILITY))
        weights[weights < MIN_WEIGHT] = 0.0
        return dict(zip(members, (weights / weights.sum()).tolist())), factors

    def _check_members(self) -> dict[str, Any]:
        """Return the members by their names."""
        if self.estimators is None:
            return {"LOORidge": LOORidge(), "PLEM": PLEM(fit_intercept=True)}
        if not isinstance(self.estimators, list) or not all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in self.estimators
        ):
            raise InputTypeError(f"`estimators` must be a list of (name, estimator) tuples; got {self.estimators!r}.")
        if not self.estimators:
            raise InputError("`estimators` must have at least one member; got an empty list.")
        members = dict(self.estimators)
        with reraise_as_input_error():
            self._validate_names([name for name, _ in self.estimators])
        for member in members.values():
            check_estimator(member)
            check_accepts_candidates(member, False)
        return members

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with suppress(InputError, InputTypeError):
            inner = [get_tags(member).input_tags for member in self._check_members().values()]
            tags.input_tags.sparse = all(tag.sparse for tag in inner)
            tags.input_tags.positive_only = any(tag.positive_only for tag in inner)
        return tags


def _values(model: Any, rows: FeatureMatrix) -> Floats:
    """Return the (n, K) probabilities of a member, or the values of its decision function if it has none."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    values = np.asarray(model.decision_function(rows), dtype=np.float64)
    return values if values.ndim == 2 else np.stack([np.zeros(len(values)), values], axis=1)


def _proba(values: Floats, inverse_temperature: float | None) -> Floats:
    """Return probabilities: the values themselves, or the softmax of a decision function."""
    return values if inverse_temperature is None else np.asarray(softmax(inverse_temperature * values))


def _inverse_temperature(values: Floats, evidence: Evidence) -> float:
    """Return the factor of held-out values of a decision function that maximizes the likelihood of the evidence."""
    spread = float((values - values.mean(axis=1, keepdims=True)).std()) if len(values) else 0.0
    return temper(values / spread, evidence)[1] / spread if spread > 0 else 1.0
