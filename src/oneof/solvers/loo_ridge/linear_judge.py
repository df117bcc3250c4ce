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
For w, rows with the identical partial set are held out together, so that reproducing the labels of other rows of the
set does not raise a weight. W is from random folds. The temperatures of p and q are fitted by maximum likelihood.

The square was chosen on ud_english_ewt, MSRCv2 and generated clusters of letter: with w instead of w^2 the labels of
MSRCv2, whose linear classifier is poor, are worse. docs/loo_ridge.md has the results on these and on other sets.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

from oneof.arrays import as_floats, as_numpy
from oneof.candidates.stratification import folds_by_set
from oneof.kernels.feature_maps import L2Normalize, Standard, default_maps
from oneof.kernels.mapped import KernelSum
from oneof.likelihoods import log_likelihoods, masked_softmax
from oneof.solvers.annotators.temper import temper
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups, spread_rows
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.loo_ridge.self_training import NO_JUDGE, Judge, SelfTraining
from oneof.solvers.online import OnlineState, pegasos
from oneof.solvers.opinion_pool import pool_weights
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints

N_FOLDS = 3
LAM = 1e-3
"""Regularization of Pegasos, for rows of length 1; .0001 to .01 give labels of the same accuracy."""
N_EPOCHS = 10
MAX_POOL_ROWS = 1500
"""Number of rows from which w is estimated: those with several candidates, on which w depends, then other ones."""
PRIOR_ROWS = 20
"""Number of additional rows that the ridge alone explains: with n ambiguous rows, w is at most n / (n + 20)."""
SEED = 0
"""Seed of the folds and of the order of the rows in Pegasos."""


def fit_judge(X: FeatureMatrix, kernel: KernelSum, sets: CandidateGroups, training: SelfTraining) -> Judge:
    """Return the label distributions of the linear classifier, and their weight.

    The weight is 0 if no row has several main candidates, there are very few rows, or all features are constant.

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
    pooled, rows = spread_rows(MAX_POOL_ROWS, ambiguous, ~ambiguous & ~sets.unlabeled), unit_rows(X)
    if not ambiguous.any() or len(pooled) < 2 * N_FOLDS or rows.shape[1] == 0:
        return NO_JUDGE
    rng, evidence = np.random.default_rng(SEED), sets.evidence
    folds = rng.permutation(len(evidence)) % N_FOLDS
    scores = _held_out(partial(_linear_scores, rows, evidence, rng), folds, evidence)
    part, selected, used = sets.select(pooled), evidence[pooled], ambiguous[pooled]
    folds, gram = folds_by_set(part.main.mask, N_FOLDS), as_numpy(kernel.gram(kernel.transform(X[pooled])))
    members = partial(_ridge_scores, gram, part, training), partial(_linear_scores, rows[pooled], selected, rng)
    w = pool_weight(*(log_likelihoods(_held_out(member, folds, selected), selected)[used] for member in members))
    return Judge(sets.values(masked_softmax(scores, evidence)), w**2)


def unit_rows(X: FeatureMatrix) -> FeatureMatrix:
    """Return rows of length 1: z-scores of the features that are not constant if most values are not 0."""
    X = X if sp.issparse(X) else as_numpy(X)
    if "l2" not in default_maps(X):
        X = Standard.fit(X)(X)
    return (L2Normalize()(X) if X.shape[1] else X).astype(np.float32)


def pool_weight(first: Floats, second: Floats) -> float:
    """Return the w that maximizes sum_i log((1 - w) p_i + w q_i) + s log(1 - w), s = `PRIOR_ROWS`, from logarithms."""
    logs = np.column_stack([first, second])
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    return float(pool_weights(np.vstack([likelihoods, np.tile([1.0, 0.0], (PRIOR_ROWS, 1))]))[1])


def _held_out(scores_of: Callable[[Ints, Ints], Floats], folds: Ints, evidence: Evidence) -> Floats:
    """Return the scores of each fold by a classifier of the other folds, times the most likely inverse temperature."""
    scores = np.empty(evidence.shape)
    for fold in range(N_FOLDS):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        scores[test] = scores_of(train, test)
    return temper(scores, evidence)[1] * scores


def _ridge_scores(gram: Floats, sets: CandidateGroups, training: SelfTraining, train: Ints, test: Ints) -> Floats:
    """Return the scores of test rows by a ridge with self-training on the training rows."""
    ridge = ExactRidge.from_gram(as_floats(gram[np.ix_(train, train)], "float64"), training.lam)
    dual, _ = ridge.fit(training.run(ridge, sets.select(train)).label_distributions)
    return gram[np.ix_(test, train)] @ dual.coefficients + dual.means


def _linear_scores(X: FeatureMatrix, evidence: Evidence, rng: np.random.Generator, train: Ints, test: Ints) -> Floats:
    """Return the scores of test rows by averaged Pegasos on the training rows."""
    order = np.concatenate([rng.permutation(train) for _ in range(N_EPOCHS)])
    initial = OnlineState.zeros(evidence.shape[1], X.shape[1] + 1, dtype=X.dtype, average=True)
    weights = pegasos(X, evidence, prediction="average", initial=initial, lam=LAM, order=order).mean_weights
    return X[test] @ weights[:, :-1].T + weights[:, -1]
