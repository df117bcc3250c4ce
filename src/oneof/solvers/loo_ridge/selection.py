"""Selection of the distractor models without true labels.

**Predictive gain.** P are the labels, F the leave-one-out predictions, and R = max(F, .001), scaled to rows that sum to
1. With p_k the fraction of class k, and rho_ik the fraction of class k among the other rows of the identical set,

    gain_i = log sum_{k in S_i} rho_ik R_ik / p_k

estimates log p(x_i | S_i) - log p(x_i). With weights, rho_i is multiplied by w_i and scaled to sum 1 again, so that the
gain is the one of the evidence of the row. Neither rho nor R depends on the evidence of the row itself, which is
therefore used once. rho and p have pseudo-counts, 4 in each group and .5 in each class. The
division by p removes the advantage of sets of frequent labels. Labels that collapse to one class have a low gain, since
one class then has to predict several.

**Confirmation by rows with the same set.** The gain omits the row's own label, but not those of the other rows of its
set. In dictionaries and rules one candidate of a set is the label of nearly all its rows. A model with wrong shares of
the classes in its groups is then confirmed by its own labels. The concentration alpha of the shares (`group_shares`),
fitted to predictions without the entire group, is small for these sets. If it is small, a model also needs a larger
likelihood under those predictions: the smaller one of the two z-scores counts. Predictions without the group must be
informative; they are not if the group has most rows of a class. alpha is that of the cooccurring labels, on at most
10,000 rows.

**Lists of scenes.** The rows of a recording share its list. If the list lacks some of their labels, or the rows are
similar to each other, the shares of their classes are unequal too, and both scores above are low. With G the
predictions without the group, scaled as R, the lift

    lift_i = log sum_{k in S_i} G_ik / sum_{k in S_i} p_k

contains no labels of the group. Wrong labels of a scene do not help to predict the sets of other scenes. A model that
predicts the frequent classes for all rows has no lift. If G is informative, the larger one of the z-scores counts for
the cooccurring model, and the confusable model is refuted by a z-score of its lift below -2.

**Selection.** Self-training under each distractor model gives three sets of labels. The cooccurring and the confusable
model are each compared with the uniform one, by the z-score of the differences, and

    P = w P_cooccurring + (1 - w) N,  w = T(z_cooccurring),
    N = P_confusable if z_confusable > 2 and the model is not refuted, otherwise P_uniform.

T is the distribution function of Student's t, with one degree of freedom less than there are distinct sets. The gain of
the cooccurring model uses predictions that are not squared, since it is then less noisy. Confusable labels that hardly
differ from the uniform ones are replaced by the uniform ones. The sets are those of the main candidates, and only rows
whose set excludes a class are compared: a set of all classes contains no information about the distractors.
docs/decisions/0048-lists-of-scenes.md has the study.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtr

from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import (
    ConfusableDistractors,
    CooccurringDistractors,
    Distractors,
    UniformDistractors,
    model_for,
)
from oneof.solvers.loo_ridge.group_shares import GroupShares, fit_group_shares
from oneof.solvers.loo_ridge.loo_operators import LOOPredictor
from oneof.solvers.loo_ridge.self_training import SelfTrainingResult, self_train
from oneof.typing import Floats

DistractorModel = Literal["uniform", "cooccurring", "confusable"]
DISTRACTOR_MODELS: tuple[DistractorModel, ...] = get_args(DistractorModel)

MIN_GAIN_PREDICTION = 1e-3
"""Lower bound of the predictions in the gain."""
GROUP_PRIOR = 4.0
"""Pseudo-count of the class fractions in each group."""
CLASS_PRIOR = 0.5
"""Pseudo-count of each class."""
MIN_CONCENTRATION = 4.0
"""Concentration of the class shares below which predictions without the entire group are compared as well."""
MIN_INFORMATION = 0.2
"""Information (nats) of predictions without the entire group, below which they are not compared."""
MIN_CONFUSABLE_Z = 2.0
"""z-score above which the confusable model is selected."""
MIN_CONFUSABLE_LIFT_Z = -2.0
"""z-score of the lift below which the confusable model is refuted."""
MIN_LABEL_CHANGE = 0.01
"""Fraction of the label mass by which the confusable labels must differ from the uniform ones."""
MIN_COOCCURRING_WEIGHT = 1e-3
"""Weight of the cooccurring model below which it is 0, and its second self-training is skipped."""
MAX_COMPARED_ROWS = 10_000
"""Number of rows, evenly spaced, on which predictions without the group are compared."""


def predictive_gains(label_distributions: Floats, scores: Floats, sets: CandidateGroups) -> Floats:
    """Return gain_i, (n,), of labels P and leave-one-out predictions F.

    Parameters
    ----------
    label_distributions, scores : ndarray of shape (n, K)
    sets : CandidateGroups
        Candidate sets of exact and partial rows.
    """
    frequency, prediction = _frequencies_and_predictions(label_distributions, scores)
    prior = GROUP_PRIOR * sets.normalize(frequency[sets.classes])
    P = sets.values(label_distributions)
    fraction = (sets.group_sums(P) - P + prior) / (sets.row_counts - 1.0 + GROUP_PRIOR)[sets.rows]
    if sets.weights is not None:
        fraction = sets.normalize(sets.weigh(fraction))
    return np.log(sets.row_sums(fraction * sets.values(prediction) / frequency[sets.classes]))


def lifts(label_distributions: Floats, scores: Floats, sets: CandidateGroups) -> Floats:
    """Return lift_i, (n,), of labels P and predictions without the group; candidates count by their weights.

    Parameters
    ----------
    label_distributions, scores : ndarray of shape (n, K)
    sets : CandidateGroups
    """
    frequency, prediction = _frequencies_and_predictions(label_distributions, scores)
    predicted = sets.row_sums(sets.weigh(sets.values(prediction)))
    return np.log(predicted / sets.row_sums(sets.weigh(frequency[sets.classes])))


def _frequencies_and_predictions(label_distributions: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return p, (K,), and the scores with a lower bound, (n, K), scaled to rows that sum to 1."""
    n, K = label_distributions.shape
    prediction = np.maximum(scores, MIN_GAIN_PREDICTION)
    frequency = (label_distributions.sum(axis=0) + CLASS_PRIOR) / (n + CLASS_PRIOR * K)
    return frequency, prediction / prediction.sum(axis=1, keepdims=True)


