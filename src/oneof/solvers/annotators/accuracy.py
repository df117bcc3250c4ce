"""The accuracy of each source, the probability that its answer names the true class, with an interval.

r_j is the posterior mean under a Beta prior of strength s at the accuracy r of all sources:

    r_j = (c_j + s r) / (n_j + s),  c_j = sum_i p_ij,  p_ij = sum_{k in a_ij} mu_ik.

The true classes are uncertain, and the answers of all sources determine them together. In the logits of r, the
information of the labels that are missing is the covariance of z_ij = [a_ij names the true class] (Louis 1982):

    I_jl = [j = l] (n_j + s) r_j (1 - r_j) - sum_i (P(z_ij = z_il = 1) - p_ij p_il).

The variance of r_j is (r_j (1 - r_j))^2 (I^-1)_jj, and the interval is that of the Beta distribution of this mean and
variance. With many sources only the diagonal of I is used. Answers count as in the M-step of `dawid_skene`.

The accuracy of source j in the rows of class k has the same formula. Its answers to these rows are expected to number
n_jk = sum_i mu_ik over the rows that j answered, and those that name the class c_jk = sum_i mu_ik [k in a_ij]. The
prior is at r_j:

    r_jk = (c_jk + s r_j) / (n_jk + s),
    I_jk = (n_jk + s) r_jk (1 - r_jk) - sum_i mu_ik (1 - mu_ik) ([k in a_ij] - r_jk)^2.

Covariances between the r_jk change the intervals by less than 3 %. If r_j is the accuracy in every class, the c_jk of
the c_j correct answers are hypergeometric given the n_jk (Fisher 1935). The expected numbers have a smaller variance
than the true ones, so their test has at most its nominal level.

The answers identify the accuracies of sources that are compared with one another (`identified_sources`).

**Pairs of sources that agree more often than the model expects: one copies the other, or both a third one.**

Let mu^-jh be the posterior of the labels without the answers of j and h. The expected number of agreements about the
rows that both answered is E = sum_i e_i, with e_i = sum_k mu^-jh_ik sum_a theta_jka theta_hka, and its variance is
sum_i e_i (1 - e_i). If h copies a fraction c of the answers of j, the agreement is c n + (1 - c) E; the estimate of c
is (O - E) / (n - E). The sum over a has the answers of one size: e_i = 0 if one answer is a set and the other a label.

The sum over a has the answers that both sources gave; other answers, which cannot be equal in these rows, are omitted.
With very many answers, only those of the first rows are counted.

The pairs are a report: answers that may be copied count as independent ones. Copies confirm one another in the model,
so their estimated accuracy is too high. If half of the answers are copied, a pair may not be found.

**The information that the answer of a source would give about the label of a row.**

The row has the posterior mu, and the source the confusion matrix theta. The mutual information of the label and the
answer, in nats, is

    H(sum_k mu_k theta_k) - sum_k mu_k H(theta_k).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.stats import beta, hypergeom, norm

from oneof.likelihoods import entropy, softmax
from oneof.solvers.annotators.dawid_skene import MIN_RATE, STRENGTH, AnswerColumns
from oneof.typing import Floats, Ints, Mask

MAX_JOINT_SOURCES, MAX_JOINT_PAIRS = 1000, 20_000_000
"""Limits of the sources, and of the pairs of answers to one row, up to which I is a matrix: 8 MB, and a second."""
MIN_INFORMATION = 0.02
"""Lower bound of an eigenvalue of I relative to complete information: a direction that the answers do not determine."""
MAX_SIZE = 1e15
"""Upper bound of the size of a Beta distribution; SciPy's quantiles of larger ones can be NaN."""
MIN_COMPARED = 10
"""Number of answers that can be compared from which an accuracy is identified: the standard error of an agreement is
then at most .16."""
MIN_SHARED, TEST_LEVEL = 10, 0.01
"""Number of common rows of a pair that is tested, and level of the test of all pairs together."""
MIN_COPIED = 0.25
"""Least reported fraction. Errors on difficult rows, which honest annotators share, exceed the expected agreement too:
by a fraction of up to .2 in simulations with a fifth of such rows, and significantly so with thousands of rows."""
MAX_SHARED_ANSWERS, MAX_TESTED = 20_000_000, 2000
"""Number of pairs of answers to one row that are counted, and of pairs of sources that are tested: seconds."""
BLOCK_ENTRIES = 20_000_000


