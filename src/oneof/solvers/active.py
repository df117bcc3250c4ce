"""Mutual information between the label of a row, or whether it is in a subset, and the weights.

The posterior of the weights is Gaussian with the precision H (Laplace approximation).

**Labels.** The label of a row with instances x_v, one for each of its views, adds the curvatures S_v kron x_v x_v^T to
H, with S = diag p - p p^T over the first K - 1 classes. The information is half of the increase of log det H. With
R_v R_v^T = S_v and J = [.. R_v kron x_v ..] it is 1/2 log det(I + N), N = J^T H^-1 J, of size V(K - 1). A view that a
row lacks has rows and columns of 0, so that all rows of a block have matrices of one size.

**Subsets.** The answer to "is the label in the subset S?" is yes with the probability p_S = sum_{k in S} p_k, whose
gradient by the scores is g_k = p_k (1[k in S] - p_S). The curvature depends on the answer; its mean is F kron x x^T
with F = g g^T / (p_S (1 - p_S)), of rank one. (diag p - p p^T) - F is positive semi-definite, so that an answer is
never more informative than the label. For two classes both are equally informative.

**Information of an annotator's answer: one label, or two labels of which one is true.**

An answer A is given with the probability P(A | k) if the label is k, so p_A = sum_k P(A | k) p_k. Its gradient by the
scores is (diag p - p p^T) b_A, with b_A the vector of P(A | k). The mean curvature of the answer's likelihood is

    F = S M S,   S = diag p - p p^T,   M = sum_A b_A b_A^T / p_A.

An exact answer has M = diag(1 / p) and F = S. With the rates of exact answers e and of pairs r, and C_kj the
probability that j is the distractor of k,

    F = e S + r S T S,   T_kk = sum_j C_kj^2 / (C_kj p_k + C_jk p_j),   T_kj = C_kj C_jk / (C_kj p_k + C_jk p_j).

S - F is positive semi-definite: an answer is never more informative than the label. Other answers, with the rate
1 - e - r, are counted as one answer without information, which gives a lower bound.

**Greedy selection of a batch of rows by the joint information of their labels.**

The label of a row adds a curvature to the precision H that does not depend on the label. So a batch can be selected
before any of its labels is observed. With J_c R_c of the selected row c (see `mutual_information`) and L L^T = I + N_c,

    H'^-1 = H^-1 - Z Z^T,   Z = H^-1 J_c R_c L^-T,   N_i' = N_i - G_i G_i^T,   G_i = (J_i R_i)^T Z.

A selection never increases the information of another row (log det is submodular), so that the information at an
earlier selection is an upper bound. Only rows whose bound reaches the best row are updated (lazy greedy selection,
Minoux 1978), which gives the same batch.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from oneof.errors import InputError
from oneof.likelihoods import normalize_within_sets, softmax
from oneof.solvers.laplace.posterior import symmetric_roots
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints, Mask

_PRIOR_COUNT = 0.5
"""Prior count of exact answers, and of pairs."""
_PRIOR_DISTRACTORS = 1.0
"""Prior count of pairs of each class, divided equally between the distractors."""
TIE_RTOL = 1e-9
"""Relative difference of informations below which they are ties, so that rounding does not select between them."""
_BLOCK_SIZE = 2**21
"""Maximum number of entries in the instances, or the matrices, of the rows processed together."""
_CACHE_SIZE = 2**25
"""Maximum number of entries in the matrices N of all rows for which they are cached, and not computed again."""
_LAZY_BATCH = 128
"""Number of bounds that are updated first; it doubles with each update, until the best row is determined."""


class ViewInstances(NamedTuple):
    """Instances of a block of rows in one view.

    Attributes
    ----------
    rows : ndarray of shape (t,)
        Indices of the rows of the block that have the view, in increasing order.
    features : ndarray or CSR array of shape (t, D)
        Their instances: 0 outside the columns of the view.
    """

    rows: Ints
    features: FeatureMatrix


ViewLookup = Callable[[Ints], list[ViewInstances]]
"""Function that returns the views of some rows; `ViewInstances.rows` are indices into those rows."""


class Posterior(Protocol):
    """Interface of a Laplace posterior of (K - 1, D) weights, with the precision H over all weights."""

    @property
    def weights(self) -> Floats:
        """The mode, (K - 1, D)."""

    def covariance(self, left: FeatureMatrix, right: FeatureMatrix | None = None) -> Floats:
        """Return (I kron l_t)^T H^-1 (I kron r_t) for pairs of instances, (t, K - 1, K - 1)."""

    def cross_covariance(self, left: FeatureMatrix, right: FeatureMatrix) -> Floats:
        """Return (I kron l_t)^T H^-1 (I kron r_s) for all pairs of instances, (t, s, K - 1, K - 1)."""


def mutual_information(posterior: Posterior, views: list[ViewInstances], n_rows: int) -> Floats:
    """Return the mutual information between each row's label and the weights, in nats.

    Parameters
    ----------
    posterior : Posterior
    views : list of ViewInstances
        Instances of the rows, view by view; a row may lack views.
    n_rows : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n_rows,)
        1/2 log det(I + N), at least 0; 0 for rows without any view.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: equations 14 and 15.
    """
    roots = [curvature_roots(posterior.weights, view.features) for view in views]
    return half_log_determinants(whitened_covariances(posterior, views, roots, n_rows))


def curvature_roots(weights: Floats, features: FeatureMatrix) -> Floats:
    """Return R with R R^T = diag p - p p^T for each instance, (t, K - 1, K - 1).

    With u = sqrt(p), R = diag(u) (I - u u^T / (1 + sqrt(p_K))): it needs no factorization, and is exact if some p is 0.
    """
    proba = class_proba(weights, features)
    u = np.sqrt(proba[:, :-1])
    root = -u[:, :, None] * (u / (1.0 + np.sqrt(proba[:, -1:])))[:, None, :]
    diagonal = np.arange(u.shape[1])
    root[:, diagonal, diagonal] += 1.0
    root *= u[:, :, None]
    return root


def class_proba(weights: Floats, features: FeatureMatrix) -> Floats:
    """Return the probabilities of all K classes for each instance, (t, K)."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(features @ weights.T)
    if not np.isfinite(scores).all():
        raise InputError("the scores overflow float64. Scale the features, for example with StandardScaler.")
    return softmax(np.column_stack([scores, np.zeros(len(scores))]))


