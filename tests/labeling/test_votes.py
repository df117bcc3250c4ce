"""Answers that are sets, of one annotator or several, as candidate sets."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneof.labeling.answer_log import Entry
from oneof.labeling.answer_state import combine, allowed_classes

K = 4
CLASSES = np.array(list("abcd"))
sets = st.sets(st.integers(0, K - 1), min_size=1)


def say(who, labels, kind="one of"):
    return Entry("k", who, 0, kind, tuple(sorted(labels)))


def combined(answers, start=None, **options):
    mask = np.ones((1, K), dtype=bool) if start is None else start
    return combine({0: {str(i): entry for i, entry in enumerate(answers)}}, mask, CLASSES, **options).mask[0]


@given(sets)
def test_none_of_leaves_the_others(labels):
    """That it is none of S leaves what "one of the complement of S" leaves."""
    others = set(range(K)) - labels
    assert set(allowed_classes(say("Ann", labels, "none of"), K)) == others
    if others:
        assert np.array_equal(combined([say("A", labels, "none of")]), combined([say("A", others)]))


@given(st.lists(sets, min_size=1, max_size=4))
def test_answers_that_agree_are_intersected(answers):
    """By default a class is left if no other is allowed by more annotators: the intersection, where there is one."""
    left = set(np.flatnonzero(combined([say(str(i), s) for i, s in enumerate(answers)])))
    votes = [sum(k in s for s in answers if len(s) < K) for k in range(K)]
    assert left == {k for k in range(K) if votes[k] == max(votes)}
    common = set.intersection(*answers)
    if common:
        assert left == common


@given(st.lists(sets, min_size=1, max_size=4))
def test_without_top_they_are_united(answers):
    left = set(np.flatnonzero(combined([say(str(i), s) for i, s in enumerate(answers)], top=None)))
    told = [s for s in answers if len(s) < K]
    assert left == (set.union(*told) if told else set(range(K)))


def test_the_order_of_annotators_does_not_matter():
    answers = [say("a", {0, 1}), say("b", {1, 2}), say("c", {3}), say("d", set(), "unknown")]
    found = {tuple(combined(list(order))) for order in itertools.permutations(answers)}
    assert found == {(False, True, False, False)}


def test_who_cannot_tell_leaves_what_was_known():
    """An answer that says nothing, or one with too few votes, leaves the set that the table had."""
    start = np.array([[True, True, False, False]])
    assert np.array_equal(combined([say("a", set(), "unknown")], start), start[0])
    for wanted in (2, 10**12):
        assert np.array_equal(combined([say("a", {2})], start, min_votes=wanted), start[0])
    assert np.array_equal(combined([say("a", {2})], start), [False, False, True, False])
