"""Candidate sets as flat arrays, with the rows grouped by identical set.

All values of the labels are held as one array of the (row, candidate) pairs, in the order of the rows. The work of an
iteration then grows with the candidates, not with all classes.

The set of a row with weights has the classes of weights above 0, and the pairs have these weights. Rows are grouped by
set also if they have weights, since different rows rarely have the same weights. If a row has
different weights for all classes, its set contains no information about distractors, as that of an unlabeled row.

**Distractor models: the origin of the distractors in candidate sets, and the resulting correction of the labels.**

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
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import betaln, logit

from oneof.likelihoods import constant_rows, support
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import Evidence, Floats, Ints, Mask

MIN_MAIN_WEIGHT = 0.1
"""Minimum weight of a main candidate. Softened sets have lower weights outside the set at low noise rates."""
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


def spread_rows(max_rows: int, *masks: Mask) -> Ints:
    """Return at most `max_rows` rows, ascending: evenly spaced ones of each mask, of a later one if there is room."""
    selected: Ints = np.empty(0, dtype=np.int64)
    for rows in map(np.flatnonzero, masks):
        positions = np.linspace(0, len(rows) - 1, min(len(rows), max_rows - len(selected)))
        selected = np.append(selected, rows[positions.astype(np.int64)])
    return np.sort(selected)


@dataclass(frozen=True)
class CandidateGroups:
    """Candidate sets, with or without weights: their pairs (row, candidate), and the rows with the identical set."""

    evidence: Evidence
    """(n, K): the sets as a mask, or weights, which are 0 or at least 1e-6."""
    group: Ints
    """(n,): the group index of each row."""

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> "CandidateGroups":
        """Group the rows of (n, K) evidence by identical set; weights below 1e-6 count as 0.

        Unlabeled rows, and rows with weights for all classes, are different groups.
        """
        evidence = without_small_weights(evidence)
        keys = np.column_stack([np.packbits(support(evidence), axis=1), constant_rows(evidence)])
        return cls(evidence, np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1))

    def select(self, rows: Mask | Ints) -> "CandidateGroups":
        """Return the groups among the selected rows."""
        return CandidateGroups.from_evidence(self.evidence[rows])

    @cached_property
    def mask(self) -> Mask:
        """(n, K): the candidates, which are the classes of weights above 0."""
        return support(self.evidence)

    @cached_property
    def main(self) -> "CandidateGroups":
        """The main candidates only, grouped by their sets; the same object if all candidates are main candidates.

        The distractor models are about these sets. If a set is softened, so that other classes have small weights, its
        main candidates are those of the set.
        """
        if (self.weights >= MIN_MAIN_WEIGHT).all():
            return self
        return CandidateGroups.from_evidence(np.where(self.evidence >= MIN_MAIN_WEIGHT, self.evidence, 0.0))

    # -- rows ----------------------------------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> Ints:
        """(n,): the number of candidates of each row."""
        return self.mask.sum(axis=1)

    @cached_property
    def full(self) -> Mask:
        """(n,): rows whose set has every class."""
        return self.sizes == self.mask.shape[1]

    @cached_property
    def unlabeled(self) -> Mask:
        """(n,): rows whose set has every class, with equal weights."""
        return constant_rows(self.evidence)

    @cached_property
    def partial(self) -> Mask:
        """(n,): rows with several candidates, but not all classes; only these have observable distractors."""
        return (self.sizes > 1) & ~self.full

    # -- pairs of row and candidate ------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> Ints:
        """(number of pairs,): the row of each pair."""
        return np.repeat(np.arange(len(self.mask)), self.sizes)

    @cached_property
    def classes(self) -> Ints:
        """(number of pairs,): the candidate of each pair."""
        return np.nonzero(self.mask)[1]

    @cached_property
    def group_pairs(self) -> Ints:
        """(number of pairs,): the index of each pair among the pairs (group, candidate)."""
        return np.unique(self.group[self.rows] * self.mask.shape[1] + self.classes, return_inverse=True)[1]

    @cached_property
    def weights(self) -> Floats:
        """(number of pairs,): the weights of the pairs; 1 for the candidates of a set."""
        return self.values(self.evidence).astype(np.float64)

    def values(self, array: Floats) -> Floats:
        """Return the entries of an (n, K) array inside the sets."""
        return array[self.rows, self.classes]

    def to_dense(self, values: Floats) -> Floats:
        """Return the (n, K) array with these entries inside the sets, and 0 outside."""
        array = np.zeros(self.mask.shape, dtype=values.dtype)
        array[self.rows, self.classes] = values
        return array

    def row_sums(self, values: Floats) -> Floats:
        """Return the sum over each row's candidates, (n,)."""
        return np.bincount(self.rows, values).astype(np.float64, copy=False)

    def normalize(self, values: Floats) -> Floats:
        """Return values above 0, scaled so that each row has sum 1."""
        return values / self.row_sums(values)[self.rows]

    def class_sums(self, values: Floats) -> Floats:
        """Return the sum over the rows of each class, (K,)."""
        return np.bincount(self.classes, values, minlength=self.mask.shape[1]).astype(np.float64, copy=False)

    def group_sums(self, values: Floats) -> Floats:
        """Return for each pair the sum over the rows of its group."""
        return np.bincount(self.group_pairs, values).astype(np.float64, copy=False)[self.group_pairs]


# -- distractors -------------------------------------------------------------------------------------------------------


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