def whitened_covariances(
    posterior: Posterior, views: list[ViewInstances], roots: Sequence[Floats], n_rows: int
) -> Floats:
    """Return N = J^T H^-1 J of each row, (n_rows, V(K - 1), V(K - 1)), from the views and their roots R_v."""
    size = len(posterior.weights)
    whitened = np.zeros((n_rows, len(views), size, len(views), size))
    for a, (rows, features) in enumerate(views):
        whitened[rows, a, :, a] = _congruence(roots[a], posterior.covariance(features), roots[a])
        for b in range(a):
            both, at_a, at_b = np.intersect1d(rows, views[b].rows, assume_unique=True, return_indices=True)
            if len(both):
                cross = posterior.covariance(features[at_a], views[b].features[at_b])
                whitened[both, a, :, b] = _congruence(roots[a][at_a], cross, roots[b][at_b])
                whitened[both, b, :, a] = whitened[both, a, :, b].transpose(0, 2, 1)
    return whitened.reshape(n_rows, len(views) * size, len(views) * size)


def half_log_determinants(whitened: Floats) -> Floats:
    """Return 1/2 log det(I + N) of (n, q, q) positive semi-definite matrices, at least 0."""
    if whitened.shape[1] == 1:
        return 0.5 * np.log1p(np.maximum(whitened[:, 0, 0], 0.0))
    # LU, since a matrix of large entries may have no Cholesky factor because of rounding.
    determinants = np.linalg.slogdet(whitened + np.eye(whitened.shape[1]))
    return np.maximum(0.5 * determinants.logabsdet, 0.0)


def _congruence(left: Floats, middle: Floats, right: Floats) -> Floats:
    """Return L^T M R for each instance."""
    return left.transpose(0, 2, 1) @ middle @ right


# -- subsets --------------------------------------------------------------------------------------------------------