def clustered_z_score(differences: Floats, sets: CandidateGroups) -> float:
    """Return the mean of (n,) differences over its standard error, with the rows of one set as one cluster.

    It is 0 if the standard error is 0.
    """
    mean = differences.mean()
    error = np.sqrt((sets.totals(differences - mean) ** 2).sum()) / len(differences)
    return float(mean / error) if error > 1e-12 * (1.0 + abs(mean)) else 0.0


@dataclass(frozen=True)
class DistractorSelection:
    """Selected labels, with the weights of the distractor models."""

    label_distributions: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    weights: dict[DistractorModel, float]
    """The weight of each model in P; they sum to 1."""
    z_scores: dict[DistractorModel, float]
    """z-scores of the cooccurring and the confusable model against the uniform one; empty without a comparison."""
    concentration: float
    """alpha of the class shares of groups with the identical set; infinity without a comparison."""
    changes: Floats
    """(number of iterations,): `SelfTrainingResult.changes` of the model with the largest weight."""

    def distractors(self, sets: CandidateGroups) -> list[tuple[float, Distractors]]:
        """Return the models of positive weight, for further iterations."""
        models = distractor_models()
        return [(w, model_for(models[name], sets)) for name, w in self.weights.items() if w > 0]


def distractor_models() -> dict[DistractorModel, Distractors]:
    """Return the model of each name."""
    return {
        "uniform": UniformDistractors(),
        "cooccurring": CooccurringDistractors(),
        "confusable": ConfusableDistractors(),
    }