class SourceAccuracies(NamedTuple):
    """Accuracies of sources, or of sources in the rows of each class."""

    accuracy: Floats
    """r, (J,) or (J, K)."""
    interval: Floats
    """Lower and upper ends, with a last axis of 2."""
    n_answers: Floats
    """n, of the shape of r."""


def estimate_accuracies(
    columns: AnswerColumns,
    posterior: Floats,
    *,
    coverage: float,
    counted: Floats | None = None,
    strength: float = STRENGTH,
) -> SourceAccuracies:
    """Return the accuracies of the sources, with equal-tailed intervals of some probability.

    Parameters
    ----------
    columns : AnswerColumns
    posterior : ndarray of shape (n, K)
        mu, of all answers.
    coverage : float
        In (0, 1).
    counted : ndarray of shape (m,), optional
        The weights of the answers, such as `AnswerColumns.answer_counts`; by default 1.
    strength : float
        s.
    """
    J, source = columns.n_sources, columns.answer_source
    proba = columns.answer_probabilities(posterior)
    count = np.ones(len(source)) if counted is None else counted
    totals: Floats = np.bincount(source, weights=count, minlength=J).astype(np.float64)
    right: Floats = np.bincount(source, weights=count * proba, minlength=J).astype(np.float64)
    rate = (right.sum() + 1.0) / (totals.sum() + 2.0)
    strength = max(strength, MIN_RATE)
    accuracy = np.clip((right + strength * rate) / (totals + strength), MIN_RATE, 1.0 - MIN_RATE)
    complete = (totals + strength) * accuracy * (1.0 - accuracy)
    missing = _missing_information(columns, posterior, proba, count)
    if missing.ndim == 2:
        variance = variances(np.diag(complete) - missing, complete, MIN_INFORMATION)
    else:
        variance = 1.0 / np.maximum(complete - missing, MIN_INFORMATION * complete)
    n_answers: Floats = np.bincount(source, minlength=J).astype(np.float64)
    return SourceAccuracies(accuracy, beta_intervals(accuracy, variance, coverage), n_answers)


def estimate_class_accuracies(
    columns: AnswerColumns, posterior: Floats, accuracy: Floats, *, coverage: float, strength: float = STRENGTH
) -> SourceAccuracies:
    """Return the accuracies of the sources by class, with equal-tailed intervals of some probability.

    Parameters
    ----------
    columns : AnswerColumns
    posterior : ndarray of shape (n, K)
        mu, of all answers.
    accuracy : ndarray of shape (J,)
        The accuracies of the sources in all classes, in (0, 1).
    coverage : float
        In (0, 1).
    strength : float
        s.
    """
    right, totals = count_by_class(columns, posterior)
    strength = max(strength, MIN_RATE)
    rates = (right + strength * accuracy[:, None]) / (totals + strength)
    rates = np.clip(rates, MIN_RATE, 1.0 - MIN_RATE)
    complete = (totals + strength) * rates * (1.0 - rates)
    spread = np.asarray(columns.counts().T @ (posterior * (1.0 - posterior)))
    missing = columns.sum_by_source() @ (spread * (columns.sets - rates[columns.source]) ** 2)
    variance = 1.0 / np.maximum(complete - missing, MIN_INFORMATION * complete)
    return SourceAccuracies(rates, beta_intervals(rates, variance, coverage), totals)


def variances(information: Floats, complete: Floats, min_share: float) -> Floats:
    """Return the diagonal of the inverse of a (J, J) information matrix.

    Its eigenvalues relative to the complete information, (J,), are at least `min_share`.
    """
    scale = 1.0 / np.sqrt(complete)
    values, vectors = np.linalg.eigh(scale[:, None] * information * scale)
    return np.asarray(scale**2 * (vectors**2 @ (1.0 / np.maximum(values, min_share))))


