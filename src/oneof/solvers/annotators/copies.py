"""Pairs of sources that agree more often than the model expects: one copies the other, or both a third one.

Copies are counted as independent evidence by the model, and confirm one another: their estimated accuracy is then near
1, and their agreement is as expected. Therefore the test is made in a model in which equal answers of sources that
agree unusually often count as one (`group_copies`, v_ij in `dawid_skene`). An answer in which they differ was not
copied, and counts in full. The expected agreement is that given the other sources.

Let mu^-jh be the posterior of the labels without the answers of j and h. The expected number of agreements about the
rows that both answered is E = sum_i e_i, with e_i = sum_k mu^-jh_ik sum_a theta_jka theta_hka. Its variance is
sum_i e_i (1 - e_i). If h copies a fraction c of the answers of j, the agreement is c n + (1 - c) E; the estimate of c
is (O - E) / (n - E). The sum over a has the answers of one size: e_i = 0 if one answer is a set and the other a label.

Two accurate sources among inaccurate ones also agree unusually often. If they count as one, the others outweigh them,
their estimated accuracies are too low, and so is E. Therefore each group has to pass a second test, which does not
depend on E: copies are confirmed if the likelihood of all answers with copied ones (`copy_log_likelihoods`) is larger
than that of the model fitted to the sources of the group as independent ones, by `N_STANDARD_ERRORS` (Vuong 1989).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp
from scipy.stats import norm

from oneof.likelihoods import softmax
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.dawid_skene import AnnotatorSolution, solve_annotators
from oneof.typing import Floats, Ints, Mask

MIN_SHARED, MIN_COPIED, TEST_LEVEL = 10, 0.5, 0.01
"""Number of rows that both sources answered, fraction of copied answers, and level of the test for all pairs."""
NOTE_LEVEL = 0.05
"""Level of the closest pair, which is named and not merged."""
USUAL_QUANTILE = 0.75
"""Quantile of the agreement of a source with the others that is usual."""
MIN_SOURCES = 8
"""Number of sources of which two are at most a quarter, 1 - USUAL_QUANTILE: copies among fewer are seldom found."""
N_STANDARD_ERRORS, MAX_GROUPS = 1.0, 10
"""Gain in the likelihood by which copies are confirmed, and number of groups that are tested one by one."""
N_COPY_STEPS, MAX_COPIED = 20, 0.999
"""Number of EM steps for the fraction of copied answers, and its upper bound."""
MAX_SHARED_ANSWERS, MAX_TESTED = 20_000_000, 2000
"""Number of pairs of answers to one row that are counted, and of pairs of sources that are tested."""


@dataclass(frozen=True)
class CopiedPairs:
    """Pairs of sources, in decreasing order of the z-score."""

    first: Ints
    second: Ints
    shared: Ints
    """n: rows that both answered."""
    observed: Floats
    """O / n: the fraction of equal answers."""
    expected: Floats
    """E / n."""
    copied: Floats
    """c, at most 1."""
    z_score: Floats
    """(O - E) / sqrt(variance + 1/4): with the correction, a pair with an expected agreement near n is not found."""


class SharedAnswers(NamedTuple):
    """Pairs of sources with enough common rows."""

    first: Ints
    second: Ints
    shared: Floats
    """Number of common rows with two answers of equal size: others cannot be equal, and depend on the use of sets."""
    equal: Floats
    """Number of equal answers about them."""


def count_shared_answers(columns: AnswerColumns) -> SharedAnswers:
    """Count the common rows and the equal answers of all pairs of sources."""
    J, n = columns.n_sources, columns.n_rows
    order = np.bincount(columns.row, minlength=n).astype(np.float64) ** 2
    kept = np.cumsum(order)[columns.row] <= MAX_SHARED_ANSWERS
    source, row = columns.answer_source[kept], columns.row[kept]
    one = np.ones(len(row))
    size = np.count_nonzero(columns.sets, axis=1)[columns.column[kept]]
    _, sized_row = np.unique(row * (columns.n_classes + 1) + size, return_inverse=True)
    present = sp.csr_array((one, (source, sized_row.ravel())), shape=(J, int(sized_row.max(initial=0)) + 1))
    present.data[:] = 1.0
    shared = (present @ present.T).tocoo()
    enough = (shared.data >= MIN_SHARED) & (shared.row < shared.col)
    first, second, n_shared = shared.row[enough], shared.col[enough], shared.data[enough]
    key = row * (int(columns.answer.max(initial=0)) + 1) + columns.answer[columns.column[kept]]
    _, key = np.unique(key, return_inverse=True)
    given = sp.csr_array((one, (source, key.ravel())), shape=(J, int(key.max(initial=0)) + 1))
    given.data[:] = 1.0
    equal = np.asarray((given @ given.T).tocsr()[first, second]).ravel()
    return SharedAnswers(first, second, n_shared, np.minimum(equal, n_shared))


def group_copies(pairs: SharedAnswers, n_sources: int) -> Ints:
    """Return a group of each source, (J,): sources that agree with each other far more often than with most others."""
    first, second, shared, equal = pairs
    if not len(first):
        return np.arange(n_sources)
    rate = (equal + 1.0) / (shared + 2.0)
    source, rates = np.concatenate([first, second]), np.concatenate([rate, rate])
    order = np.lexsort((rates, source))
    n_pairs = np.bincount(source, minlength=n_sources)
    starts = np.cumsum(n_pairs) - n_pairs
    last = len(order) - 1
    usual = rates[order][np.minimum(starts + (USUAL_QUANTILE * np.maximum(n_pairs - 1, 0)).astype(np.int64), last)]
    others = np.maximum(usual[first], usual[second])
    z, copied = _excess(shared, equal, others)
    kept = (z > _threshold(len(first))) & (copied >= MIN_COPIED)
    return _groups(first[kept], second[kept], n_sources)


def closest_pair(pairs: SharedAnswers) -> tuple[int, int] | None:
    """Return the two sources that agree far more often than every other pair of sources, None if there are none.

    They may be copies, or the only two accurate sources: the agreement alone does not distinguish these.
    """
    first, second, shared, equal = pairs
    if len(first) < 2:
        return None
    rate = (equal + 1.0) / (shared + 2.0)
    best, largest = int(np.argmax(rate)), float(np.sort(rate)[-2])
    z, copied = _excess(shared[best], equal[best], largest)
    is_close = z > _threshold(len(first), NOTE_LEVEL) and copied >= MIN_COPIED
    return (int(first[best]), int(second[best])) if is_close else None


def find_copies(
    columns: AnswerColumns, pairs: SharedAnswers, log_joint: Floats, log_likelihoods: Floats, weight: Floats
) -> CopiedPairs:
    """Return the pairs of sources whose agreement is far above the expected one.

    Parameters
    ----------
    columns : AnswerColumns
    pairs : SharedAnswers
    log_joint : ndarray of shape (n, K)
        The logarithms of the posterior of the labels, up to a constant for each row.
    log_likelihoods : ndarray of shape (P, K)
        log p(answer | class) of the columns.
    weight : ndarray of shape (m,)
        The weights of the answers in `log_joint`.
    """
    n_pairs = len(pairs.first)
    likely = np.argsort(-(pairs.equal - 0.5 * pairs.shared) / np.sqrt(pairs.shared), kind="stable")[:MAX_TESTED]
    order = np.argsort(columns.answer_source, kind="stable")
    starts = np.searchsorted(columns.answer_source[order], np.arange(columns.n_sources + 1))
    sizes = np.count_nonzero(columns.sets, axis=1)
    table = []
    for j, h, o in zip(pairs.first[likely], pairs.second[likely], pairs.equal[likely]):
        a, b = (order[starts[s] : starts[s + 1]] for s in (j, h))
        rows, in_a, in_b = np.intersect1d(columns.row[a], columns.row[b], return_indices=True)
        a, b = a[in_a], b[in_b]
        v, w = weight[a][:, None], weight[b][:, None]
        a, b = columns.column[a], columns.column[b]
        labels = softmax(log_joint[rows] - v * log_likelihoods[a] - w * log_likelihoods[b])
        e = np.zeros(len(rows))
        for s in np.unique(sizes[a[sizes[a] == sizes[b]]]):
            alike = (sizes[a] == s) & (sizes[b] == s)
            agreement = _agreement_probabilities(columns, log_likelihoods, int(j), int(h), sizes == s)
            e[alike] = np.minimum(labels[alike] @ agreement, 1.0)
        variance = float((e * (1.0 - e)).sum())
        n = len(rows)
        excess = float(o - e.sum())
        table.append((j, h, n, o / n, e.mean(), excess / max(n - e.sum(), 1e-9), excess / np.sqrt(variance + 0.25)))
    values = np.array(table, dtype=np.float64).reshape(-1, 7)
    values = values[(values[:, 6] > _threshold(n_pairs)) & (values[:, 5] >= MIN_COPIED)]
    values = values[np.argsort(-values[:, 6], kind="stable")]
    first, second, shared = values[:, :3].T.astype(np.int64)
    return CopiedPairs(first, second, shared, values[:, 3], values[:, 4], values[:, 5], values[:, 6])


def solve_independent(
    columns: AnswerColumns, start: Floats, *, merge_copies: bool, **options: Any
) -> tuple[AnnotatorSolution, CopiedPairs, Floats]:
    """Return the solution in which copies count as one, the pairs of copies, and the weights of the answers, (m,).

    Parameters
    ----------
    columns : AnswerColumns
    start : ndarray of shape (n, K)
    merge_copies : bool
        If False, copies are found, but not merged.
    **options
        Other arguments of `solve_annotators`.
    """

    def solve(weight: Floats) -> AnnotatorSolution:
        return solve_annotators(columns, start, answer_weight=None if (weight == 1.0).all() else weight, **options)

    shared = count_shared_answers(columns)
    weight = copy_weights(columns, group_copies(shared, columns.n_sources))
    solution = solve(weight)
    pairs = find_copies(columns, shared, solution.log_joint, solution.model.log_likelihoods(columns), weight)
    pairs = _confirm_copies(columns, pairs, solve)
    copies = (
        copy_weights(columns, groups_of_pairs(pairs, columns.n_sources)) if merge_copies else np.ones(len(columns.row))
    )
    return (solution if np.array_equal(copies, weight) else solve(copies)), pairs, copies


def _confirm_copies(
    columns: AnswerColumns, pairs: CopiedPairs, solve: Callable[[Floats], AnnotatorSolution]
) -> CopiedPairs:
    """Return the pairs of the groups for which copies predict the answers better than independent sources.

    The largest groups are tested one by one, and all others together.
    """
    group = groups_of_pairs(pairs, columns.n_sources)
    sizes = np.bincount(group)
    groups = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes > 1)]
    if not len(groups):
        return pairs
    with_copies = copy_log_likelihoods(columns, solve(copy_weights(columns, group)), group)
    confirmed = np.ones(len(pairs.first), dtype=bool)
    for tested in (*groups[:MAX_GROUPS, None], groups[MAX_GROUPS:]):
        in_tested = np.isin(group, tested)
        if in_tested.any():
            apart = np.where(in_tested, len(sizes) + np.arange(len(group)), group)
            apart = np.unique(apart, return_inverse=True)[1].ravel()
            gains = with_copies - copy_log_likelihoods(columns, solve(copy_weights(columns, apart)), apart)
            if gains.sum() <= N_STANDARD_ERRORS * gains.std() * np.sqrt(len(gains)):
                confirmed &= ~in_tested[pairs.first]
    return CopiedPairs(*(getattr(pairs, field.name)[confirmed] for field in fields(pairs)))


def copy_log_likelihoods(columns: AnswerColumns, solution: AnnotatorSolution, group: Ints) -> Floats:
    """Return the log-likelihood of the answers to each row, (n,), if the sources of a group copy from one another.

    Within a group, the answer of a source copies one of the preceding sources with probability c, which is fitted by
    EM for each group. Otherwise it is independent of them. A copied answer has the size of the other answer.

    Parameters
    ----------
    columns : AnswerColumns
    solution : AnnotatorSolution
    group : ndarray of shape (J,)
        The group of each source. A group of one source has no copies.
    """
    logs = solution.model.log_likelihoods(columns)
    independent = solution.log_joint - solution.log_likelihood + columns.counts() @ logs
    answer, fraction = _preceding_answers(columns, group)
    if not len(answer):
        return np.asarray(logsumexp(independent, axis=1))
    row, own = columns.row[answer], group[columns.answer_source[answer]]
    ratio = fraction[:, None] / np.exp(logs[columns.column[answer]])
    rate, totals = np.full(len(group), 0.5), np.bincount(own, minlength=len(group))
    by_row = sp.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(columns.n_rows, len(row)))
    for _ in range(N_COPY_STEPS):
        c = rate[own][:, None]
        mixture = (1.0 - c) + c * ratio
        joint = independent + by_row @ np.log(mixture)
        copied = (softmax(joint)[row] * (c * ratio / mixture)).sum(axis=1)
        rate = np.clip(np.bincount(own, copied, len(group)) / np.maximum(totals, 1), 0.0, MAX_COPIED)
    return np.asarray(logsumexp(joint, axis=1))


def _preceding_answers(columns: AnswerColumns, group: Ints) -> tuple[Ints, Floats]:
    """Return the answers that follow others of equal size, in the group and row, and the fraction of equal others."""
    source = columns.answer_source
    several = np.flatnonzero(np.bincount(group)[group[source]] > 1)
    size = np.count_nonzero(columns.sets, axis=1)[columns.column[several]]
    place = (columns.row[several] * len(group) + group[source[several]]) * (columns.n_classes + 1) + size
    order = np.lexsort((source[several], place))
    several, place = several[order], place[order]
    answer = columns.answer[columns.column[several]]
    before = _running_count(place)
    equal = np.empty(len(place))
    by_answer = np.lexsort((np.arange(len(place)), answer, place))
    key = place * (int(answer.max(initial=0)) + 1) + answer
    equal[by_answer] = _running_count(key[by_answer])
    kept = before > 0
    return several[kept], equal[kept] / before[kept]


def _running_count(values: Ints) -> Ints:
    """Return the number of preceding equal values, of sorted ones."""
    if not len(values):
        return values
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    return np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))


def copy_weights(columns: AnswerColumns, group: Ints) -> Floats:
    """Return 1/q for each answer, (m,), that q sources of its group gave to its row."""
    n_answers = int(columns.answer.max(initial=0)) + 1
    key = (columns.row * len(group) + group[columns.answer_source]) * n_answers + columns.answer[columns.column]
    _, place, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[place.ravel()])


def groups_of_pairs(pairs: CopiedPairs, n_sources: int) -> Ints:
    """Return the group of each source, (J,), connected by pairs."""
    return _groups(pairs.first, pairs.second, n_sources)


def _agreement_probabilities(columns: AnswerColumns, log_likelihoods: Floats, j: int, h: int, used: Mask) -> Floats:
    """Return sum_a p(a | k, j) p(a | k, h), (K,), over the answers of one size that both gave."""
    one, other = (np.flatnonzero(used & (columns.source == s)) for s in (j, h))
    a, b = np.nonzero(columns.answer[one][:, None] == columns.answer[other][None, :])
    return np.asarray(np.exp(log_likelihoods[one[a]] + log_likelihoods[other[b]]).sum(axis=0))


def _excess(shared: Any, equal: Any, expected: Any) -> tuple[Any, Any]:
    """Return the z-score of the number of equal answers at an expected rate, and the fraction of copied answers."""
    z = (equal - shared * expected) / np.sqrt(shared * expected * (1.0 - expected))
    return z, (equal / shared - expected) / (1.0 - expected)


def _groups(first: Ints, second: Ints, n_sources: int) -> Ints:
    graph = sp.coo_array((np.ones(len(first)), (first, second)), shape=(n_sources, n_sources))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _threshold(n_pairs: int, level: float = TEST_LEVEL) -> float:
    return float(norm.isf(level / max(n_pairs, 1)))
