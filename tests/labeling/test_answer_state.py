"""Aggregation of answers to candidate sets."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import allowed_classes, combine

K = 4
CLASSES = np.array(list("abcd"))
sets = st.sets(st.integers(0, K - 1), min_size=1)


def answer_of(who, labels, kind="one of"):
    return Entry("k", who, 0, kind, tuple(sorted(labels)))


def combined(answers, start=None, **options):
    mask = np.ones((1, K), dtype=bool) if start is None else start
    return combine({0: {str(i): entry for i, entry in enumerate(answers)}}, mask, CLASSES, **options).mask[0]


@given(sets)
def test_none_of_leaves_the_complement(labels):
    """The answer `none of S` leaves the same classes as `one of the complement of S`."""
    complement = set(range(K)) - labels
    assert set(allowed_classes(answer_of("Ann", labels, "none of"), K)) == complement
    if complement:
        assert np.array_equal(combined([answer_of("A", labels, "none of")]), combined([answer_of("A", complement)]))


@given(st.lists(sets, min_size=1, max_size=4))
def test_answers_that_agree_are_intersected(answers):
    """By default the candidates have the most votes: the intersection of the answers if it is not empty."""
    candidates = set(np.flatnonzero(combined([answer_of(str(i), s) for i, s in enumerate(answers)])))
    votes = [sum(k in s for s in answers if len(s) < K) for k in range(K)]
    assert candidates == {k for k in range(K) if votes[k] == max(votes)}
    common = set.intersection(*answers)
    if common:
        assert candidates == common


@given(st.lists(sets, min_size=1, max_size=4))
def test_without_top_the_union_remains(answers):
    """With ``top_k=None`` the candidates are the union of the informative answers."""
    candidates = set(np.flatnonzero(combined([answer_of(str(i), s) for i, s in enumerate(answers)], top_k=None)))
    informative = [s for s in answers if len(s) < K]
    assert candidates == (set.union(*informative) if informative else set(range(K)))


def test_the_order_of_annotators_does_not_matter():
    answers = [answer_of("a", {0, 1}), answer_of("b", {1, 2}), answer_of("c", {3}), answer_of("d", set(), "unknown")]
    results = {tuple(combined(list(order))) for order in itertools.permutations(answers)}
    assert results == {(False, True, False, False)}


def test_uninformative_answers_keep_the_initial_set():
    """An uninformative answer, or one with too few votes, keeps the initial set."""
    start = np.array([[True, True, False, False]])
    assert np.array_equal(combined([answer_of("a", set(), "unknown")], start), start[0])
    for min_votes in (2, 10**12):
        assert np.array_equal(combined([answer_of("a", {2})], start, min_votes=min_votes), start[0])
    assert np.array_equal(combined([answer_of("a", {2})], start), [False, False, True, False])
