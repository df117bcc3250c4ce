import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from oneof import CandidateSets, make_partial_labels
from oneof.datasets import distractors
from oneof.errors import InputError, LabelError
from tests.datasets.conftest import KINDS, labels


def false_mask(sets, y):
    mask = sets.mask.copy()
    mask[np.arange(len(y)), y] = False
    return mask


@settings(max_examples=50)
@given(
    n_classes=st.integers(2, 7),
    more=st.integers(0, 40),
    fraction=st.floats(0, 1),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_laws_of_every_kind(*, n_classes, more, fraction, kind, seed, data):
    """The truth is in every set, the fraction and the sizes are exact, and unlabeled rows stay unlabeled.

    There is a warning if most of the labeled rows have all classes.
    """
    y = labels(n_classes + more, n_classes, seed)
    extra = data.draw(st.integers(0, n_classes - 1))
    given_y = [*y.tolist(), None, None]
    options = {"fraction": fraction, "n_distractors": extra, "distractors": kind, "random_state": seed}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sets = make_partial_labels(given_y, **options)
    assert len(caught) == (2 * np.count_nonzero(sets.sizes[:-2] == n_classes) > len(y))
    assert sets.classes.tolist() == list(range(n_classes))
    assert sets.is_unlabeled[-2:].all()
    sizes = sets.sizes[:-2]
    assert sets.mask[np.arange(len(y)), y].all()
    n_partial = round(fraction * len(y))
    if kind not in ("uniform", "confusable"):
        assert np.count_nonzero(sizes > 1) <= n_partial
        assert kind == "rules" or sizes.max() <= extra + 1
    else:
        assert sorted(sizes) == [1] * (len(y) - n_partial) + [extra + 1] * n_partial


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)])
def test_the_same_seed_gives_the_same_sets(kind, seed):
    y = labels(200, 6)
    first, again = (
        make_partial_labels(y, n_distractors=2, distractors=kind, random_state=seed() if callable(seed) else seed)
        for _ in range(2)
    )
    assert first == again
    assert first != make_partial_labels(y, n_distractors=2, distractors=kind, random_state=4)
    if callable(seed):  # a generator advances
        rng = seed()
        assert make_partial_labels(y, random_state=rng) != make_partial_labels(y, random_state=rng)


@pytest.mark.parametrize("kind", KINDS)
def test_the_partial_rows_of_a_smaller_fraction_are_partial_for_a_larger_one(kind):
    y = labels(300, 8)
    few, many = (
        make_partial_labels(y, fraction=fraction, distractors=kind, random_state=1).sizes > 1 for fraction in (0.3, 0.7)
    )
    if kind not in ("uniform", "confusable"):  # rows without a distractor in their scene or entry stay exact
        assert few.sum() <= 90
    else:
        assert (many | ~few).all()
        assert (few.sum(), many.sum()) == (90, 210)


@pytest.mark.parametrize("extra", [1, 2, 3])
def test_uniform_sets_are_uniform_over_all_sets_of_that_size(extra):
    """Chi-square over every set of distractors, for a class in the middle: no position in the order is favored."""
    y = np.concatenate([np.full(20000, 2), np.arange(6)])
    false = false_mask(make_partial_labels(y, n_distractors=extra, random_state=0), y)[:20000]
    codes, counts = np.unique(false @ (1 << np.arange(6)), return_counts=True)
    expected = {sum(1 << k for k in some) for some in itertools.combinations([0, 1, 3, 4, 5], extra)}
    assert set(codes.tolist()) == expected
    assert stats.chisquare(counts).pvalue > 0.001


def test_confusable_sets_follow_the_confusion_matrix():
    """Pairs of distractors have the frequencies of successive draws without replacement."""
    weight = np.array([0.0, 5.0, 1.0, 0.0, 2.0])
    confusion = np.ones((5, 5)) * 7.0
    confusion[3] = weight
    confusion[3, 3] = 100.0  # the diagonal is not used
    y = np.concatenate([np.full(20000, 3), np.arange(5)])
    false = false_mask(
        make_partial_labels(y, n_distractors=2, distractors="confusable", confusion=confusion, random_state=0), y
    )[:20000]
    pairs = [(1, 2), (1, 4), (2, 4)]
    observed = [np.count_nonzero(false[:, a] & false[:, b]) for a, b in pairs]
    p = weight / weight.sum()
    expected = [p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b]) for a, b in pairs]
    assert sum(observed) == 20000
    assert stats.chisquare(observed, 20000 * np.array(expected)).pvalue > 0.001


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 0.7, 1.0])
@pytest.mark.parametrize("extra", [1, 2])
def test_the_partner_has_probability_epsilon_and_the_others_are_uniform(epsilon, extra):
    """One other class has the rate epsilon (5 sigma); all further classes have equal rates."""
    n, n_classes = 20000, 6
    y = np.concatenate([np.full(n, 2), np.arange(n_classes)])
    sets = make_partial_labels(y, n_distractors=extra, distractors="confusable", epsilon=epsilon, random_state=5)
    rates = np.delete(false_mask(sets, y)[:n].mean(axis=0), 2)
    rest = (extra - epsilon) / (n_classes - 2)
    partner = np.argmax(np.abs(rates - rest))
    bound = 5 * np.sqrt(0.25 / n)
    assert abs(rates[partner] - epsilon) < bound
    assert np.abs(np.delete(rates, partner) - rest).max() < bound


