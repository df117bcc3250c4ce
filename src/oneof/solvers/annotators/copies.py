"""Pairs of sources that agree more often than the model expects: one copies the other, or both a third one.

Copies are counted as independent evidence by the model, and confirm one another: their estimated accuracy is then near
1, and their agreement is as expected. Therefore the test is made in a model in which equal answers of sources that
agree unusually often count as one (`group_copies`, v_ij in `dawid_skene`). An answer in which they differ was not
copied, and counts in full. The expected agreement is that given the other sources. The solution for copies that were
found has the mixture of `copying`.

Let mu^-jh be the posterior of the labels without the answers of j and h. The expected number of agreements about the
rows that both answered is E = sum_i e_i, with e_i = sum_k mu^-jh_ik sum_a theta_jka theta_hka. Its variance is
sum_i e_i (1 - e_i). If h copies a fraction c of the answers of j, the agreement is c n + (1 - c) E; the estimate of c
is (O - E) / (n - E). The sum over a has the answers of one size: e_i = 0 if one answer is a set and the other a label.

Two accurate sources among inaccurate ones also agree unusually often. If they count as one, the others outweigh them,
their estimated accuracies are too low, and so is E. Therefore each group has to pass a second test, which does not
depend on E: copies are confirmed if the likelihood of all answers with copied ones (the mixture of `copying`) is larger
than that of the model fitted to the sources of the group as independent ones, by `N_STANDARD_ERRORS` (Vuong 1989).

Among few sources, the usual agreement of a source is that with its copy. If half of the answers are copied, the first
test finds nothing. Two accurate sources of three agree more often than with the third, and the second test accepts them
at random: a group needs `MIN_USUAL` agreements of a source. Therefore the mixture is also fitted to each pair, with the
accuracies and the labels (`_fit_pairs`). Without copies, c is at its bound 0, and twice the gain in the log-likelihood
is 0 or chi-squared with one degree of freedom. The best pair is added if gain, c and z are large enough, and the others
are tested again. Errors of all sources in difficult rows have a small c, and chance agreement a small z.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm

from oneof.likelihoods import softmax
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.copying import FollowingAnswers, copy_weights
from oneof.solvers.annotators.dawid_skene import AnnotatorSolution, solve_annotators
from oneof.solvers.annotators.held_out import source_hashes
from oneof.typing import Floats, Ints, Mask

MIN_SHARED, MIN_COPIED, TEST_LEVEL, NOTE_LEVEL = 10, 0.5, 0.01, 0.05
"""Number of rows that both sources answered, fraction of copied answers, and level of the test for all pairs and of
the closest pair, which is named and not merged."""
USUAL_QUANTILE, MIN_USUAL = 0.75, 3
"""Quantile of the agreements of a source that is usual, and the smallest number of agreements that have one."""
MIN_SOURCES = 8
"""Number of sources of which two are at most a quarter, 1 - USUAL_QUANTILE: among fewer, the closest pair is named."""
N_STANDARD_ERRORS, MAX_GROUPS = 1.0, 10
"""Gain in the likelihood by which copies are confirmed, and number of groups that are tested one by one."""
N_START_STEPS, N_FIT_STEPS = 20, 60
"""Number of EM steps that count equal answers as one before those of a mixture, and of those by which it is tested."""
MIN_FITTED, MAX_FITTED_PAIRS, MAX_FITTED_ANSWERS = 0.35, 21, 10_000
"""Fraction of copied answers of a pair that a fit finds, chosen on simulations: without copies it is at most .25 if the
gain is large enough. Number of pairs, all of 7 sources, and of answers of a fit."""
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
    z, copied = _excess(shared, equal, _usual_rates(pairs, n_sources))
    n_pairs = np.bincount(np.concatenate([first, second]))
    has_usual = np.maximum(n_pairs[first], n_pairs[second]) >= MIN_USUAL
    kept = has_usual & (z > _threshold(len(first))) & (copied >= MIN_COPIED)
    return _groups(first[kept], second[kept], n_sources)


def _usual_rates(pairs: SharedAnswers, n_sources: int) -> Floats:
    """Return the larger one of the usual agreements of the two sources of each pair."""
    first, second, shared, equal = pairs
    rate = (equal + 1.0) / (shared + 2.0)
    source, rates = np.concatenate([first, second]), np.concatenate([rate, rate])
    order = np.lexsort((rates, source))
    n_pairs = np.bincount(source, minlength=n_sources)
    starts = np.cumsum(n_pairs) - n_pairs
    last = len(order) - 1
    usual = rates[order][np.minimum(starts + (USUAL_QUANTILE * np.maximum(n_pairs - 1, 0)).astype(np.int64), last)]
    return np.asarray(np.maximum(usual[first], usual[second]))


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
    likely = np.argsort(-(pairs.equal - 0.5 * pairs.shared) / np.sqrt(pairs.shared), kind="stable")[:MAX_TESTED]
    tested = _at(pairs, likely)
    found = compare_agreements(columns, tested, log_joint, log_likelihoods, weight)
    kept = (found.z_score > _threshold(len(pairs.first))) & (found.copied >= MIN_COPIED)
    return _select(found, np.flatnonzero(kept))


def compare_agreements(
    columns: AnswerColumns, pairs: SharedAnswers, log_joint: Floats, log_likelihoods: Floats, weight: Floats
) -> CopiedPairs:
    """Return the observed and the expected agreement of all pairs; see `find_copies`."""
    order = np.argsort(columns.answer_source, kind="stable")
    starts = np.searchsorted(columns.answer_source[order], np.arange(columns.n_sources + 1))
    sizes = np.count_nonzero(columns.sets, axis=1)
    table = []
    for j, h in zip(pairs.first, pairs.second, strict=True):
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
        o = np.count_nonzero(columns.answer[a] == columns.answer[b])
        excess = float(o - e.sum())
        table.append((j, h, n, o / n, e.mean(), excess / max(n - e.sum(), 1e-9), excess / np.sqrt(variance + 0.25)))
    values = np.array(table, dtype=np.float64).reshape(-1, 7)
    first, second, shared = values[:, :3].T.astype(np.int64)
    found = CopiedPairs(first, second, shared, values[:, 3], values[:, 4], values[:, 5], values[:, 6])
    return _select(found, np.argsort(-found.z_score, kind="stable"))


def solve_independent(
    columns: AnswerColumns, start: Floats, *, merge_copies: bool, **options: Any
) -> tuple[AnnotatorSolution, CopiedPairs, FollowingAnswers | None]:
    """Return the solution in which copied answers do not count, the pairs of copies, and answers that may be copied.

    Parameters
    ----------
    columns : AnswerColumns
    start : ndarray of shape (n, K)
    merge_copies : bool
        If False, copies are found, but not merged.
    **options
        Other arguments of `solve_annotators`.
    """
    shared, J = count_shared_answers(columns), columns.n_sources
    fits = _Fits(columns, start, options, _precedence(columns, shared, options.get("evidence")))
    weight = copy_weights(columns, group_copies(shared, J))
    solution = fits.solve(weight)
    pairs = find_copies(columns, shared, solution.log_joint, solution.model.log_likelihoods(columns), weight)
    pairs = _confirm_copies(pairs, J, fits)
    fitted, copied = _fit_pairs(shared, groups_of_pairs(pairs, J), fits)
    if len(fitted):
        listed = np.isin(shared.first * J + shared.second, pairs.first * J + pairs.second)
        listed[fitted] = True
        chosen = _at(shared, listed)
        weight = copy_weights(columns, _groups(chosen.first, chosen.second, J))
        solution, pairs = fits.compare(chosen, weight)
        for j, h, c in zip(shared.first[fitted], shared.second[fitted], copied, strict=True):
            pairs.copied[(pairs.first == j) & (pairs.second == h)] = c
    group = groups_of_pairs(pairs, J)
    if merge_copies and len(pairs.first):
        solution = fits.solve_mixture(group)
        return solution, pairs, replace(fits.following(group), copied=np.asarray(solution.copied))
    one = np.ones(len(columns.row))
    return (solution if np.array_equal(one, weight) else fits.solve(one)), pairs, None


class _Fits:
    """Fits to all answers, with weights of answers or with a mixture of copies and own answers."""

    def __init__(self, columns: AnswerColumns, start: Floats, options: dict[str, Any], rank: Ints) -> None:
        self.columns, self.start, self.options, self.rank = columns, start, options, rank

    def solve(self, weight: Floats, **changed: Any) -> AnnotatorSolution:
        """Return the solution with weights of the answers."""
        options = {**self.options, **changed}
        return solve_annotators(
            self.columns, self.start, answer_weight=None if (weight == 1.0).all() else weight, **options
        )

    def solve_mixture(self, group: Ints, **changed: Any) -> AnnotatorSolution:
        """Return the solution in which the answers of a group are in part copies of preceding ones."""
        following = self.following(group)
        if not len(following.answer):
            return self.solve(np.ones(len(self.columns.row)))
        # EM starts at labels for which copies do not confirm one another.
        labels = self.solve(copy_weights(self.columns, group), max_iter=N_START_STEPS).posterior
        return solve_annotators(self.columns, labels, copying=following, **{**self.options, **changed})

    def following(self, group: Ints) -> FollowingAnswers:
        """Return the answers that may be copies of preceding ones."""
        return FollowingAnswers.from_groups(self.columns, group, self.rank)

    def compare(self, pairs: SharedAnswers, weight: Floats) -> tuple[AnnotatorSolution, CopiedPairs]:
        """Return the solution with weights of the answers, and the observed and expected agreements."""
        solution = self.solve(weight)
        logs = solution.model.log_likelihoods(self.columns)
        return solution, compare_agreements(self.columns, pairs, solution.log_joint, logs, weight)

    def part(self) -> Self:
        """Return the fits to evenly spaced rows with about `MAX_FITTED_ANSWERS` answers."""
        step = -(-len(self.columns.row) // MAX_FITTED_ANSWERS)
        if step <= 1:
            return self
        kept = self.columns.row % step == 0
        rows = slice(0, self.columns.n_rows, step)
        columns = replace(
            self.columns, row=self.columns.row[kept] // step, column=self.columns.column[kept],
            n_rows=len(self.start[rows]),
        )  # fmt: skip
        evidence = self.options["evidence"]
        options = {**self.options, "evidence": None if evidence is None else evidence[rows]}
        return type(self)(columns, self.start[rows], options, self.rank)


def _confirm_copies(pairs: CopiedPairs, n_sources: int, fits: _Fits) -> CopiedPairs:
    """Return the pairs of the groups for which copies predict the answers better than independent sources.

    The largest groups are tested one by one, and all others together.
    """
    group = groups_of_pairs(pairs, n_sources)
    sizes = np.bincount(group)
    groups = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes > 1)]
    if not len(groups):
        return pairs
    with_copies = fits.solve_mixture(group).log_marginals
    confirmed = np.ones(len(pairs.first), dtype=bool)
    for tested in (*groups[:MAX_GROUPS, None], groups[MAX_GROUPS:]):
        in_tested = np.isin(group, tested)
        if in_tested.any():
            apart = np.where(in_tested, len(sizes) + np.arange(len(group)), group)
            apart = np.unique(apart, return_inverse=True)[1].ravel()
            gains = with_copies - fits.solve_mixture(apart).log_marginals
            if gains.sum() <= N_STANDARD_ERRORS * gains.std() * np.sqrt(len(gains)):
                confirmed &= ~in_tested[pairs.first]
    return _select(pairs, np.flatnonzero(confirmed))


def _fit_pairs(pairs: SharedAnswers, group: Ints, fits: _Fits) -> tuple[Ints, Floats]:
    """Return further pairs that are copies by a likelihood-ratio test, and the fractions of copied answers.

    Each step adds the pair with the largest gain in the log-likelihood, because copies that are not yet in the model
    also increase the gains of other pairs.
    """
    first, second, shared, equal = pairs
    if not len(first):
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    threshold = _threshold(len(first))
    unusual, _ = _excess(shared, equal, _usual_rates(pairs, len(group)))
    tested = np.argsort(-unusual, kind="stable")[:MAX_FITTED_PAIRS]
    if len(first) > MAX_FITTED_PAIRS:
        tested = tested[unusual[tested] > 0.5 * threshold]
    fits, found = fits.part(), {}
    before = fits.solve_mixture(group).log_marginal if len(tested) else 0.0
    while len(tested):
        fitted = []
        for pair in tested:
            joined = np.where(group == group[second[pair]], group[first[pair]], group)
            solution = fits.solve_mixture(joined, max_iter=N_FIT_STEPS)
            fitted.append((solution.log_marginal - before, float(np.asarray(solution.copied)[group[first[pair]]])))
        gains, copied = np.array(fitted).T
        passed = np.flatnonzero((gains > 0.5 * threshold**2) & (copied >= MIN_FITTED))
        if not len(passed):
            break
        best = passed[np.argmax(gains[passed])]
        pair = tested[best]
        joined = np.where(group == group[second[pair]], group[first[pair]], group)
        one = _at(pairs, np.array([pair]))
        _, compared = fits.compare(one, copy_weights(fits.columns, joined))
        if compared.z_score[0] > threshold:
            found[pair], group = copied[best], joined
            before = fits.solve_mixture(group).log_marginal
        else:
            passed = passed[passed != best]
        tested = tested[passed]
        tested = tested[group[first[tested]] != group[second[tested]]]
    return np.array(list(found), dtype=np.int64), np.array(list(found.values()))


def _precedence(columns: AnswerColumns, pairs: SharedAnswers, evidence: Floats | None) -> Ints:
    """Return the rank of each source, (J,): that with the largest agreement first, since several may copy it.

    The order of equal ones follows their answers, and not their numbers.
    """
    sources = np.concatenate([pairs.first, pairs.second])
    equal, shared = (
        np.bincount(sources, np.concatenate([values, values]), columns.n_sources)
        for values in (pairs.equal, pairs.shared)
    )
    order = np.lexsort((source_hashes(columns, evidence), -equal / np.maximum(shared, 1.0)))
    return np.argsort(order, kind="stable")


def groups_of_pairs(pairs: CopiedPairs, n_sources: int) -> Ints:
    """Return the group of each source, (J,), connected by pairs."""
    return _groups(pairs.first, pairs.second, n_sources)


def _agreement_probabilities(columns: AnswerColumns, log_likelihoods: Floats, j: int, h: int, used: Mask) -> Floats:
    """Return sum_a p(a | k, j) p(a | k, h), (K,), over the answers of one size that both gave."""
    one, other = (np.flatnonzero(used & (columns.source == s)) for s in (j, h))
    a, b = np.nonzero(columns.answer[one][:, None] == columns.answer[other][None, :])
    return np.asarray(np.exp(log_likelihoods[one[a]] + log_likelihoods[other[b]]).sum(axis=0))


def _at(pairs: SharedAnswers, kept: Any) -> SharedAnswers:
    return SharedAnswers(pairs.first[kept], pairs.second[kept], pairs.shared[kept], pairs.equal[kept])


def _select(pairs: CopiedPairs, kept: Ints) -> CopiedPairs:
    return CopiedPairs(*(getattr(pairs, field.name)[kept] for field in fields(pairs)))


def _excess(shared: Any, equal: Any, expected: Any) -> tuple[Any, Any]:
    """Return the z-score of the number of equal answers at an expected rate, and the fraction of copied answers."""
    z = (equal - shared * expected) / np.sqrt(shared * expected * (1.0 - expected))
    return z, (equal / shared - expected) / (1.0 - expected)


def _groups(first: Ints, second: Ints, n_sources: int) -> Ints:
    graph = sp.coo_array((np.ones(len(first)), (first, second)), shape=(n_sources, n_sources))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _threshold(n_pairs: int, level: float = TEST_LEVEL) -> float:
    return float(norm.isf(level / max(n_pairs, 1)))
