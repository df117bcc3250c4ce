import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oneof import CandidateSets, make_partial_labels
from oneof.errors import InputError, LabelError

KINDS = ("uniform", "confusable", "cooccurring")


def labels(n_samples, n_classes, seed=0):
    """Labels in which every class occurs."""
    rest = np.random.default_rng(seed).integers(0, n_classes, size=n_samples - n_classes)
    return np.concatenate([np.arange(n_classes), rest])


def false_mask(sets, y):
    mask = sets.mask.copy()
    mask[np.arange(len(y)), y] = False
    return mask


@given(
    n_classes=st.integers(2, 7),
    more=st.integers(0, 40),
    share=st.floats(0, 1),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_laws_of_every_kind(*, n_classes, more, share, kind, seed, data):
    """The truth is in every set, the share and the sizes are exact, and unlabeled rows stay unlabeled."""
    y = labels(n_classes + more, n_classes, seed)
    extra = data.draw(st.integers(0, n_classes - 1))
    given_y = np.concatenate([y, [-1, -1]])
    sets = make_partial_labels(given_y, share=share, extra=extra, kind=kind, random_state=seed)
    assert sets.classes.tolist() == list(range(n_classes))
    assert sets.is_unlabeled[-2:].all()
    sizes = sets.sizes[:-2]
    assert sets.mask[np.arange(len(y)), y].all()
    n_partial = round(share * len(y))
    if kind == "cooccurring":
        assert np.count_nonzero(sizes > 1) <= n_partial
        assert sizes.max() <= extra + 1
    else:
        assert sorted(sizes) == [1] * (len(y) - n_partial) + [extra + 1] * n_partial


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)])
def test_the_same_seed_gives_the_same_sets(kind, seed):
    y = labels(200, 6)
    first, again = (
        make_partial_labels(y, extra=2, kind=kind, random_state=seed() if callable(seed) else seed) for _ in range(2)
    )
    assert first == again
    assert first != make_partial_labels(y, extra=2, kind=kind, random_state=4)


def test_a_generator_moves_on():
    y, rng, legacy = labels(200, 6), np.random.default_rng(0), np.random.RandomState(0)
    assert make_partial_labels(y, random_state=rng) != make_partial_labels(y, random_state=rng)
    assert make_partial_labels(y, random_state=legacy) != make_partial_labels(y, random_state=legacy)


@pytest.mark.parametrize("kind", KINDS)
def test_a_larger_share_makes_the_rows_of_a_smaller_one_partial_too(kind):
    y = labels(300, 8)
    few, many = (make_partial_labels(y, share=share, kind=kind, random_state=1).sizes > 1 for share in (0.3, 0.7))
    if kind == "cooccurring":  # rows whose scene shows only their own label stay exact
        assert few.sum() <= 90
    else:
        assert (many | ~few).all()
        assert (few.sum(), many.sum()) == (90, 210)


def test_size_is_extra_plus_one():
    y = labels(100, 5)
    assert make_partial_labels(y, size=4, random_state=0) == make_partial_labels(y, extra=3, random_state=0)
    assert make_partial_labels(y, size=1, random_state=0).is_exact.all()


@pytest.mark.parametrize("extra", [1, 2, 3])
def test_uniform_sets_are_uniform_over_all_sets_of_that_size(extra):
    """Chi-square over every set of false labels, for a class in the middle: no place in the order is favored."""
    y = np.concatenate([np.full(20000, 2), np.arange(6)])
    false = false_mask(make_partial_labels(y, extra=extra, random_state=0), y)[:20000]
    codes, counts = np.unique(false @ (1 << np.arange(6)), return_counts=True)
    wanted = {sum(1 << k for k in some) for some in itertools.combinations([0, 1, 3, 4, 5], extra)}
    assert set(codes.tolist()) == wanted
    assert stats.chisquare(counts).pvalue > 0.001