def test_independent_distractors_have_their_rates():
    """Each other label has its rate in each row (5 sigma), independently: all sets are equally likely at one half."""
    n, n_classes = 20000, 4
    y = np.arange(n) % n_classes
    rates = np.linspace(0, 1, n * n_classes).reshape(n, n_classes)
    false = false_mask(make_partial_labels(y, distractors="independent", rate=rates, random_state=0), y)
    other = np.arange(n_classes) != y[:, None]
    assert not (false & ~other).any()
    for rows in np.array_split(np.arange(n), 10):
        expected = (rates[rows] * other[rows]).mean()
        assert abs(false[rows].mean() - expected) < 5 * np.sqrt(0.25 / (len(rows) * (n_classes - 1)))
    false = false_mask(make_partial_labels(y, distractors="independent", random_state=0), y)
    codes = (false @ (1 << np.arange(n_classes)))[y == 0] // 2
    assert stats.chisquare(np.bincount(codes, minlength=8)).pvalue > 0.001


def test_independent_distractors_at_the_ends_of_the_range_and_of_some_rows():
    """A rate of 0 leaves labels exact and 1 makes sets of all classes; only the drawn rows become partial."""
    y = labels(200, 5)
    assert make_partial_labels(y, distractors="independent", rate=0.0, random_state=0).is_exact.all()
    full = make_partial_labels(y, fraction=0.25, distractors="independent", rate=1, random_state=0)
    assert (full.is_unlabeled.sum(), full.is_exact.sum()) == (50, 150)


@pytest.mark.parametrize("kind", ["uniform", "confusable"])
def test_sets_of_all_classes_have_a_warning(kind):
    """Such rows are unlabeled; a warning counts them if they are most of the labeled rows."""
    y = labels(200, 4)
    with pytest.warns(UserWarning, match="200 of 200 rows have all 4 classes as candidates, and are therefore unlab"):
        assert make_partial_labels(y, n_distractors=3, distractors=kind, random_state=0).is_unlabeled.all()


def test_sets_of_given_scenes_are_the_labels_of_the_scene():
    """Each partial row has the labels of all labeled rows of its scene; the oracle is a loop over rows."""
    rng = np.random.default_rng(1)
    y, groups = rng.integers(0, 5, size=60), rng.choice(["p", "q", "r", "s"], size=60)
    y[rng.random(60) < 0.2] = -1
    sets = make_partial_labels(y, distractors="cooccurring", groups=groups, classes=range(12), random_state=0).to_sets()
    for i in range(60):
        expected = {int(label) for label, group in zip(y, groups, strict=True) if group == groups[i] and label >= 0}
        assert sets[i] == (expected if y[i] >= 0 else set(range(12)))


def test_random_scenes_of_two_are_symmetric():
    """In a scene of a and b both rows get {a, b}: so each set is the set of equally many rows of a and of b."""
    y = labels(400, 7)
    sets = make_partial_labels(y, distractors="cooccurring", n_distractors=1, random_state=0)
    for a, b in itertools.combinations(range(7), 2):
        pair = sets.mask[:, a] & sets.mask[:, b]
        assert np.count_nonzero(pair & (y == a)) == np.count_nonzero(pair & (y == b))


def test_common_labels_are_common_distractors_only_if_labels_cooccur():
    """The rate of a class as a distractor grows with its frequency in scenes, but not for uniform ones."""
    frequency = np.array([0.02, 0.05, 0.13, 0.3, 0.5])
    y = np.repeat(np.arange(5), (20000 * frequency).astype(int))
    rates = {}
    for kind in ("cooccurring", "uniform"):
        false = false_mask(make_partial_labels(y, n_distractors=2, distractors=kind, random_state=0), y)
        rates[kind] = np.array([false[y != k, k].mean() for k in range(5)])
    assert (np.diff(rates["cooccurring"]) > 0).all()
    # Exactly: k is among the two other rows of the scene, drawn almost independently.
    np.testing.assert_allclose(rates["cooccurring"], 1 - (1 - frequency) ** 2, atol=0.02)
    np.testing.assert_allclose(rates["uniform"], 0.5, atol=0.02)