def subset_information(posterior: Posterior, views: list[ViewInstances], n_rows: int, subsets: Mask) -> Floats:
    """Return the mutual information between the weights and whether the label is in a subset, in nats.

    Parameters
    ----------
    posterior : Posterior
    views : list of ViewInstances
        Instances of the rows, view by view; a row may lack views.
    n_rows : int
        Number of rows.
    subsets : ndarray of shape (n_subsets, K), bool
        Neither empty nor full.

    Returns
    -------
    ndarray of shape (n_rows, n_subsets)
        1/2 log det(I + N), N = [f_v^T M_vu f_u] over the views, f = g / sqrt(p_S (1 - p_S)); at least 0.
    """
    size = len(posterior.weights)
    identities = [np.broadcast_to(np.eye(size), (len(view.rows), size, size)) for view in views]
    covariances = whitened_covariances(posterior, views, identities, n_rows)
    gradients = np.zeros((n_rows, len(views), size, len(subsets)))
    for v, view in enumerate(views):
        gradients[view.rows, v] = subset_gradients(posterior.weights, view, subsets)
    blocks = covariances.reshape(n_rows, len(views), size, len(views), size)
    whitened = np.einsum("tvas,tvaub,tubs->tsvu", gradients, blocks, gradients, optimize=True)
    return half_log_determinants(whitened.reshape(-1, len(views), len(views))).reshape(n_rows, len(subsets))


