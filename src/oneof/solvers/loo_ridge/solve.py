"""Solver of LOORidge: weights of the kernels, self-training, and the fitted function of rows.

The kernel is a sum k = sum_m w_m k_m. With F_m = LOO_m(P) the leave-one-out predictions of the ridge with the single
kernel k_m, the weights solve

    minimize  || P - sum_m w_m F_m ||^2,  w_m >= 0, sum_m w_m = 1

(Breiman, Stacked regressions, Machine Learning 24, 1996) on a sample of the rows. No true label is needed: P are the
labels of self-training with equal weights. The ridge with the sum of the kernels predicts as accurately as the average
of one ridge for each kernel, and needs one inverse, one set of landmarks and one vector of coefficients.

**Self-training by leave-one-out prediction.**

Each iteration computes F = LOO(P), the leave-one-out predictions of all rows, and

    P_ik  <-  w_ik c(max(F, 1e-6))_ik,  rows scaled to sum 1,

with the correction c of a distractor model, from P = w / sum w. The weights w of a set are 1 for its candidates and 0
for other classes. Since the label of a row does not enter its own prediction, P is not confined to the initial guess.
Exact rows keep their label, and only predictions inside the sets are computed. With a judge, the labels at the start
and after each iteration are mixed with its own.

**Linear judge of the labels: a linear classifier of the candidate sets, and its weight in the labels.**

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

**Calibration: the inverse temperature of the softmax, fitted to the labels by leave-one-out scores.**

p_k = exp(b f_k) / sum_j exp(b f_j), with the b that maximizes the expected log-likelihood of the labels P,

    sum_i sum_k t_ik log p_ik,    t_ik = (1 - e) P_ik + e (1 - P_ik) / (K - 1),    e = 1 / (n + 2).

It is concave in b. Without e, labels that are all predicted correctly would have no finite b. With e, each of n labels
is correct with probability (n + 1) / (n + 2), as if one of two additional rows were an error (Platt, Probabilistic
outputs for support vector machines, 1999).

The evidence of a row, its set or its weights, enters P only. The scores, and so p, do not depend on it, since they omit
the label of the row. With t_ik ~ w_ik p_ik this is the M-step of EM for the likelihood sum_i log sum_k w_ik p_ik, in
which the weights of a row count once.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from scipy.optimize import brentq, nnls

from oneof.arrays import as_floats, as_numpy
from oneof.candidates.stratification import folds_by_set
from oneof.kernels.feature_maps import L2Normalize, Standard, default_maps
from oneof.kernels.mapped import KernelSum, MappedRows, RowKernel, take_rows
from oneof.likelihoods import log_likelihoods, masked_softmax, softmax
from oneof.parallel import n_available_threads
from oneof.solvers.annotators.temper import temper
from oneof.solvers.loo_ridge.distractors import (
    N_WARM_UP_ITER,
    CandidateGroups,
    DistractorModel,
    IterationState,
    next_labels,
    spread_rows,
)
from oneof.solvers.loo_ridge.loo_operators import (
    BlockedRows,
    DualCoefficients,
    ExactRidge,
    Landmarks,
    LinearLOO,
    NystroemRidge,
    empty_array,
    map_blocks,
    map_kernel_rows,
    pair_predictor,
    product,
    runner_up_classes,
    square_and_scores,
    top_influences,
)
from oneof.solvers.online import OnlineState, pegasos
from oneof.solvers.opinion_pool import pool_weights
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints
from oneof.validation import check_memory

_LOG = logging.getLogger("oneof")
MIN_KERNEL_WEIGHT = 0.05
"""Kernels with a smaller weight are dropped."""
MAX_FULL_ITER = 3
"""Maximum number of iterations with all rows, if self-training uses a part of them."""
FULL_TOL = 0.01
"""The iterations with all rows end when at most this fraction of the label mass changes."""
MIN_PREDICTION = 1e-6
"""Lower bound of the predictions in self-training."""
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
MIN_INVERSE_TEMPERATURE, MAX_INVERSE_TEMPERATURE = 0.1, 1000.0
MAX_CALIBRATION_ROWS = 20_000
"""Number of rows, evenly spaced, on which the temperature is fitted."""


# -- self training -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """Label distributions of another classifier, which are mixed with those of each iteration."""

    probabilities: Floats
    """(number of pairs,): the label distributions W of the rows."""
    weight: float
    """Their weight in the labels, in [0, 1]."""

    def mix(self, labels: Floats) -> Floats:
        """Return the labels of the pairs with the weight of the judge."""
        return (1.0 - self.weight) * labels + self.weight * self.probabilities


NO_JUDGE = Judge(np.zeros(1), 0.0)


@dataclass(frozen=True)
class SelfTrainingResult:
    """Result of `SelfTraining.run`."""

    label_distributions: Floats
    """P, (n, K): 0 outside the sets, rows sum to 1."""
    changes: Floats
    """(number of iterations,): the mean over the rows of sum_k |P_ik - P_ik before| / 2 in each iteration."""


@dataclass(frozen=True)
class SelfTraining:
    """Settings of a ridge and its self-training."""

    lam: float
    """Above 0: for k(x, x) of about 1, the expected noise of a target."""
    max_iter: int
    """Maximum number of iterations, at least 0. If all rows are exact, no iteration is made."""
    tol: float = 0.0
    """The iterations end when at most this fraction of the label mass changes."""
    distractors: DistractorModel = "cooccurring"
    """Model of the distractors among the main candidates."""

    def run(
        self,
        ridge: LinearLOO | NystroemRidge,
        sets: CandidateGroups,
        judge: Judge = NO_JUDGE,
        predictions: Floats | None = None,
    ) -> SelfTrainingResult:
        """Return the labels of the rows of a ridge.

        Parameters
        ----------
        ridge : LinearLOO or NystroemRidge
        sets : CandidateGroups
        judge : Judge, optional
            Its labels are mixed with those of each iteration.
        predictions : ndarray, optional
            Predictions of the pairs, by a function that was fitted to labels of some rows, from which the labels start.
        """
        predict = pair_predictor(ridge, sets)
        n_done, P = 0, judge.mix(sets.normalize(sets.weights))
        if predictions is not None:
            n_done, P = N_WARM_UP_ITER, sets.normalize(sets.weights * np.maximum(predictions, MIN_PREDICTION))
        changes: list[float] = []
        for t in range(self.max_iter if (sets.sizes > 1).any() else 0):
            new_predictions = np.maximum(predict(P), MIN_PREDICTION)
            new = judge.mix(next_labels(self.distractors, IterationState(new_predictions, P, sets, n_done + t)))
            changes.append(float(np.abs(new - P).sum() / (2.0 * len(sets.mask))))
            P = new
            if changes[-1] <= self.tol:
                break
        return SelfTrainingResult(sets.to_dense(P), np.array(changes))


@dataclass(frozen=True)
class RowSamples:
    """Indices of the rows that a step uses instead of all rows."""

    landmarks: Ints | None = None
    """Landmarks of the Nystroem form; without them the exact form is used."""
    training: Ints | None = None
    """With landmarks: rows of self-training, before a few iterations with all rows in blocks; all rows by default."""
    stacking: Ints | None = None
    """Rows on which the kernels are weighted; all by default."""


@dataclass(frozen=True)
class KernelModel:
    """A fitted function of rows."""

    kernel: KernelSum
    support: list[MappedRows]
    """Training rows or landmarks, in the representations of the kernel."""
    dual: DualCoefficients

    def scores(self, X: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of new rows, computed in blocks."""

        def block_scores(block: slice) -> Floats:
            gram = self.kernel.gram(self.kernel.transform(X[block]), self.support)
            return product(gram, self.dual.coefficients)

        blocks = map_kernel_rows(block_scores, X)
        return np.concatenate(blocks) + self.dual.means if blocks else np.empty((0, len(self.dual.means)))


