"""Distractor models: the origin of the distractors in candidate sets, and the resulting correction of the labels.

By Bayes' rule, if class j is a distractor in the set of a row of class k with probability q_kj,

    p(y = k | S, x)  ~  p(k | x) prod_{j != k} (q_kj if j in S, otherwise 1 - q_kj)    within the set S.

The models are about the sets. If the candidates of a row have weights, these multiply every correction: S arises as in
other rows, and the weights are the likelihoods of the candidates given S. S has the main candidates, with weights of at
least .1, so that a softened set is modeled like the set. A set of all classes has no observable distractors, so that
the labels of such a row are its predictions times its weights.

* Uniform distractors leave p(k | x) as it is.
* Cooccurring distractors are the other labels of a scene. Common labels are common distractors, q_kj ~ M_j, the number
  of rows of class j, so that the product is proportional to 1 / M_k.
* Confusable distractors are mistaken for the true label. C_kj is the probability that class j is in the set of a
  partial row of class k. From N_kj such rows among m_k, both counted with soft labels, it is estimated as
  (N_kj + t q) / (m_k + t). The rates of all pairs are shrunk toward one common rate q, with the strength t of the
  largest likelihood. Uniform distractors have a large t, and then C = q for all pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import betaln, logit

from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.typing import Floats, Mask

DistractorModel = Literal["uniform", "cooccurring", "confusable"]
PREDICTION_EXPONENT = 2
"""Exponent of the predictions under cooccurring distractors and of unlabeled rows: labels become sharper each time."""
CLASS_EXPONENT = 0.5
"""Exponent of the correction by class in one iteration; it is below 1 since predictions of rare classes are noisy."""
GROUP_EXPONENT = 0.25
"""Exponent of the correction by group in one pass."""
N_PASSES = 3
"""Number of passes of the correction by group, and of class mass normalization."""
SHRINKAGE_STRENGTHS = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1e4])
"""Grid of t."""
MIN_RATE = 1e-4
"""Minimum distance of the rates from 0 and 1."""
RATE_EXPONENT = 0.5
"""Exponent of the correction by confusion rates in one iteration."""
N_WARM_UP_ITER = 5
"""Iterations before the first correction by confusion rates; earlier labels are too inaccurate for it."""


@dataclass(frozen=True)
class IterationState:
    """Input of one iteration of self-training; arrays have one entry for each pair of row and candidate."""

    loo_predictions: Floats
    """F: the leave-one-out predictions, above 0, without the weights of the candidates."""
    label_probabilities: Floats
    """P"""
    sets: CandidateGroups
    n_done: int
    """Number of previous iterations."""


def uniform_labels(state: IterationState) -> Floats:
    """Return the predictions F times the weights: every class is an equally probable distractor."""
    return state.sets.weights * state.loo_predictions


def cooccurring_labels(state: IterationState) -> Floats:
    """Return F^2 M^(-1/2) times the weights, corrected by the group sums: sets have the labels of all rows of a scene.

    Common labels are then common distractors. The labels of a scene are the true labels of its rows. So in a group of
    rows with the identical set, each candidate should be the true label of some row. In three passes, the sums of the
    group are moved a quarter of the way toward equality, also if its rows have weights: each row has its own, but the
    group is one scene. Rows with sets of all classes are not counted and keep their predictions.
    """
    sets = state.sets
    powers, full = sets.weights * state.loo_predictions**PREDICTION_EXPONENT, sets.full[sets.rows]
    counted = np.where(full, 0.0, state.label_probabilities)
    labels = powers * ((sets.class_sums(counted) + 1.0) ** -CLASS_EXPONENT)[sets.classes]
    # The expected class counts of the group if its candidates were equally frequent.
    uniform_sums = sets.group_sums(1.0 / sets.sizes[sets.rows])
    for _ in range(N_PASSES):
        current = sets.group_sums(sets.normalize(labels))
        labels *= ((uniform_sums + 1.0) / (current + 1.0)) ** GROUP_EXPONENT
    return np.where(full, powers, labels)


def confusable_labels(state: IterationState) -> Floats:
    """Return F prod_{j != k} (C_kj if j in S, otherwise 1 - C_kj)^(1/2) times the weights; full sets keep F."""
    sets, labels = state.sets, uniform_labels(state)
    if state.n_done < N_WARM_UP_ITER or not sets.partial.any():
        return labels
    rates = confusion_rates(sets.to_dense(state.label_probabilities)[sets.partial], sets.mask[sets.partial])
    np.fill_diagonal(rates, 0.5)  # a factor of all classes
    log_likelihood = np.where(sets.mask, sets.mask @ logit(rates).T + np.log1p(-rates).sum(axis=1), -np.inf)
    factors = np.exp(RATE_EXPONENT * sets.values(log_likelihood - log_likelihood.max(axis=1, keepdims=True)))
    return np.where(sets.full[sets.rows], labels, labels * factors)


DISTRACTOR_MODELS: dict[DistractorModel, Callable[[IterationState], Floats]] = {
    "uniform": uniform_labels,
    "cooccurring": cooccurring_labels,
    "confusable": confusable_labels,
}
"""The function of each model that returns the new labels of the pairs up to a factor of each row."""


def confusion_rates(label_distributions: Floats, mask: Mask) -> Floats:
    """Return C, (K, K), with a meaningless diagonal, from the labels and sets of partial rows."""
    n, K = mask.shape
    count, class_mass = label_distributions.T @ mask, label_distributions.sum(axis=0)
    q = float(np.clip((mask.sum() - n) / (n * (K - 1)), 1e-6, 1.0 - 1e-6))
    off_diagonal = ~np.eye(K, dtype=bool)
    trials = np.broadcast_to(class_mass[:, None], count.shape)[off_diagonal]
    successes = np.minimum(count[off_diagonal], trials)  # rounding may make them larger
    log_likelihoods = [  # of the beta-binomial distribution of N_kj of m_k, j != k
        (betaln(successes + t * q, trials - successes + t * (1.0 - q)) - betaln(t * q, t * (1.0 - q))).sum()
        for t in SHRINKAGE_STRENGTHS
    ]
    t = SHRINKAGE_STRENGTHS[int(np.argmax(log_likelihoods))]
    return np.clip((count + t * q) / (class_mass[:, None] + t), MIN_RATE, 1.0 - MIN_RATE)


# -- small weights and unlabeled rows ----------------------------------------------------------------------------------


def next_labels(model: DistractorModel, state: IterationState) -> Floats:
    """Return the new labels of the pairs, whose rows sum to 1.

    Candidates have the mass of their predictions times weights, of which the model divides that of the main ones. The
    unlabeled rows have the class frequencies of the other rows.
    """
    sets, main = state.sets, state.sets.main
    labels, pairs = sets.normalize(uniform_labels(state)), np.flatnonzero(main.mask[sets.rows, sets.classes])
    probabilities, mass = main.normalize(state.label_probabilities[pairs]), main.row_sums(labels[pairs])
    inner = IterationState(state.loo_predictions[pairs], probabilities, main, state.n_done)
    labels[pairs] = main.normalize(DISTRACTOR_MODELS[model](inner)) * mass[main.rows]
    return sets.normalize(_with_class_frequencies(labels, state) if sets.unlabeled.any() else labels)


def _with_class_frequencies(labels: Floats, state: IterationState) -> Floats:
    """Scale the predictions of unlabeled rows so that each class has the same fraction as among the other rows.

    Without this class mass normalization, common classes attract more and more of the unlabeled rows. In each pass the
    factor of a class is multiplied by (target mass + 1) / (current mass + 1). The predictions are squared, as for
    cooccurring distractors: with many classes in each set, labels would otherwise stay nearly uniform.
    """
    sets = state.sets
    unlabeled = sets.unlabeled[sets.rows]
    labeled_mass = sets.class_sums(np.where(unlabeled, 0.0, labels))
    target_mass = labeled_mass * (sets.unlabeled.sum() / labeled_mass.sum())
    factors = np.ones(len(labeled_mass))
    powers = np.where(unlabeled, state.loo_predictions**PREDICTION_EXPONENT, 1.0)
    for _ in range(N_PASSES):
        scaled = np.where(unlabeled, sets.normalize(powers * factors[sets.classes]), 0.0)
        factors *= (target_mass + 1.0) / (sets.class_sums(scaled) + 1.0)
    return np.where(unlabeled, powers * factors[sets.classes], labels)
