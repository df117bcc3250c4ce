"""Audits of lists with probabilities: the classes that a list names, and the accuracy of its first label."""

import numpy as np
import pytest

from oneof import PLEM, CandidateSets
from oneof.audit import find_label_issues
from oneof.errors import InputError

FREQUENCIES = np.array([0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
NAMES = np.array([f"class {k}" for k in range(6)])
MEANS = 1.5 * np.random.default_rng(5).normal(size=(6, 10))


def make_lists(seed, n=500, length=2, strength=2.0):
    """Return features, the true classes, and calibrated posteriors of a second source of which rows list a few."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(6, size=n, p=FREQUENCIES)
    X = MEANS[truth] + rng.normal(size=(n, 10))
    scores = strength**2 * np.eye(6)[truth] + strength * rng.normal(size=(n, 6)) + np.log(FREQUENCIES)
    posterior = np.exp(scores - scores.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    order = np.argsort(-posterior, axis=1)[:, :length]
    lists = [{NAMES[k]: p for k, p in zip(columns, row[columns])} for columns, row in zip(order.tolist(), posterior)]
    return X, truth, lists, order[:, 0]


def audit_lists(seed, **options):
    """Return the audit of lists whose rest is spread over the other classes, the truth, the names, and first labels."""
    X, truth, lists, first = make_lists(seed, **options)
    y = CandidateSets.from_weights(lists, NAMES, kind="posterior", rest=True)
    named = CandidateSets.from_weights(lists, NAMES).mask
    return find_label_issues(X, y, PLEM(), named=named), truth, named, first


@pytest.mark.parametrize("seed", range(4))
def test_lists_are_wrong_if_they_do_not_name_the_true_class(seed):
    """The interval has the fraction of such lists, although the other classes have the weight of the rest."""
    issues, truth, named, _ = audit_lists(seed)
    wrong = ~named[np.arange(len(truth)), truth]
    low, high = issues.noise_rate_interval
    assert 0.03 < wrong.mean() < 0.15
    assert low <= wrong.mean() <= high
    assert issues.n_wrong == pytest.approx(issues.noise_rate * len(truth))
    assert not named[np.arange(len(truth)), [NAMES.tolist().index(label) for label in issues.proposed]].any()
    listed = np.array([issue.row for issue in issues.top(20)])
    assert wrong[listed].mean() > 5 * wrong.mean()


@pytest.mark.parametrize("seed", range(4))
def test_the_accuracy_of_first_labels_is_in_its_interval(seed):
    """The first label is that of the largest posterior, which is not always the class of the largest likelihood."""
    issues, truth, _, first = audit_lists(seed)
    accuracy = np.mean(first == truth)
    assert (issues.candidates.weights.argmax(axis=1) == truth).mean() < accuracy
    estimate, (low, high) = issues.estimate_accuracy(NAMES[first])
    assert low < estimate < high
    assert low < accuracy < high
    assert high - low < 0.15


def test_named_classes_change_no_weights():
    """The posterior, the corrected weights and first labels are those without named classes."""
    X, _, lists, first = make_lists(0, n=300)
    y = CandidateSets.from_weights(lists, NAMES, kind="posterior", rest=True)
    named = CandidateSets.from_weights(lists, NAMES).mask
    plain, of_names = (find_label_issues(X, y, PLEM(), named=mask) for mask in (None, named))
    np.testing.assert_array_equal(plain.posterior, of_names.posterior)
    np.testing.assert_array_equal(plain.corrected().weights, of_names.corrected().weights)
    assert plain.estimate_accuracy(NAMES[first])[0] == pytest.approx(of_names.estimate_accuracy(NAMES[first])[0])
    np.testing.assert_allclose(
        np.where(named, 0.0, plain.posterior).sum(axis=1)[y.is_weighted], of_names.probability[y.is_weighted]
    )


def test_the_accuracy_of_exact_labels_is_one_minus_the_noise_rate():
    """An exact label is wrong if its set is."""
    X, _, _, first = make_lists(1)
    issues = find_label_issues(X, NAMES[first], PLEM())
    accuracy, (low, high) = issues.estimate_accuracy(NAMES[first])
    assert accuracy == pytest.approx(1 - issues.noise_rate, abs=1e-6)
    assert low < 1 - issues.noise_rate_interval[1] < 1 - issues.noise_rate_interval[0] < high
    nothing, interval = issues.estimate_accuracy([None] * len(first))
    assert np.isnan(nothing)
    assert interval == (0.0, 1.0)


def test_named_classes_have_weights():
    """A mask of another shape, a named class of weight 0 and a list without names are errors."""
    X, _, lists, _ = make_lists(0, n=60)
    y = CandidateSets.from_weights(lists, NAMES)
    for named in (y.mask[:, :2], np.ones_like(y.mask), np.zeros_like(y.mask)):
        with pytest.raises(InputError, match="`named` must"):
            find_label_issues(X, y, PLEM(), named=named)


def test_a_given_rate_is_not_that_of_named_classes():
    """The weights of the other classes decide how many lists are wrong; a given rate would contradict them."""
    X, _, lists, _ = make_lists(0, n=60)
    y = CandidateSets.from_weights(lists, NAMES, kind="posterior", rest=True)
    with pytest.raises(InputError, match="`noise_rate` and `named` cannot both be given"):
        find_label_issues(X, y, PLEM(), named=CandidateSets.from_weights(lists, NAMES).mask, noise_rate=0.1)


def test_sets_among_lists_are_wrong_as_without_named_classes():
    """Rows without weights keep their probabilities, and checked rows have none."""
    X, truth, lists, _ = make_lists(0, n=300)
    rng = np.random.default_rng(0)
    y = CandidateSets.from_weights(lists, NAMES, kind="posterior", rest=True)
    mask, weights = CandidateSets.from_weights(lists, NAMES).mask.copy(), y.weights.copy()
    sets = np.arange(300) % 3 == 0
    mask[sets] = np.eye(6, dtype=bool)[truth[sets]] | np.eye(6, dtype=bool)[rng.integers(6, size=sets.sum())]
    weights[sets] = mask[sets]
    mixed, checked = CandidateSets.from_weights(weights, NAMES), np.arange(300) < 40
    plain, of_names = (find_label_issues(X, mixed, PLEM(), named=named, checked=checked) for named in (None, mask))
    hard = ~mixed.is_weighted
    assert hard.sum() == sets.sum()
    np.testing.assert_array_equal(plain.probability[hard], of_names.probability[hard])
    assert not of_names.probability[checked].any()
    assert plain.noise_rate < of_names.noise_rate


def test_the_first_labels_are_a_vector():
    """A column or a table of labels, or none, is an error."""
    X, _, lists, first = make_lists(0, n=60)
    issues = find_label_issues(X, CandidateSets.from_weights(lists, NAMES), PLEM())
    for labels in (NAMES[first][:, None], None, NAMES[first][:5]):
        with pytest.raises(InputError, match="`labels` must be a vector with a label for each of the 60 rows"):
            issues.estimate_accuracy(labels)