@dataclass(frozen=True)
class LOORidgeSolution:
    """Result of `solve_loo_ridge`: the fitted function, and the labels to which it is fitted."""

    model: KernelModel
    kernel_weights: Floats
    """(number of kernels,): the weight of each kernel, sum 1."""
    labels: SelfTrainingResult
    scores: Floats
    """LOO(P), (n, K)."""
    judge_weight: float
    """Weight of the linear judge in the labels, in [0, 1]; 0 without one."""
    influences: tuple[Ints, Floats] | None
    """The most influential rows, and their contributions; None for the Nystroem form."""


def solve_loo_ridge(
    kernels: Sequence[RowKernel],
    blocks: BlockedRows,
    sets: CandidateGroups,
    training: SelfTraining,
    samples: RowSamples,
    *,
    use_judge: bool = False,
) -> LOORidgeSolution:
    """Weight the kernels, disambiguate the labels, and fit the function.

    Parameters
    ----------
    kernels : sequence of RowKernel
    blocks : BlockedRows
        The rows, in memory or on workers.
    sets : CandidateGroups
        Candidate sets of the rows.
    training : SelfTraining
    samples : RowSamples
    use_judge : bool
        Mix the labels with those of a linear classifier, unless self-training uses a part of the rows.

    Raises
    ------
    InputError
        If a kernel is not positive semi-definite, its values are not finite, or they would not fit in memory.
    """
    weights: Floats = np.ones(1)
    if len(kernels) > 1:
        subset = np.arange(len(sets.mask)) if samples.stacking is None else samples.stacking
        weights = weigh_kernels(kernels, blocks.take(subset), sets.select(subset), training)
        _LOG.info("LOORidge: the weights of the kernels are %s.", weights.round(3).tolist())
    selected = np.flatnonzero(weights).tolist()
    kernel = KernelSum.from_kernels([kernels[i] for i in selected], weights[selected])
    rows = blocks.take(samples.training)
    judge = fit_judge(rows, kernel, sets, training) if use_judge and samples.training is None else NO_JUDGE
    _LOG.info("LOORidge: the linear classifier has the weight %.3g in the labels.", judge.weight)
    ridge: ExactRidge | NystroemRidge
    if samples.landmarks is None:
        support = kernel.transform(rows)
        ridge = _exact_ridge(kernel, support, training.lam)
    else:
        support = kernel.transform(blocks.take(samples.landmarks))
        landmarks = Landmarks.from_rows(kernel, support, rows)
        ridge = NystroemRidge.in_memory(rows, landmarks, training.lam)
    labels = training.run(ridge, sets if samples.training is None else sets.select(samples.training), judge)
    P = labels.label_distributions
    _LOG.info("LOORidge: self-training of %d rows ended after %d iterations.", len(P), len(labels.changes))
    dual, scores = ridge.fit(P)
    influences = None
    if isinstance(ridge, ExactRidge):
        influences = top_influences(ridge, P, runner_up_classes(P, scores, sets.mask))
    if samples.training is not None:  # continue with all rows, in blocks, from the predictions of the function
        del rows, ridge
        square, predictions = blocks.map_reduce(square_and_scores, [None] * len(blocks.slices), landmarks, dual)
        ridge = NystroemRidge.in_blocks(blocks, landmarks, square, training.lam)
        training = replace(training, max_iter=MAX_FULL_ITER, tol=FULL_TOL)
        last = training.run(ridge, sets, predictions=sets.values(np.concatenate(predictions)))
        labels = replace(last, changes=np.append(labels.changes, last.changes))
        dual, scores = ridge.fit(labels.label_distributions)
    model = KernelModel(kernel, kernel.support_rows(support), dual)
    return LOORidgeSolution(model, weights, labels, scores, judge.weight, influences)