def test_sets_of_a_dictionary_recur_with_unequal_shares():
    """There are at most six sets for each class, and most rows of a set have the same label."""
    y = labels(3000, 6)
    sets = make_partial_labels(y, n_distractors=2, distractors="dictionary", random_state=0)
    distinct, group = np.unique(sets.mask, axis=0, return_inverse=True)
    assert len(distinct) <= 36 + 6
    largest = [np.bincount(y[group.ravel() == g]).max() / (group.ravel() == g).sum() for g in range(len(distinct))]
    assert np.average(largest, weights=np.bincount(group.ravel())) > 0.6


def test_rules_vote_more_often_for_the_true_class():
    """A class is a distractor less often than it would be in a random order of the true labels."""
    y = labels(3000, 6)
    sets = make_partial_labels(y, n_distractors=1, distractors="rules", random_state=0)
    assert len(np.unique(sets.sizes)) > 2
    assert not sets.is_unlabeled.any()
    assert false_mask(sets, y).mean() < sets.mask[np.arange(3000), np.random.default_rng(0).permutation(y)].mean()


def test_text_labels_and_candidate_sets_are_read():
    y = ["wren", None, "finch", "robin"]
    sets = make_partial_labels(y, random_state=0)
    assert sets.classes.tolist() == ["finch", "robin", "wren"]
    assert make_partial_labels(CandidateSets.from_labels(y), random_state=0) == sets
    assert make_partial_labels(y, classes=["wren", "finch", "robin", "crow"]).classes.tolist()[-1] == "crow"


def test_many_classes_are_drawn_in_blocks(monkeypatch):
    """With a weight for each of 200 classes the draws do not fit one block; every row still gets its distractors."""
    monkeypatch.setattr(distractors, "MAX_DRAWS", 7 * 200)
    y = labels(400, 200)
    confusion = np.ones((200, 200))
    sets = make_partial_labels(y, n_distractors=4, distractors="confusable", confusion=confusion, random_state=0)
    assert (sets.sizes == 5).all()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"n_distractors": 3}, "`n_distractors` must be an integer from 0 to 2, with 3 classes; got 3"),
        ({"set_size": 4}, "`set_size` must be .* got 4"),
        ({"set_size": 2, "n_distractors": 2}, "pass only one of them"),
        ({"set_size": 2, "distractors": "cooccurring"}, "`set_size` applies only"),
        ({"epsilon": 0.9}, "`epsilon` applies only"),
        ({"distractors": "confusable", "confusion": np.ones((3, 3)), "epsilon": 0.9}, "`epsilon` does not apply"),
        ({"rate": 0.3}, "`rate` applies only"),
        ({"distractors": "independent", "rate": np.full((3, 3), 1.5)}, "from 0 to 1; got 1.5 in row 0, column 0"),
        ({"distractors": "independent", "rate": [0.5, 0.5]}, r"of shape \(3, 3\)"),
        ({"distractors": "confusable", "epsilon": 2}, "`epsilon` must be .* got 2"),
        ({"confusion": np.ones((3, 3))}, "`confusion` applies only to distractors='confusable'; got 'uniform'"),
        ({"groups": [1, 1, 2]}, "`groups` applies only to distractors='cooccurring'; got 'uniform'"),
        ({"distractors": "confusable", "confusion": np.ones((2, 2))}, "`confusion` must be of shape .* got shape"),
        ({"distractors": "confusable", "confusion": -np.ones((3, 3))}, "row 0, column 0"),
        ({"distractors": "confusable", "confusion": np.eye(3)}, "class 'a' has only 0 labels"),
        ({"distractors": "cooccurring", "groups": [1, 1]}, "scene of each of the 3 rows; got 2"),
        ({"distractors": "cooccurring", "groups": [1, None, "a"]}, "without missing values"),
        ({"distractors": "cooccurring", "groups": [1.0, np.nan, 2.0]}, "no scene for row 1"),
        ({"weights": "graded", "strength": 0}, "`strength` must be a number above 0; got 0"),
        ({"weights": "graded", "temperature": -1.0}, "`temperature` must be a number above 0; got -1.0"),
        ({"temperature": 2.0}, 'require weights="graded"'),
        ({"weights": "graded", "noise_rate": 0.1}, "`noise_rate` does not apply to graded weights"),
    ],
)
def test_invalid_parameters_are_rejected(arguments, reason):
    with pytest.raises(InputError, match=reason):
        make_partial_labels(["a", "b", "c"], **arguments)