def test_confusable_sets_follow_the_matrix():
    """Pairs of false labels come as often as successive draws without replacement give them."""
    weight = np.array([0.0, 5.0, 1.0, 0.0, 2.0])
    confusion = np.ones((5, 5)) * 7.0
    confusion[3] = weight
    confusion[3, 3] = 100.0  # the diagonal is not used
    y = np.concatenate([np.full(20000, 3), np.arange(5)])
    false = false_mask(make_partial_labels(y, extra=2, kind="confusable", confusion=confusion, random_state=0), y)[
        :20000
    ]
    pairs = [(1, 2), (1, 4), (2, 4)]
    observed = [np.count_nonzero(false[:, a] & false[:, b]) for a, b in pairs]
    share = weight / weight.sum()
    wanted = [share[a] * share[b] / (1 - share[a]) + share[b] * share[a] / (1 - share[b]) for a, b in pairs]
    assert sum(observed) == 20000
    assert stats.chisquare(observed, 20000 * np.array(wanted)).pvalue > 0.001


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 0.7, 1.0])
@pytest.mark.parametrize("extra", [1, 2])
def test_the_partner_joins_with_probability_epsilon_and_the_others_are_alike(epsilon, extra):
    """For some other class k, the rate is epsilon (5-sigma); all further classes share the rest evenly."""
    n, n_classes = 20000, 6
    y = np.concatenate([np.full(n, 2), np.arange(n_classes)])
    sets = make_partial_labels(y, extra=extra, kind="confusable", epsilon=epsilon, random_state=5)
    rates = np.delete(false_mask(sets, y)[:n].mean(axis=0), 2)
    rest = (extra - epsilon) / (n_classes - 2)
    partner = np.argmax(np.abs(rates - rest))
    bound = 5 * np.sqrt(0.25 / n)
    assert abs(rates[partner] - epsilon) < bound
    assert np.abs(np.delete(rates, partner) - rest).max() < bound


def test_every_class_has_one_partner_for_all_of_its_rows():
    y = labels(500, 9)
    false = false_mask(make_partial_labels(y, kind="confusable", epsilon=1.0, random_state=0), y)
    for k in range(9):
        assert len(np.unique(false[y == k], axis=0)) == 1


@pytest.mark.parametrize("kind", ["uniform", "confusable"])
def test_all_classes_come_in_only_where_that_is_asked_for(kind):
    y = labels(200, 4)
    assert make_partial_labels(y, extra=3, kind=kind, random_state=0).is_unlabeled.all()
    assert not make_partial_labels(y, extra=2, kind=kind, random_state=0).is_unlabeled.any()


def test_scenes_that_are_given_show_their_labels():
    """Each partial row holds the labels of all labeled rows of its scene; the oracle is a loop over rows."""
    rng = np.random.default_rng(1)
    y, groups = rng.integers(0, 5, size=60), rng.choice(["p", "q", "r", "s"], size=60)
    y[rng.random(60) < 0.2] = -1
    sets = make_partial_labels(y, kind="cooccurring", groups=groups, classes=range(12), random_state=0).to_sets()
    for i in range(60):
        shown = {int(label) for label, group in zip(y, groups, strict=True) if group == groups[i] and label >= 0}
        assert sets[i] == (shown if y[i] >= 0 else set(range(12)))


def test_dealt_scenes_of_two_are_symmetric():
    """In a scene of a and b both rows get {a, b}: so each set is the set of equally many rows of a and of b."""
    y = labels(400, 7)
    sets = make_partial_labels(y, kind="cooccurring", extra=1, random_state=0)
    for a, b in itertools.combinations(range(7), 2):
        pair = sets.mask[:, a] & sets.mask[:, b]
        assert np.count_nonzero(pair & (y == a)) == np.count_nonzero(pair & (y == b))