def weigh_kernels(
    kernels: Sequence[RowKernel], X: FeatureMatrix, sets: CandidateGroups, training: SelfTraining
) -> Floats:
    """Return w, (number of kernels,): at least 0, with sum 1; weights below 0.05 are replaced by 0.

    The labels are those of self-training with uniform distractors by the average of the ridges, one for each kernel.
    Unlabeled rows have no influence on the weights.
    """
    n = len(sets.mask)
    # The operator of each kernel, their average, and two matrices for each inversion in progress.
    n_bytes = 8.0 * n**2 * (len(kernels) + 1 + 2 * min(n_available_threads(), len(kernels)))
    check_memory(n_bytes, f"{len(kernels)} kernels of all pairs of {n} rows", "pass one `kernel` and one of `features`")

    def ridge(kernel: RowKernel) -> ExactRidge:
        return ExactRidge.from_gram(as_floats(kernel.gram(kernel.transform(X)), "float64"), training.lam)

    ridges = map_blocks(ridge, kernels, X)
    average = LinearLOO(sum(ridge.operator for ridge in ridges) / len(ridges))
    P = replace(training, distractors="uniform").run(average, sets).label_distributions
    residuals = np.stack([(P - ridge.predict_loo(P))[~sets.unlabeled].ravel() for ridge in ridges], axis=1)
    return simplex_least_squares(residuals)