def subset_gradients(weights: Floats, view: ViewInstances, subsets: Mask) -> Floats:
    """Return f = g / sqrt(p_S (1 - p_S)) over the first K - 1 classes, (t, K - 1, n_subsets); 0 for certain answers."""
    proba = class_proba(weights, view.features)
    # Both sums are computed, since 1 - p_S has no correct digits if it is small.
    yes, no = proba @ subsets.T, proba @ ~subsets.T
    gradients = np.where(subsets.T, no[:, None, :], -yes[:, None, :]) * proba[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = gradients / np.sqrt(yes * no)[:, None, :]
    return np.where(np.isfinite(scaled), scaled, 0.0)[:, :-1]


# -- answer rates ------------------------------------------------------------------------------------------------------


class AnswerRates(NamedTuple):
    """Probabilities of the answers given the label.

    Attributes
    ----------
    exact : float
        Rate of answers that are one label.
    pair : float
        Rate of answers that are two labels.
    distractors : ndarray of shape (K, K)
        C: probability of each distractor (column) of a pair, given the label (row); the diagonal is 0.
    """

    exact: float
    pair: float
    distractors: Floats


def estimate_rates(evidence: Evidence, proba: Floats) -> AnswerRates:
    """Estimate the rates from given answers, with Dirichlet priors.

    Parameters
    ----------
    evidence : ndarray of shape (m, K), bool or float
        The answers. If candidates have weights, those of at least half of the largest weight are the answer.
    proba : ndarray of shape (m, K)
        Class probabilities of the same rows: within a pair, the probability that each of its classes is the label.

    Returns
    -------
    AnswerRates
    """
    top = evidence.max(axis=1, keepdims=True)
    answers = (evidence > 0) & (2.0 * evidence >= top)
    n_classes, sizes = answers.shape[1], answers.sum(axis=1)
    n_exact, n_pairs = (float(np.count_nonzero(sizes == size)) + _PRIOR_COUNT for size in (1, 2))
    n_answers = len(answers) + 2.0 * _PRIOR_COUNT
    counts = np.full((n_classes, n_classes), _PRIOR_DISTRACTORS / max(n_classes - 1, 1))
    pairs = answers[sizes == 2]
    members = np.nonzero(pairs)[1].reshape(-1, 2)
    shares = np.take_along_axis(normalize_within_sets(proba[sizes == 2], pairs), members, axis=1)
    np.add.at(counts, (members[:, 0], members[:, 1]), shares[:, 0])
    np.add.at(counts, (members[:, 1], members[:, 0]), shares[:, 1])
    np.fill_diagonal(counts, 0.0)
    totals = counts.sum(axis=1, keepdims=True)
    distractors = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    return AnswerRates(n_exact / n_answers, n_pairs / n_answers, distractors)


def answer_curvatures(proba: Floats, rates: AnswerRates) -> Floats:
    """Return F over the first K - 1 classes for each row of class probabilities, (t, K - 1, K - 1).

    With u = sqrt(p), S = diag(u) (I - u u^T) diag(u), so that F needs no division by small probabilities.
    """
    u = np.sqrt(proba)
    joint = rates.distractors * proba[:, :, None]
    total = joint + joint.transpose(0, 2, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(total > 0, 1.0 / total, 0.0)
        inner = rates.distractors * rates.distractors.T * u[:, :, None] * u[:, None, :] * inverse
        diagonal = (joint * rates.distractors * inverse).sum(axis=2)
    at = np.arange(proba.shape[1])
    inner = rates.pair * inner
    inner[:, at, at] += rates.exact + rates.pair * diagonal
    projection = -u[:, :, None] * u[:, None, :]
    projection[:, at, at] += 1.0
    projection *= u[:, :, None]
    curvatures = projection @ inner @ projection.transpose(0, 2, 1)
    return np.asarray(curvatures[:, :-1, :-1])


# -- batch selection ---------------------------------------------------------------------------------------------------


class BatchSelection(NamedTuple):
    """Rows in the order of selection, and the information of each given those before it, in nats, times the density."""

    rows: Ints
    information: Floats


def select_batch(
    posterior: Posterior,
    get_views: ViewLookup,
    n_rows: int,
    batch_size: int,
    rates: AnswerRates | None = None,
    density: Floats | None = None,
) -> BatchSelection:
    """Select rows greedily by the joint information of their labels, or of the answers.

    Parameters
    ----------
    posterior : Posterior
    get_views : callable
        Returns the views of the requested rows, so that only blocks of instances are in memory at a time.
    n_rows : int
        Number of rows to select from.
    batch_size : int
        Number of rows to select, at most `n_rows`.
    rates : AnswerRates, optional
        Probabilities of the answers given the label; by default an answer is the label.
    density : ndarray of shape (n_rows,), optional
        Positive factors of the information.

    Returns
    -------
    BatchSelection
        Ties go to the lowest row.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: section 5.
    Minoux (1978), Accelerated greedy algorithms for maximizing submodular set functions.
    """
    pool = _Pool(posterior, get_views, n_rows, rates, density)
    rows, information = np.empty(batch_size, dtype=np.int64), np.empty(batch_size)
    for step in range(batch_size):
        rows[step], information[step] = pool.best()
        if step + 1 < batch_size:
            pool.select(int(rows[step]))
    return BatchSelection(rows, information)


class _Pool:
    """Rows to select from, with the information of each at an earlier selection."""

    def __init__(
        self,
        posterior: Posterior,
        get_views: ViewLookup,
        n_rows: int,
        rates: AnswerRates | None,
        density: Floats | None,
    ) -> None:
        self.posterior, self.get_views, self.rates = posterior, get_views, rates
        self.density: Floats = np.ones(n_rows) if density is None else density
        first = get_views(np.zeros(1, dtype=np.int64))
        n_classes, n_features = posterior.weights.shape
        self.size = len(first) * n_classes
        self.size_per_row = max(len(first) * n_features, self.size**2)
        self.bound = np.full(n_rows, np.inf)
        self.updated_at = np.zeros(n_rows, dtype=np.int64)
        self.cache = np.empty((n_rows, self.size, self.size)) if n_rows * self.size**2 <= _CACHE_SIZE else None
        self.factors = np.empty((n_classes, n_features, 0))  # Z of all selections side by side
        self.n_selected = 0
        for rows in self._blocks(np.arange(n_rows)):
            self._cache(rows, self._initial(rows, *self._views_and_roots(rows)))

    def best(self) -> tuple[int, float]:
        """Return the row with the largest current information, and that information."""
        n_updated = _LAZY_BATCH
        while True:
            current = self.updated_at == self.n_selected
            top = self.bound[current].max(initial=-np.inf)
            eligible = self._at_least(top)
            stale = np.flatnonzero(eligible & ~current)
            if not len(stale):
                row = int(np.argmax(eligible))
                return row, float(self.bound[row])
            if len(stale) > n_updated:
                stale = stale[np.argpartition(-self.bound[stale], n_updated)[:n_updated]]
            for rows in self._blocks(stale[np.argsort(-self.updated_at[stale], kind="stable")]):
                self._cache(rows, self._current(rows, *self._views_and_roots(rows)))
            n_updated *= 2

    def select(self, row: int) -> None:
        """Add the curvature of a row to the precision, and remove the row from the pool."""
        rows = np.array([row])
        views, roots = self._views_and_roots(rows)
        whitened = self._current(rows, views, roots)[0]
        n_classes, n_features, _ = self.factors.shape
        columns = np.zeros((n_classes, n_features, len(views), n_classes))
        identity = sp.eye_array(n_features, format="csr")
        for v, (view, root) in enumerate(zip(views, roots)):
            if len(view.rows):
                # With the unit vectors on the left these are the columns of H^-1 (I kron x).
                solved = self.posterior.cross_covariance(identity, view.features)[:, 0]
                columns[:, :, v] = solved.transpose(1, 0, 2) @ root[0]
        solved = columns.reshape(n_classes, n_features, self.size)
        solved -= self.factors @ self._downdates(views, roots, 1, 0)[0].T
        lower = cholesky(np.eye(self.size) + whitened, lower=True)
        factor = solve_triangular(lower, solved.reshape(-1, self.size).T, lower=True).T
        self.factors = np.concatenate([self.factors, factor.reshape(solved.shape)], axis=2)
        self.n_selected += 1
        self.bound[row], self.updated_at[row] = -np.inf, -1

    def _at_least(self, top: float) -> Mask:
        in_pool = self.updated_at >= 0
        return in_pool & (self.bound >= top - TIE_RTOL * top) if np.isfinite(top) else in_pool

    def _blocks(self, rows: Ints) -> Iterator[Ints]:
        """Split rows into blocks by the memory of their instances and of the selections since their last update."""
        while len(rows):
            n_missing = self.n_selected - (0 if self.cache is None else int(self.updated_at[rows].min()))
            block = max(1, _BLOCK_SIZE // max(self.size_per_row, self.size**2 * n_missing))
            yield rows[:block]
            rows = rows[block:]

    def _views_and_roots(self, rows: Ints) -> tuple[list[ViewInstances], list[Floats]]:
        views = self.get_views(rows)
        return views, [self._roots(view) for view in views]

    def _roots(self, view: ViewInstances) -> Floats:
        if self.rates is None:
            return curvature_roots(self.posterior.weights, view.features)
        return symmetric_roots(answer_curvatures(class_proba(self.posterior.weights, view.features), self.rates))

    def _cache(self, rows: Ints, whitened: Floats) -> None:
        self.bound[rows] = half_log_determinants(whitened) * self.density[rows]
        self.updated_at[rows] = self.n_selected
        if self.cache is not None:
            self.cache[rows] = whitened

    def _initial(self, rows: Ints, views: list[ViewInstances], roots: list[Floats]) -> Floats:
        """Return N of rows before any selection."""
        return whitened_covariances(self.posterior, views, roots, len(rows))

    def _current(self, rows: Ints, views: list[ViewInstances], roots: list[Floats]) -> Floats:
        """Return the current N of rows."""
        if self.cache is None:
            whitened, updated_at = self._initial(rows, views, roots), np.zeros(len(rows), dtype=np.int64)
        else:
            whitened, updated_at = self.cache[rows], self.updated_at[rows]
        oldest = int(updated_at.min())
        if oldest < self.n_selected:
            downdates = self._downdates(views, roots, len(rows), oldest)
            # Downdates that a row's matrix already contains are not applied again.
            applied = np.repeat(np.arange(oldest, self.n_selected), self.size) < updated_at[:, None]
            np.copyto(downdates, 0.0, where=applied[:, None, :])
            whitened = whitened - downdates @ downdates.transpose(0, 2, 1)
        return whitened

    def _downdates(self, views: list[ViewInstances], roots: list[Floats], n_rows: int, oldest: int) -> Floats:
        """Return (J R)^T Z of rows, (n_rows, V(K - 1), q), for the selections from `oldest` on."""
        factors = self.factors[:, :, oldest * self.size :]
        n_classes, n_features, width = factors.shape
        flat = factors.transpose(1, 0, 2).reshape(n_features, n_classes * width)
        downdates = np.zeros((n_rows, len(views), n_classes, width))
        for v, (view, root) in enumerate(zip(views, roots)):
            scores = np.asarray(view.features @ flat).reshape(len(view.rows), n_classes, width)
            downdates[view.rows, v] = root.transpose(0, 2, 1) @ scores
        return downdates.reshape(n_rows, self.size, width)