def test_common_labels_are_common_distractors_only_where_labels_cooccur():
    """The rate of a class as a false candidate grows with its frequency in scenes, and not under uniform noise."""
    frequency = np.array([0.02, 0.05, 0.13, 0.3, 0.5])
    y = np.repeat(np.arange(5), (20000 * frequency).astype(int))
    rates = {}
    for kind in ("cooccurring", "uniform"):
        false = false_mask(make_partial_labels(y, extra=2, kind=kind, random_state=0), y)
        rates[kind] = np.array([false[y != k, k].mean() for k in range(5)])
    assert (np.diff(rates["cooccurring"]) > 0).all()
    # Exactly: k is among the two other rows of the scene, drawn almost independently.
    np.testing.assert_allclose(rates["cooccurring"], 1 - (1 - frequency) ** 2, atol=0.02)
    np.testing.assert_allclose(rates["uniform"], 0.5, atol=0.02)


def test_text_labels_and_candidate_sets_are_read():
    y = ["wren", None, "finch", "robin"]
    sets = make_partial_labels(y, random_state=0)
    assert sets.classes.tolist() == ["finch", "robin", "wren"]
    assert make_partial_labels(CandidateSets.from_labels(y), random_state=0) == sets
    assert make_partial_labels(y, classes=["wren", "finch", "robin", "crow"]).classes.tolist()[-1] == "crow"


def test_many_classes_are_drawn_in_blocks():
    """With a weight for each of 2000 classes the draws do not fit one block; every row still gets its share."""
    y = labels(4000, 2000)
    confusion = np.ones((2000, 2000))
    sets = make_partial_labels(y, extra=4, kind="confusable", confusion=confusion, random_state=0)
    assert (sets.sizes == 5).all()


@pytest.mark.parametrize("extra", [None, "x", 7, [1]])
def test_what_scenes_make_needless_is_not_looked_at(extra):
    """With groups, any `extra` gives the same sets."""
    y, groups = ["a", "b", "a", "c"], [0, 0, 1, 1]
    sets = make_partial_labels(y, kind="cooccurring", groups=groups, extra=extra).to_sets()
    assert (
        sets
        == make_partial_labels(y, kind="cooccurring", groups=groups).to_sets()
        == [{"a", "b"}] * 2 + [{"a", "c"}] * 2
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"share": 1.5}, "share=1.5"),
        ({"share": float("nan")}, "share=nan"),
        ({"extra": 3}, "extra=3 is not possible: with 3 classes"),
        ({"extra": -1}, "extra=-1"),
        ({"extra": 1.5}, "extra=1.5"),
        ({"size": 0}, "size=0"),
        ({"size": 4}, "size=4"),
        ({"size": 2, "extra": 2}, "give one of them"),
        ({"size": 2, "kind": "cooccurring"}, "cannot be promised"),
        ({"kind": "odd"}, "kind='odd'"),
        ({"kind": "confusable", "epsilon": 2}, "epsilon=2"),
        ({"confusion": np.ones((3, 3))}, "belongs to kind='confusable'"),
        ({"groups": [1, 1, 2]}, "belongs to kind='cooccurring'"),
        ({"kind": "confusable", "confusion": np.ones((2, 2))}, "confusion has shape"),
        ({"kind": "confusable", "confusion": -np.ones((3, 3))}, "row 0, column 0"),
        ({"kind": "confusable", "confusion": np.eye(3)}, "class 'a' only 0 labels"),
        ({"kind": "cooccurring", "groups": [1, 1]}, "scene of 2 rows, but y has 3"),
        ({"kind": "cooccurring", "groups": [1, None, "a"]}, "without gaps"),
        ({"kind": "cooccurring", "groups": [1.0, np.nan, 2.0]}, "no scene for row 1"),
        ({"random_state": "seed"}, "random_state='seed'"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, reason):
    with pytest.raises(InputError, match=reason):
        make_partial_labels(["a", "b", "c"], **arguments)


def test_labels_that_are_not_exact_are_refused():
    with pytest.raises(InputError, match="row 1 has 2 candidates already"):
        make_partial_labels(CandidateSets.from_sets([["a"], ["a", "b"], ["c"]]))
    with pytest.raises(LabelError, match="at least one class"):
        make_partial_labels([None, None])
    with pytest.raises(LabelError, match="only -1 and \\+1"):
        make_partial_labels([-1, 1, 1])