def simplex_least_squares(residuals: Floats) -> Floats:
    """Return the w with w >= 0 and sum 1 that minimizes ||E w||^2, without small weights; E is (n, m).

    Without the constraint on the sum, ||E w||^2 + (1 - sum w)^2 has its minimum at a multiple of the same w: among all
    multiples of v with sum 1 the minimum is q / (1 + q), q = ||E v||^2, which increases with q.
    """
    size = max(float(np.sqrt((residuals**2).sum(axis=0).mean())), np.finfo(float).tiny)
    system = np.vstack([np.linalg.qr(residuals / size, mode="r"), np.ones(residuals.shape[1])])
    weights, _ = nnls(system, np.append(np.zeros(len(system) - 1), 1.0))
    weights = weights / weights.sum()
    weights[weights < MIN_KERNEL_WEIGHT] = 0.0
    return weights / weights.sum()


def _exact_ridge(kernel: KernelSum, rows: list[MappedRows], lam: float) -> ExactRidge:
    n = rows[0].shape[0]
    if not is_torch_array(rows[0]):
        # The operator, the blocks of the classes with one of them in progress, and the influences.
        check_memory(32.0 * n**2, f"the kernel of all pairs of {n} rows", 'pass approximation="nystroem"')
    if not all(hasattr(k, "feature_map") for k in kernel.kernels):
        return ExactRidge.from_gram(as_floats(kernel.gram(rows), "float64"), lam)
    gram = empty_array((n, n), rows[0], "float64")

    def fill(block: slice) -> None:  # only the upper triangle is read
        right = slice(block.start, n)
        gram[block, right] = kernel.gram(take_rows(rows, block), take_rows(rows, right))

    map_kernel_rows(fill, rows[0])
    return ExactRidge.from_gram(gram, lam)


# -- linear judge ------------------------------------------------------------------------------------------------------


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


# -- calibration -------------------------------------------------------------------------------------------------------


def fit_inverse_temperature(scores: Floats, label_distributions: Floats) -> float:
    """Return b, between .1 and 1,000; without rows or with a single class, 1.

    The result is a root of the derivative, accurate to rounding.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Leave-one-out scores of labeled rows.
    label_distributions : ndarray of shape (n, K)
        P, rows sum to 1.
    """
    step = max(1, -(-len(scores) // MAX_CALIBRATION_ROWS))
    scores, P = scores[::step], label_distributions[::step]
    n, K = scores.shape
    if n == 0 or K == 1:
        return 1.0
    e = 1.0 / (n + 2.0)
    targets = (1.0 - e) * P + e * (1.0 - P) / (K - 1)

    def derivative(log_b: float) -> float:
        return float(((targets - softmax(np.exp(log_b) * scores)) * scores).sum())

    low, high = np.log(MIN_INVERSE_TEMPERATURE), np.log(MAX_INVERSE_TEMPERATURE)
    if not derivative(low) > 0.0 > derivative(high):
        return MIN_INVERSE_TEMPERATURE if derivative(low) <= 0.0 else MAX_INVERSE_TEMPERATURE
    return float(np.exp(brentq(derivative, low, high, xtol=1e-13, rtol=1e-14)))
