"""Linear judge of the labels: a linear classifier of the candidate sets, and its weight in the labels.

The predictions of a kernel depend most on similar rows. In dictionaries these have the identical set, and confirm its
wrong label. A linear classifier trained with the average loss of the set does not disambiguate, so that it does not
confirm its own labels, but it is a weaker classifier. The labels are therefore a mixture,

    P  =  (1 - w^2) L  +  w^2 W,

with L the labels of self-training and W_ik ~ v_ik q_k(x_i), with v the weights of the candidates and q the
probabilities of a linear classifier that was not fitted to row i (averaged Pegasos on rows of length 1).

w is the weight of the linear classifier in a pool of two, (1 - w) p + w q, for which the evidence of held-out rows is
most likely: sum_i log sum_k v_ik ((1 - w) p_k(x_i) + w q_k(x_i)) + s log(1 - w), with p those of a ridge with
self-training and s = `PRIOR_ROWS` (a concave problem, solved by EM). The sum is over rows with several candidates.
For w, rows with the identical partial set are held out together: neither of the two is rewarded for labels that other
rows of the set confirm. W is from random folds.

The square was chosen on ud_english_ewt, MSRCv2 and generated clusters of letter: with w instead of w^2 the labels of
MSRCv2, whose linear classifier is poor, are worse. docs/loo_ridge.md has the results on these and on other sets.
"""

import numpy as np
import scipy.sparse as sp

from oneof.arrays import as_numpy
from oneof.kernels.feature_maps import L2Normalize, Standard, default_maps
from oneof.kernels.mapped import KernelSum
from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge.calibration import UNIFORM_WEIGHT, fit_evidence_temperature
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups, evenly_spaced
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.loo_ridge.self_training import Judge, SelfTraining
from oneof.solvers.online import OnlineState, pegasos
from oneof.solvers.opinion_pool import pool_weights
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints

N_FOLDS = 3
LAM = 1e-3
"""Regularization of Pegasos, for rows of length 1; .0001 to .01 give labels of the same accuracy."""
N_EPOCHS = 10
MAX_POOL_ROWS = 1500
"""Number of rows, evenly spaced, from which w is estimated. Bootstraps of the rows change w of dictionaries by .1."""
PRIOR_ROWS = 20
"""Number of additional rows that the ridge alone explains: with few ambiguous rows, the judge has little weight."""
SEED = 0
"""Seed of the folds and of the order of the rows in Pegasos."""


def fit_judge(X: FeatureMatrix, kernel: KernelSum, sets: CandidateGroups, training: SelfTraining) -> Judge | None:
    """Return the label distributions of the linear classifier, and their weight.

    It is None if no row has several main candidates, or there are very few rows.

    Parameters
    ----------
    X : array, CSR matrix or tensor of shape (n, d)
        Rows before the transformations of the kernel.
    kernel : KernelSum
        Kernel of the ridge.
    sets : CandidateGroups
    training : SelfTraining
        Settings of the ridge.
    """
    ambiguous = (sets.main.sizes > 1) & ~sets.unlabeled
    pooled = np.flatnonzero(~sets.unlabeled)
    if not ambiguous.any() or len(pooled) < 2 * N_FOLDS:
        return None
    rng, rows, evidence = np.random.default_rng(SEED), unit_rows(X), sets.evidence
    if rows.shape[1] == 0:  # all features are constant
        return None
    pooled = evenly_spaced(pooled, MAX_POOL_ROWS)
    part, selected, used = sets.select(pooled), evidence[pooled], ambiguous[pooled]
    if not used.any():
        return None
    folds = folds_by_set(part, rng)
    ridge_scores = _held_out_ridge(as_numpy(kernel.gram(kernel.transform(X[pooled]))), part, folds, training)
    linear_scores = _held_out_linear(rows[pooled], selected, folds, rng)
    likelihoods = [
        (_probabilities(scores, selected) * selected).sum(axis=1)[used] for scores in (ridge_scores, linear_scores)
    ]
    w = pool_weight(*likelihoods)
    scores = _held_out_linear(rows, evidence, rng.permutation(len(evidence)) % N_FOLDS, rng)
    return Judge(sets.normalize(sets.values(_probabilities(scores, evidence) * evidence)), w**2)


def unit_rows(X: FeatureMatrix) -> FeatureMatrix:
    """Return rows of length 1: z-scores of the features that are not constant if most values are not 0."""
    X = X if sp.issparse(X) else as_numpy(X)
    if "l2" not in default_maps(X):
        X = Standard.fit(X)(X)
    return (L2Normalize()(X) if X.shape[1] else X).astype(np.float32)


def folds_by_set(sets: CandidateGroups, rng: np.random.Generator) -> Ints:
    """Return the fold of each row, (n,): rows with the identical partial set are in one fold.

    The other rows, and all rows if there are fewer partial sets than folds, are in random folds. The sets are assigned
    by decreasing number of rows, each to the fold with the fewest rows.
    """
    folds: Ints = rng.permutation(len(sets.mask)) % N_FOLDS
    counts = np.bincount(sets.main.group, sets.main.partial)
    if np.count_nonzero(counts) < N_FOLDS:
        return folds
    fold_of_group, n_rows = np.zeros(len(counts), dtype=np.int64), np.zeros(N_FOLDS)
    for group in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]:
        fold_of_group[group] = n_rows.argmin()
        n_rows[fold_of_group[group]] += counts[group]
    return np.where(sets.main.partial, fold_of_group[sets.main.group], folds)


def pool_weight(first: Floats, second: Floats) -> float:
    """Return the w that maximizes sum_i log((1 - w) first_i + w second_i) + s log(1 - w), with s = `PRIOR_ROWS`."""
    prior = np.tile([1.0, np.finfo(np.float64).tiny], (PRIOR_ROWS, 1))
    return float(pool_weights(np.vstack([np.column_stack([first, second]), prior]))[1])


def _held_out_ridge(gram: Floats, sets: CandidateGroups, folds: Ints, training: SelfTraining) -> Floats:
    """Return the scores of ridges with self-training that are fitted to the other folds, (n, K)."""
    scores = np.empty(sets.mask.shape)
    for fold in range(N_FOLDS):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        ridge = ExactRidge.from_gram(np.array(gram[np.ix_(train, train)], dtype=np.float64, order="C"), training.lam)
        dual, _ = ridge.fit(training.run(ridge, sets.select(train)).label_distributions)
        scores[test] = gram[np.ix_(test, train)] @ dual.coefficients + dual.means
    return scores


def _held_out_linear(X: FeatureMatrix, evidence: Evidence, folds: Ints, rng: np.random.Generator) -> Floats:
    """Return the scores of averaged Pegasos that is fitted to the other folds, (n, K)."""
    scores = np.empty(evidence.shape)
    for fold in range(N_FOLDS):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        state = OnlineState.zeros(evidence.shape[1], X.shape[1] + 1, dtype=X.dtype, average=True)
        for _ in range(N_EPOCHS):
            state = pegasos(X, evidence, prediction="average", initial=state, lam=LAM, order=rng.permutation(train))
        weights = state.mean_weights
        scores[test] = X[test] @ weights[:, :-1].T + weights[:, -1]
    return scores


def _probabilities(scores: Floats, evidence: Evidence) -> Floats:
    """Return probabilities of the classes with the temperature of the evidence, mixed with a uniform distribution."""
    proba = softmax(fit_evidence_temperature(scores, evidence) * scores)
    return (1.0 - UNIFORM_WEIGHT) * proba + UNIFORM_WEIGHT / proba.shape[1]