def beta_intervals(accuracy: Floats, variance: Floats, coverage: float) -> Floats:
    """Return equal-tailed intervals of Beta distributions, with a last axis of 2; the variances are those of logits."""
    spread = accuracy * (1.0 - accuracy)
    size = np.clip(1.0 / (spread * variance) - 1.0, 1.0, MAX_SIZE)
    tails = np.array([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
    return np.asarray(beta.ppf(tails, (size * accuracy)[..., None], (size * (1.0 - accuracy))[..., None]))


def identified_sources(columns: AnswerColumns, posterior: Floats, *, are_rules: bool) -> Mask:
    """Return whether the answers identify the accuracy of each source, (J,).

    `MIN_COMPARED` answers of the source to rows with known labels do. Otherwise it needs as many answers, or all of its
    answers, to rows with other answers. The agreement of each pair is one equation for two accuracies, so sources that
    are connected by common rows need an odd cycle of pairs. At least `MIN_COMPARED` common rows must not belong to the
    pairs of a spanning tree, because few rows do not determine an agreement. No source is identified if one class
    explains all answers, although they name several, or by votes of rules.

    Parameters
    ----------
    columns : AnswerColumns
    posterior : ndarray of shape (n, K)
    are_rules : bool
    """
    J, source = columns.n_sources, columns.answer_source
    is_checked = columns.count_by_source(columns.is_known) >= MIN_COMPARED
    has_one_class = len(np.unique(posterior[columns.n_answers > 0].argmax(axis=1))) < 2
    if are_rules or (has_one_class and len(np.unique(columns.answer)) > 1):
        return np.asarray(is_checked)
    compared = columns.count_by_source(columns.n_answers > 1) >= np.clip(
        np.bincount(source, minlength=J), 1, MIN_COMPARED
    )
    row, source = columns.row[compared[source]], source[compared[source]]
    links = sp.coo_array((np.ones(len(row)), (source, J + row)), shape=(J + columns.n_rows, J + columns.n_rows))
    component = connected_components(links, directed=False)[1]
    # A row with three answers has an odd cycle, of which at most two pairs are in a tree.
    triples = np.flatnonzero(np.bincount(row, minlength=columns.n_rows) >= 3)
    has_cycle = np.bincount(component[J + triples], minlength=J + columns.n_rows)[component[:J]] >= MIN_COMPARED
    rest = ~has_cycle[source]
    has_cycle |= _have_odd_cycles(
        sp.csr_array((np.ones(rest.sum()), (source[rest], row[rest])), shape=(J, columns.n_rows))
    )
    return np.asarray(is_checked | (compared & has_cycle))


def _have_odd_cycles(given: sp.csr_array) -> Mask:
    """Return whether each source is connected with an odd cycle of pairs, (J,), from the 0/1 matrix of its rows."""
    J = given.shape[0]
    pairs = sp.triu(given @ given.T, k=1).tocsr()
    tree = -minimum_spanning_tree(-pairs)  # of the pairs with the most common rows
    n_components, component = connected_components(pairs, directed=False)
    outside = np.bincount(component, weights=(pairs - tree).sum(axis=1), minlength=n_components)
    # Without an odd cycle, the two copies of a source are not connected if each pair connects different copies.
    doubled = sp.block_array([[None, pairs + pairs.T], [pairs + pairs.T, None]])
    copy = connected_components(doubled, directed=False)[1]
    return np.asarray((copy[:J] == copy[J:]) & (outside[component] >= MIN_COMPARED))


def chance_accuracies(columns: AnswerColumns, posterior: Floats) -> Floats:
    """Return the accuracies of the sources if they gave their answers to rows at random, (J,)."""
    frequency = posterior.mean(axis=0) if len(posterior) else np.zeros(columns.n_classes)
    named = (columns.sets @ frequency)[columns.column]
    totals = np.bincount(columns.answer_source, minlength=columns.n_sources)
    return np.bincount(columns.answer_source, weights=named, minlength=columns.n_sources) / np.maximum(totals, 1)


def _missing_information(columns: AnswerColumns, posterior: Floats, proba: Floats, count: Floats) -> Floats:
    """Return the covariances of the z_ij given the answers, summed over the rows: (J, J), or the diagonal (J,).

    Only answers that are alone in their row have a `count` below 1: their covariances are variances.
    """
    J, source, K = columns.n_sources, columns.answer_source, columns.n_classes
    pairs = float((columns.n_answers.astype(np.float64) ** 2).sum())
    if J > MAX_JOINT_SOURCES or pairs > MAX_JOINT_PAIRS:
        return np.bincount(source, weights=count * proba * (1.0 - proba), minlength=J).astype(np.float64)
    answer, label = np.nonzero(columns.sets[columns.column])
    row = columns.row[answer]
    root = np.sqrt(count)
    roots = root[answer] * np.sqrt(posterior[row, label])
    named = sp.csr_array((roots, (source[answer], row * K + label)), shape=(J, columns.n_rows * K))
    means = sp.csr_array((root * proba, (source, columns.row)), shape=(J, columns.n_rows))
    return np.asarray((named @ named.T - means @ means.T).toarray())


def count_by_class(columns: AnswerColumns, posterior: Floats) -> tuple[Floats, Floats]:
    """Return the expected numbers of correct answers and of answers, c and n, (J, K)."""
    by_column = np.asarray(columns.counts().T @ posterior)
    by_source = columns.sum_by_source()
    return np.asarray(by_source @ (by_column * columns.sets)), np.asarray(by_source @ by_column)


def equal_accuracy_p_values(columns: AnswerColumns, posterior: Floats) -> Floats:
    """Return p-values, (J, K), of the two-sided test that the accuracy in a class is that in the other classes.

    The expected numbers are rounded.
    """
    right, totals = count_by_class(columns, posterior)
    sizes = np.rint(totals).astype(np.int64)
    correct = np.minimum(np.rint(right).astype(np.int64), sizes)
    total, n_correct = sizes.sum(axis=1, keepdims=True), correct.sum(axis=1, keepdims=True)
    p_values = np.ones(totals.shape)
    used = (sizes > 0) & (sizes < total)
    total, n_correct = (np.broadcast_to(value, sizes.shape)[used] for value in (total, n_correct))
    lower = hypergeom.cdf(correct[used], total, n_correct, sizes[used])
    upper = hypergeom.sf(correct[used] - 1, total, n_correct, sizes[used])
    p_values[used] = np.minimum(2.0 * np.minimum(lower, upper), 1.0)
    return p_values


# -- copies ------------------------------------------------------------------------------------------------------------


class CopiedPair(NamedTuple):
    """Two annotators who agree far more often than the model expects.

    Attributes
    ----------
    annotators : tuple of two names
    n_shared : int
        Number of rows that both answered.
    agreement : float
        The fraction of these rows with equal answers.
    expected_agreement : float
        The fraction that the model expects, given the answers of the others.
    copied : float
        Estimated fraction of the answers of one that are copies of the other, at most 1.
    z_score : float
        The excess of equal answers, divided by the square root of its variance plus 1/4.

    Examples
    --------
    >>> from oneof.crowd import AnnotatorModel
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(4, size=300)
    >>> table = np.where(rng.random((300, 8)) < 0.7, labels[:, None], rng.integers(4, size=(300, 8)))
    >>> table[:, 7] = table[:, 0]
    >>> [pair.annotators for pair in AnnotatorModel().fit(table).copied_pairs_]
    [(0, 7)]
    """

    annotators: tuple[Any, Any]
    n_shared: int
    agreement: float
    expected_agreement: float
    copied: float
    z_score: float


def find_copies(columns: AnswerColumns, log_joint: Floats, log_likelihoods: Floats) -> list[CopiedPair]:
    """Return the pairs of sources, by their numbers, whose agreement is far above the expected one.

    Parameters
    ----------
    columns : AnswerColumns
    log_joint : ndarray of shape (n, K)
        The logarithms of the posterior of the labels, up to a constant for each row.
    log_likelihoods : ndarray of shape (P, K)
        log p(answer | class) of the columns.
    """
    first, second, n_pairs = _likely_pairs(columns)
    order = np.argsort(columns.answer_source, kind="stable")
    starts = np.searchsorted(columns.answer_source[order], np.arange(columns.n_sources + 1))
    sizes = np.count_nonzero(columns.sets, axis=1)
    limit = norm.isf(TEST_LEVEL / max(n_pairs, 1))
    found = []
    for j, h in zip(first.tolist(), second.tolist(), strict=True):
        a, b = (order[starts[s] : starts[s + 1]] for s in (j, h))
        rows, in_a, in_b = np.intersect1d(columns.row[a], columns.row[b], return_indices=True)
        a, b = columns.column[a[in_a]], columns.column[b[in_b]]
        labels = softmax(log_joint[rows] - log_likelihoods[a] - log_likelihoods[b])
        e = np.zeros(len(rows))
        for s in np.unique(sizes[a[sizes[a] == sizes[b]]]):
            alike = (sizes[a] == s) & (sizes[b] == s)
            agreement = _agreement_probabilities(columns, log_likelihoods, j, h, sizes == s)
            e[alike] = np.minimum(labels[alike] @ agreement, 1.0)
        n, o, expected = len(rows), np.count_nonzero(columns.answer[a] == columns.answer[b]), float(e.sum())
        copied = float(min((o - expected) / max(n - expected, 1e-9), 1.0))
        z_score = float((o - expected) / np.sqrt((e * (1.0 - e)).sum() + 0.25))
        if z_score > limit and copied >= MIN_COPIED:
            found.append(CopiedPair((j, h), n, o / n, expected / n, copied, z_score))
    return sorted(found, key=lambda pair: -pair.z_score)


def _likely_pairs(columns: AnswerColumns) -> tuple[Ints, Ints, int]:
    """Return the pairs of sources with the most agreements, relative to one half, and the number of all pairs."""
    J = columns.n_sources
    pairs = np.cumsum(np.bincount(columns.row, minlength=columns.n_rows).astype(np.float64) ** 2)
    kept = pairs[columns.row] <= MAX_SHARED_ANSWERS
    source, row, column = columns.answer_source[kept], columns.row[kept], columns.column[kept]
    one = np.ones(len(row))
    given = sp.csr_array((one, (source, row)), shape=(J, columns.n_rows))
    _, key = np.unique(row * (int(columns.answer.max(initial=0)) + 1) + columns.answer[column], return_inverse=True)
    equal = sp.csr_array((one, (source, key.ravel())), shape=(J, int(key.max(initial=0)) + 1))
    shared = sp.triu(given @ given.T, k=1).tocoo()
    enough = shared.data >= MIN_SHARED
    first, second, n = shared.row[enough], shared.col[enough], shared.data[enough]
    if not len(first):
        return first, second, 0
    n_equal = np.asarray((equal @ equal.T).tocsr()[first, second]).ravel()
    likely = np.argsort(-(n_equal - 0.5 * n) / np.sqrt(n), kind="stable")[:MAX_TESTED]
    return first[likely], second[likely], len(first)


def _agreement_probabilities(columns: AnswerColumns, log_likelihoods: Floats, j: int, h: int, used: Mask) -> Floats:
    """Return sum_a p(a | k, j) p(a | k, h), (K,), over the answers of one size that both gave."""
    one, other = (np.flatnonzero(used & (columns.source == s)) for s in (j, h))
    a, b = np.nonzero(columns.answer[one][:, None] == columns.answer[other][None, :])
    return np.asarray(np.exp(log_likelihoods[one[a]] + log_likelihoods[other[b]]).sum(axis=0))


# -- questions ---------------------------------------------------------------------------------------------------------


def answer_information(posterior: Floats, confusion: Floats) -> Floats:
    """Return the information of each pair of a row and a source, (n, J).

    Parameters
    ----------
    posterior : ndarray of shape (n, K)
    confusion : ndarray of shape (J, K, K)
        theta, from true class to answer.
    """
    J, K, _ = confusion.shape
    conditional = posterior @ np.asarray(entropy(confusion.reshape(-1, K))).reshape(J, K).T
    information = np.empty((len(posterior), J))
    block = max(1, BLOCK_ENTRIES // max(J * K, 1))
    mixture = confusion.transpose(1, 0, 2).reshape(K, J * K)
    for start in range(0, len(posterior), block):
        answers = (posterior[start : start + block] @ mixture).reshape(-1, K)
        information[start : start + block] = np.asarray(entropy(answers)).reshape(-1, J)
    return np.maximum(information - conditional, 0.0)
