"""Choice of a method with few labels: held-out labels, and the agreement of the methods on unlabeled rows.

Ten labels rank methods badly: two of ten held-out rows are a difference of .2, and many methods are tied. The
unlabeled rows have no labels, but the methods make different errors there, so that a label that most methods predict is
probably correct. The score of a method is

    score_m = (n s_m + t a_m) / (n + t),

* s_m is the expected accuracy of the n held-out labeled rows (`criterion`): on exact labels, their accuracy;
* a_m is the mean fraction of the votes of the other methods that its predictions for unlabeled rows get. A method has
  log [(K - 1) (n s_j + 1) / (n (1 - s_j) + K - 1)] votes: the logarithm of its odds of a correct label relative to
  chance, after one more correct label of K. These are the weights of the most probable label if errors are independent
  and equally frequent. A method that is no better than chance on the labels has almost no votes;
* t is `AGREEMENT_ROWS`. With ten labels both terms have the same weight; with a hundred, agreement has a tenth.

Both terms are of held-out predictions: an unlabeled row is predicted by the model of one fold.
"""

from collections.abc import Sequence

import numpy as np

from oneof.candidates import CandidateSets
from oneof.comparison.folds import N_FOLDS
from oneof.model_selection import unlabeled_rows_by_fold
from oneof.typing import Floats, Ints

FEW_LABELS = "few_labels"
"""Value of `methods` in `compare`."""
FEW_LABEL_METHODS = (
    "HarmonicField",
    "LocalGlobalConsistency",
    "MarkovWalk",
    "SpectralGraphTransducer",
    "TransductiveSVM",
    "GaussianEM",
    "MultinomialEM",
    "LOORidge",
)
"""Default estimators that are compared with few labels."""
AGREEMENT_ROWS = 10.0
"""Number of labeled rows that have the weight of the agreement on unlabeled rows."""
MAX_AGREEMENT_ROWS = 10_000
"""Maximum number of unlabeled rows for the agreement; its standard error is then at most 0.005."""
MIN_VOTES = 1e-6
"""Votes of a method that is no better than chance; if all methods are, they have equal votes."""


def number_of_folds(candidates: CandidateSets) -> int:
    """Return the number of folds for few labeled rows: `N_FOLDS`, or one for each labeled row, and at least 2."""
    return max(2, min(N_FOLDS, int((~candidates.is_unlabeled).sum())))


def keep_classes_in_training(candidates: CandidateSets, splits: Sequence[tuple[Ints, Ints]]) -> list[tuple[Ints, Ints]]:
    """Move each exact test row whose class is a candidate of no labeled training row to the training rows.

    Without this, a class of one label would be missing in the training rows of a fold, and of two classes only one
    would be left. Folds without test rows are dropped. If all folds are, one fold without test rows has all labels.
    """
    mask, moved = candidates.mask, []
    for train, test in splits:
        known = np.asarray(mask[train[~candidates.is_unlabeled[train]]].any(axis=0))
        is_kept = ~candidates.is_exact[test] | known[mask[test].argmax(axis=1)]
        if is_kept.any():
            moved.append((np.sort(np.concatenate([train, test[~is_kept]])), test[is_kept]))
    return moved or [(np.arange(len(candidates)), np.empty(0, dtype=np.int64))]


def sample_unlabeled_rows(
    candidates: CandidateSets, splits: Sequence[tuple[Ints, Ints]], rng: np.random.RandomState
) -> list[Ints]:
    """Return unlabeled rows for each fold, at most `MAX_AGREEMENT_ROWS` in all."""
    by_fold = unlabeled_rows_by_fold(candidates, splits)
    n_rows = sum(map(len, by_fold))
    if n_rows <= MAX_AGREEMENT_ROWS:
        return by_fold
    drawn = np.zeros(len(candidates), dtype=bool)
    drawn[rng.permutation(np.concatenate(by_fold))[:MAX_AGREEMENT_ROWS]] = True
    return [rows[drawn[rows]] for rows in by_fold]


def vote_weights(rates: Floats, n_rows: float, n_classes: int) -> Floats:
    """Return the votes of methods of the given accuracies over `n_rows` labeled rows, see the docstring of the module.

    Without labeled rows all methods have equal votes.
    """
    correct = n_rows * rates if n_rows else np.zeros(len(rates))
    odds = (n_classes - 1) * (correct + 1.0) / (n_rows - correct + n_classes - 1.0)
    return np.maximum(np.log(odds), MIN_VOTES)


def agreement_rates(predictions: Ints, weights: Floats) -> Floats:
    """Return the mean fraction of the votes of other methods that each method's predictions get.

    Parameters
    ----------
    predictions : ndarray of int of shape (n_methods, n)
        Columns of the predicted classes; -1, for a label that is not a class, agrees with nothing.
    weights : ndarray of shape (n_methods,)
        Votes of each method, positive.
    """
    rates = np.empty(len(predictions))
    for m, codes in enumerate(predictions):
        is_equal = ((predictions == codes) & (codes >= 0)).mean(axis=1)
        others = np.arange(len(predictions)) != m
        rates[m] = weights[others] @ is_equal[others] / weights[others].sum()
    return rates


def blend_with_agreement(scores: Floats, n_rows: float, predictions: Ints, n_classes: int) -> Floats:
    """Return the scores of methods with few labels; see the docstring of the module.

    Parameters
    ----------
    scores : ndarray of shape (n_methods,)
        Expected accuracies over `n_rows` held-out labeled rows; not used if `n_rows` is 0.
    n_rows : float
    predictions : ndarray of int of shape (n_methods, n_unlabeled)
        Columns of the predicted classes of unlabeled rows. Without unlabeled rows, the scores are returned.
    n_classes : int
    """
    if not predictions.shape[1]:
        return scores
    agreement = agreement_rates(predictions, vote_weights(scores, n_rows, n_classes))
    if not n_rows:
        return agreement
    return (n_rows * scores + AGREEMENT_ROWS * agreement) / (n_rows + AGREEMENT_ROWS)
