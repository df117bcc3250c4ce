"""Self-training by leave-one-out prediction, and selection of the distractor models without true labels.

**Self-training.** Each iteration computes F = LOO(P), the leave-one-out predictions of all rows, and

    P_ik  <-  S_ik c(max(F, 1e-6))_ik,  rows scaled to sum 1,

with the correction c of a distractor model. Since the label of a row does not enter its own prediction, P is not
confined to the initial guess. Exact rows keep their label.

**Predictive gain.** With labels P and leave-one-out predictions F, R = max(F, .001) scaled to rows that sum to 1, p_k
the fraction of class k, and rho_ik the fraction of class k among the other rows of the identical set,

    gain_i = log sum_{k in S_i} rho_ik R_ik / p_k

estimates log p(x_i | S_i) - log p(x_i). The division by p removes the advantage of sets of frequent labels. Labels that
collapse to one class have a low gain, since one class then has to predict several.

**Selection.** Self-training under each distractor model gives three sets of labels. The cooccurring and the confusable
model are each compared with the uniform one, by the z-score of the difference of their gains, and

    P = w P_cooccurring + (1 - w) N,  w = T(z_cooccurring),  N = P_confusable if z_confusable > 1, otherwise P_uniform,

where T is the distribution function of Student's t, with one degree of freedom less than there are distinct sets. The
gain of the cooccurring model uses predictions that are not squared, since it is then less noisy. Confusable labels that
hardly differ from the uniform ones are replaced by the uniform ones.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtr

from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers.loo_ridge.distractors import (
    CandidateGroups,
    ConfusableDistractors,
    CooccurringDistractors,
    Distractors,
    IterationState,
    UniformDistractors,
    with_class_mass,
)
from oneof.solvers.loo_ridge.loo_operators import LOOPredictor
from oneof.typing import Floats

DistractorModel = Literal["uniform", "cooccurring", "confusable"]
DISTRACTOR_MODELS: tuple[DistractorModel, ...] = get_args(DistractorModel)

MIN_PREDICTION = 1e-6
"""Lower bound of the predictions in self-training."""
MIN_GAIN_PREDICTION = 1e-3
"""Lower bound of the predictions in the gain."""
GROUP_PRIOR = 4.0
"""Pseudo-count of the class fractions in each group."""
CLASS_PRIOR = 0.5
"""Pseudo-count of each class."""
MIN_CONFUSABLE_Z = 1.0
"""z-score above which the confusable model is selected."""
MIN_LABEL_CHANGE = 0.01
"""Fraction of the label mass by which the confusable labels must differ from the uniform ones."""
MIN_COOCCURRING_WEIGHT = 1e-3
"""Weight of the cooccurring model below which it is 0, and its second self-training is skipped."""


@dataclass(frozen=True)
class SelfTrainingResult:
    """Result of `self_train`."""

    label_distributions: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    changes: Floats
    """(max_iter,): the mean over the rows of sum_k |P_ik - P_ik before| / 2 in each iteration."""


def self_train(
    ridge: LOOPredictor, sets: CandidateGroups, distractors: Distractors, *, max_iter: int
) -> SelfTrainingResult:
    """Run self-training under one distractor model.

    Parameters
    ----------
    ridge : LOOPredictor
        Ridge on the rows of the sets.
    sets : CandidateGroups
    distractors : Distractors
    max_iter : int
        At least 0. If all rows are exact, no iteration is made.
    """
    mask = sets.mask
    label_distributions = uniform_within_sets(mask)
    changes: list[float] = []
    for t in range(max_iter if (sets.sizes > 1).any() else 0):
        predictions = np.maximum(ridge.predict_loo(label_distributions), MIN_PREDICTION)
        new = normalize_within_sets(distractors.update(IterationState(predictions, label_distributions, sets, t)), mask)
        changes.append(float(np.abs(new - label_distributions).sum(axis=1).mean() / 2.0))
        label_distributions = new
    return SelfTrainingResult(label_distributions, np.array(changes))


def predictive_gains(label_distributions: Floats, scores: Floats, sets: CandidateGroups) -> Floats:
    """Return gain_i, (n,), of labels P and leave-one-out predictions F.

    Parameters
    ----------
    label_distributions, scores : ndarray of shape (n, K)
    sets : CandidateGroups
        Candidate sets of exact and partial rows.
    """
    n, K = label_distributions.shape
    frequency = (label_distributions.sum(axis=0) + CLASS_PRIOR) / (n + CLASS_PRIOR * K)
    prediction = np.maximum(scores, MIN_GAIN_PREDICTION)
    prediction /= prediction.sum(axis=1, keepdims=True)
    prior = GROUP_PRIOR * normalize_within_sets(np.broadcast_to(frequency, label_distributions.shape), sets.mask)
    in_group = (sets.sums(label_distributions) - label_distributions + prior) / (
        sets.row_counts[:, None] - 1.0 + GROUP_PRIOR
    )
    return np.log((np.where(sets.mask, in_group, 0.0) * prediction / frequency).sum(axis=1))


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
    changes: Floats
    """(max_iter,): `SelfTrainingResult.changes` of the model with the largest weight."""


def select_distractor_models(
    ridge: LOOPredictor, sets: CandidateGroups, *, max_iter: int, model: DistractorModel | None = None
) -> DistractorSelection:
    """Run self-training under each distractor model and average the labels by the weights of the models.

    Parameters
    ----------
    ridge : LOOPredictor
        Ridge on the rows of the sets.
    sets : CandidateGroups
    model : {"uniform", "cooccurring", "confusable"}, optional
        The distractor model, if it is known; then only this one is used.
    max_iter : int
        Iterations under each model, at least 0.
    """

    def train(distractors: Distractors) -> SelfTrainingResult:
        return self_train(ridge, sets, with_class_mass(distractors, sets), max_iter=max_iter)

    if model is None and not sets.partial.any():
        model = "uniform"  # there are no distractors to model
    if model is not None:
        models: dict[DistractorModel, Distractors] = {
            "uniform": UniformDistractors(),
            "cooccurring": CooccurringDistractors(),
            "confusable": ConfusableDistractors(),
        }
        result = train(models[model])
        weights = dict.fromkeys(DISTRACTOR_MODELS, 0.0) | {model: 1.0}
        return DistractorSelection(result.label_distributions, weights, {}, result.changes)

    uniform, confusable = train(UniformDistractors()), train(ConfusableDistractors())
    cooccurring = train(CooccurringDistractors(exponent=1))
    labeled = ~sets.unlabeled
    labeled_sets = sets.select(labeled)

    def gains(result: SelfTrainingResult) -> Floats:
        P = result.label_distributions
        return predictive_gains(P[labeled], ridge.predict_loo(P)[labeled], labeled_sets)

    baseline = gains(uniform)
    z_scores: dict[DistractorModel, float] = {
        "cooccurring": clustered_z_score(gains(cooccurring) - baseline, labeled_sets),
        "confusable": clustered_z_score(gains(confusable) - baseline, labeled_sets),
    }
    difference = confusable.label_distributions - uniform.label_distributions
    label_change = float(np.abs(difference).sum(axis=1).mean() / 2.0)
    alternative: DistractorModel = "uniform"
    if z_scores["confusable"] > MIN_CONFUSABLE_Z and label_change > MIN_LABEL_CHANGE:
        alternative = "confusable"
    n_sets = len(labeled_sets.distinct)
    w = float(stdtr(n_sets - 1, z_scores["cooccurring"])) if n_sets > 1 else 0.0
    result, alternative_weight = confusable if alternative == "confusable" else uniform, 1.0
    label_distributions, changes = result.label_distributions, result.changes
    if w >= MIN_COOCCURRING_WEIGHT:
        cooccurring, alternative_weight = train(CooccurringDistractors()), 1.0 - w
        label_distributions = w * cooccurring.label_distributions + alternative_weight * label_distributions
        changes = cooccurring.changes if w > alternative_weight else changes
    weights = dict.fromkeys(DISTRACTOR_MODELS, 0.0) | {
        "cooccurring": 1.0 - alternative_weight,
        alternative: alternative_weight,
    }
    return DistractorSelection(label_distributions, weights, z_scores, changes)