@pytest.mark.parametrize("kind", [*KINDS, "independent"])
def test_noise_replaces_the_true_label_of_a_fraction_of_the_sets(kind):
    """The sizes stay, the rate is exact, a smaller rate is a part of a larger one, and other rows do not change."""
    y = labels(300, 6)
    clean, some, more = (
        make_partial_labels(y, fraction=0.7, distractors=kind, noise_rate=rate, random_state=1)
        for rate in (0.0, 0.2, 0.5)
    )
    lacks = [~sets.mask[np.arange(len(y)), y] for sets in (clean, some, more)]
    assert [wrong.sum() for wrong in lacks] == [0, 60, 150]
    assert not (lacks[1] & ~lacks[2]).any()
    assert some[~lacks[1]] == clean[~lacks[1]]
    assert some[lacks[1]] == more[lacks[1]]
    full = clean.sizes == 6
    np.testing.assert_array_equal(more.sizes, clean.sizes - (lacks[2] & full))
    wrong = make_partial_labels(np.zeros(30_000, int), fraction=0.0, noise_rate=1.0, classes=range(4), random_state=0)
    counts = wrong.mask.sum(axis=0)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:]).pvalue > 1e-3


def test_labels_that_are_not_exact_are_rejected():
    with pytest.raises(InputError, match="row 1 has 2 candidates already"):
        make_partial_labels(CandidateSets.from_sets([["a"], ["a", "b"], ["c"]]))
    with pytest.raises(LabelError, match="at least one class"):
        make_partial_labels([None, None])
    with pytest.raises(LabelError, match="only -1 and 1"):
        make_partial_labels([-1, 1, 1])


# -- Graded weights of `make_partial_labels` -------------------------------------------------------------------------


def test_weights_do_not_change_the_sets():
    """With the same seed, the supports are the sets without weights; exact and unlabeled rows have no weights."""
    y = np.concatenate([labels(300, 5), [-1]])
    for kind in (*KINDS, "confusion"):
        options = {"n_distractors": 2, "distractors": kind, "fraction": 0.5, "random_state": 3}
        if kind == "confusion":
            options |= {"distractors": "confusable", "confusion": np.ones((5, 5))}
        hard, graded = (make_partial_labels(y, **options, weights=weights) for weights in (None, "graded"))
        np.testing.assert_array_equal(graded.mask, hard.mask)
        np.testing.assert_array_equal(graded.is_weighted[:-1], hard.sizes[:-1] > 1)
        assert graded.is_unlabeled[-1]


@pytest.mark.parametrize("n_distractors", [1, 3])
@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_graded_weights_are_calibrated(n_distractors, strength):
    """Among the rows, the truth is candidate k as often as the posterior of k says (5 sigma in each of ten bins)."""
    rates = np.array([0.4, 0.3, 0.2, 0.1])
    y = np.random.default_rng(0).choice(4, 40000, p=rates)
    sets = make_partial_labels(
        y, n_distractors=n_distractors, weights="graded", strength=strength, classes=range(4), random_state=1
    )
    posterior = sets.weights * rates
    posterior /= posterior.sum(axis=1, keepdims=True)
    correct = np.arange(4) == y[:, None]
    for k in range(4):
        bins = np.digitize(posterior[:, k], np.linspace(0, 1, 11))
        for bin_ in np.unique(bins):
            p, hit = posterior[bins == bin_, k], correct[bins == bin_, k]
            assert abs(hit.sum() - p.sum()) <= 5 * np.sqrt((p * (1 - p)).sum()) + 1e-9


def test_temperature_is_an_exponent():
    """The weights at temperature T are those at temperature 1 with the exponent 1 / T."""
    y = labels(200, 5)
    one, two = (
        make_partial_labels(y, n_distractors=2, weights="graded", temperature=t, random_state=0) for t in (1.0, 2.0)
    )
    np.testing.assert_allclose(two.weights**2, one.weights, rtol=1e-12)
    for extreme in ({"temperature": 1e-320}, {"strength": 1e308}, {"temperature": 1e300}):
        sets = make_partial_labels(y, n_distractors=2, weights="graded", random_state=0, **extreme)
        assert np.isfinite(sets.weights).all()
        np.testing.assert_array_equal(sets.mask, one.mask)