def select_distractor_models(
    ridge: LOOPredictor,
    sets: CandidateGroups,
    *,
    max_iter: int,
    tol: float = 0.0,
    model: DistractorModel | None = None,
) -> DistractorSelection:
    """Run self-training under each distractor model and average the labels by the weights of the models.

    Parameters
    ----------
    ridge : LOOPredictor
        Ridge on the rows of the sets.
    sets : CandidateGroups
    max_iter : int
        Maximum number of iterations under each model, at least 0.
    tol : float
        See `self_train`.
    model : {"uniform", "cooccurring", "confusable"}, optional
        The distractor model, if it is known; then only this one is used.
    """
    predict = ridge.pair_predictor(sets)

    def train(distractors: Distractors) -> SelfTrainingResult:
        return self_train(predict, sets, model_for(distractors, sets), max_iter=max_iter, tol=tol)

    main = sets.main
    if model is None and not main.partial.any():
        model = "uniform"  # there are no distractors to model
    if model is not None:
        result = train(distractor_models()[model])
        weights = dict.fromkeys(DISTRACTOR_MODELS, 0.0) | {model: 1.0}
        return DistractorSelection(result.label_distributions, weights, {}, np.inf, result.changes)

    results: dict[DistractorModel, SelfTrainingResult] = {
        "uniform": train(UniformDistractors()),
        "cooccurring": train(CooccurringDistractors(exponent=1)),
        "confusable": train(ConfusableDistractors()),
    }
    comparison = _compare(ridge, main, results)
    z_scores = comparison.z_scores
    n_sets = len(main.select(~main.full).distinct)
    w = float(stdtr(n_sets - 1, z_scores["cooccurring"])) if n_sets > 1 else 0.0
    difference = results["confusable"].label_distributions - results["uniform"].label_distributions
    label_change = float(np.abs(difference).sum(axis=1).mean() / 2.0)
    alternative: DistractorModel = "uniform"
    is_refuted = comparison.is_confusable_refuted
    if z_scores["confusable"] > MIN_CONFUSABLE_Z and not is_refuted and label_change > MIN_LABEL_CHANGE:
        alternative = "confusable"
    result, alternative_weight = results[alternative], 1.0
    label_distributions, changes = result.label_distributions, result.changes
    if w >= MIN_COOCCURRING_WEIGHT:
        cooccurring, alternative_weight = train(CooccurringDistractors()), 1.0 - w
        label_distributions = w * cooccurring.label_distributions + alternative_weight * label_distributions
        changes = cooccurring.changes if w > alternative_weight else changes
    weights = dict.fromkeys(DISTRACTOR_MODELS, 0.0) | {
        "cooccurring": 1.0 - alternative_weight,
        alternative: alternative_weight,
    }
    return DistractorSelection(label_distributions, weights, z_scores, comparison.concentration, changes)


@dataclass(frozen=True)
class _ModelComparison:
    """z-scores against the uniform model, the concentration, and whether the lift refutes the confusable model."""

    z_scores: dict[DistractorModel, float]
    concentration: float
    """alpha"""
    is_confusable_refuted: bool


def _compare(
    ridge: LOOPredictor, sets: CandidateGroups, results: dict[DistractorModel, SelfTrainingResult]
) -> _ModelComparison:
    """Compare the models on the rows whose set excludes a class."""
    with_set = np.flatnonzero(~sets.full)
    all_sets = sets.select(~sets.full)
    compared = with_set[:: -(-len(with_set) // MAX_COMPARED_ROWS)]
    compared_sets = sets.select(compared) if len(compared) < len(with_set) else all_sets
    labels = {name: result.label_distributions for name, result in results.items()}

    def gains(model: DistractorModel) -> Floats:
        return predictive_gains(labels[model][with_set], ridge.predict_loo(labels[model])[with_set], all_sets)

    def z_score(values: dict[DistractorModel, Floats], model: DistractorModel, rows: CandidateGroups) -> float:
        return clustered_z_score(values[model] - values["uniform"], rows)

    models: tuple[DistractorModel, ...] = ("cooccurring", "confusable")
    gain = {name: gains(name) for name in DISTRACTOR_MODELS}
    z_scores = {name: z_score(gain, name, all_sets) for name in models}
    scores: dict[DistractorModel, Floats] = {}  # without the group; those of the others only if they are compared
    scores["cooccurring"] = ridge.predict_without_groups(labels["cooccurring"], sets)[compared]

    def shares(model: DistractorModel) -> GroupShares:
        return fit_group_shares(labels[model][compared], scores[model], compared_sets)

    cooccurring = shares("cooccurring")
    if not cooccurring.information > MIN_INFORMATION:
        return _ModelComparison(z_scores, cooccurring.concentration, is_confusable_refuted=False)
    others: tuple[DistractorModel, ...] = ("uniform", "confusable")
    scores |= {name: ridge.predict_without_groups(labels[name], sets)[compared] for name in others}
    if cooccurring.concentration < MIN_CONCENTRATION:
        likelihood: dict[DistractorModel, Floats] = {name: shares(name).log_likelihood for name in others}
        likelihood["cooccurring"] = cooccurring.log_likelihood
        z_scores = {name: min(z_scores[name], z_score(likelihood, name, compared_sets)) for name in models}
    lift = {name: lifts(labels[name][compared], scores[name], compared_sets) for name in DISTRACTOR_MODELS}
    z_scores["cooccurring"] = max(z_scores["cooccurring"], z_score(lift, "cooccurring", compared_sets))
    is_refuted = z_score(lift, "confusable", compared_sets) < MIN_CONFUSABLE_LIFT_Z
    return _ModelComparison(z_scores, cooccurring.concentration, is_refuted)
