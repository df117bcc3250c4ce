"""`find_label_issues`: which sets are wrong, how many, and weights for a refit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from oneof import PLSVM, CandidateSets, GaussianEM, make_partial_labels
from oneof.audit import find_label_issues
from oneof.errors import InputError
from oneof.model_selection import cross_val_predict
from oneof.solvers.noise import WrongSets

NAMES = np.array(["ant", "bee", "cat", "dog"])


def noisy_rows(n=400, rate=0.1, seed=0):
    """Return features of four classes, the labels, the true ones, and the rows with errors."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    X = rng.normal(size=(n, 3)) + 2.5 * np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]])[truth]
    wrong = rng.permutation(n) < round(rate * n)
    return X, np.where(wrong, (truth + rng.integers(1, 4, size=n)) % 4, truth), truth, wrong


@pytest.fixture(scope="module")
def exact():
    X, given, truth, wrong = noisy_rows()
    return X, CandidateSets.from_labels(NAMES[given]), truth, wrong, find_label_issues(X, NAMES[given])


def test_errors_of_exact_labels_are_found_and_corrected(exact):
    """Rows with errors come first with the true class proposed, and the number and the rate are right."""
    _, _, truth, wrong, issues = exact
    n_wrong = int(wrong.sum())
    found = issues.top(n_wrong)
    assert np.mean([wrong[issue.row] for issue in found]) >= 0.9
    assert np.mean([issue.proposed == NAMES[truth[issue.row]] for issue in found]) >= 0.9
    assert issues.n_wrong == pytest.approx(n_wrong, rel=0.25)
    low, high = issues.n_wrong_interval
    assert low <= n_wrong <= high
    assert issues.noise_rate == pytest.approx(issues.n_wrong / len(wrong))


def test_table_is_ranked_and_consistent(exact):
    """Rows are ranked by their probability, a proposed label is no candidate, and the runner-up is another class."""
    _, y, _, _, issues = exact
    table = issues.top(len(y))
    assert [issue.row for issue in table] == issues.ranking.tolist()
    assert (np.diff([issue.probability for issue in table]) <= 0).all()
    for issue in table:
        assert issue.proposed not in issue.candidates
        assert issue.runner_up != issue.proposed
        assert 0.0 <= issue.probability <= 1.0
    assert [issue.row for issue in issues.top()] == [i for i in issues.ranking.tolist() if issues.is_issue[i]]


@pytest.mark.long
def test_sets_and_weights_without_the_truth_are_found():
    """Of partial and weighted rows, those that exclude the truth have high probabilities."""
    X, _, truth, wrong = noisy_rows(rate=0.15)
    rng = np.random.default_rng(1)
    mask = make_partial_labels(truth, n_distractors=1, random_state=0).mask.copy()
    for i in np.flatnonzero(wrong):
        mask[i] = False
        mask[i, rng.choice(np.delete(np.arange(4), truth[i]), size=2, replace=False)] = True
    weights = mask * rng.uniform(0.4, 1.0, size=mask.shape)
    for y in (CandidateSets(mask, NAMES), CandidateSets.from_weights(weights, classes=NAMES)):
        issues = find_label_issues(X, y)
        found = wrong[issues.ranking[: wrong.sum()]]
        assert found.mean() > 0.8
        low, high = issues.noise_rate_interval
        assert low <= 0.15 <= high


def test_unlabeled_rows_are_ignored(exact):
    """Unlabeled rows have probability 0, are not ranked, and do not change the probabilities of the others."""
    X, y, _, _, _ = exact
    part, rest = X[:200], X[200:250]
    mask = np.concatenate([y.mask[:200], np.ones((50, 4), dtype=bool)])
    with_unlabeled = find_label_issues(np.concatenate([part, rest]), CandidateSets(mask, NAMES))
    without = find_label_issues(part, y[:200])
    np.testing.assert_allclose(with_unlabeled.probability[:200], without.probability, atol=1e-6)
    assert (with_unlabeled.probability[200:] == 0).all()
    assert with_unlabeled.ranking.max() < 200
    assert with_unlabeled.corrected()[200:].is_unlabeled.all()


def test_corrected_times_the_prior_is_the_posterior_of_exact_labels(exact):
    """The share of the classes outside the set is the probability that it is wrong; certain rows do not change."""
    _, y, _, _, issues = exact
    corrected = issues.corrected()
    joint = corrected.weights * issues.noise.proba.mean(axis=0)
    posterior = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.where(y.mask, 0.0, posterior).sum(axis=1), issues.probability, atol=5e-3)
    unchanged = issues.probability < 1e-3
    assert unchanged.any()
    assert corrected[unchanged] == y[unchanged]
    assert (corrected.classes == y.classes).all()


@pytest.mark.parametrize("n_distractors", [0, 1])
def test_corrected_is_the_likelihood_if_the_features_have_no_information(n_distractors):
    """Predictions that are the class frequencies add nothing: the weights are those of `soften` at the noise rate."""
    rng = np.random.default_rng(0)
    truth = rng.choice(4, p=[0.7, 0.1, 0.1, 0.1], size=400)
    y = make_partial_labels(truth, n_distractors=n_distractors, classes=np.arange(4), random_state=0)
    frequencies = (y.mask / y.mask.sum(axis=1, keepdims=True)).mean(axis=0)
    issues = find_label_issues(None, y, proba=np.tile(frequencies, (400, 1)), noise_rate=0.2)
    ratios = WrongSets.from_evidence(y.evidence).likelihood_ratios(issues.noise.confusion)
    likelihood = 0.8 * y.mask + 0.2 * ratios
    expected = likelihood / likelihood.max(axis=1, keepdims=True)
    np.testing.assert_allclose(issues.corrected().weights, expected, rtol=1e-6)


def test_probabilities_of_certain_predictions_are_at_most_one():
    """A mean over the rates of the interval does not exceed 1 by rounding, so that no weight is negative."""
    rng = np.random.default_rng(1)
    truth = rng.integers(6, size=500)
    X = 6 * rng.normal(size=(6, 8))[truth] + rng.normal(size=(500, 8))
    y = make_partial_labels(truth, fraction=0.7, noise_rate=0.2, random_state=1)
    issues = find_label_issues(X, y, GaussianEM())
    assert 0.999 < issues.probability.max() <= 1.0
    assert (issues.corrected().weights >= 0).all()


@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=["LOORidge", "LogisticRegression"])
def test_rows_of_a_class_of_one_group_are_not_audited(estimator):
    """No fit to other groups predicts such a class: its right labels are not suspected, and not corrected."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 8)
    truth = np.where(groups == 7, "bittern", rng.choice(["finch", "owl", "wren"], 320))
    X = 4 * (truth[:, None] == ["bittern", "finch", "owl", "wren"]) + rng.normal(size=(320, 4))
    with pytest.warns(UserWarning, match="not audited: 8. Only one group has their classes: bittern"):
        issues = find_label_issues(X, truth, estimator, groups=groups)
    assert (issues.probability[groups == 7] == 0).all()
    assert issues.noise_rate < 0.02
    assert issues.corrected()[groups == 7].is_exact.all()
    with pytest.raises(InputError, match="every class occurs in one group only"):
        find_label_issues(X, truth, estimator, groups=truth)


def test_the_posterior_is_that_of_the_features_and_the_set(exact):
    """The part outside the set is the probability that it is wrong."""
    _, y, truth, _, issues = exact
    posterior = issues.posterior
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.where(y.mask, 0.0, posterior).sum(axis=1), issues.probability, atol=1e-12)
    assert np.mean(posterior.argmax(axis=1) == truth) > 0.95


def test_probabilities_of_the_caller_are_those_of_cross_validation():
    """`proba` gives the result of the estimator that predicted it."""
    X, given, _, _ = noisy_rows(n=200)
    proba = cross_val_predict(GaussianNB(), X, given, cv=4, method="predict_proba")
    first, second = find_label_issues(X, given, GaussianNB(), cv=4), find_label_issues(None, given, proba=proba)
    np.testing.assert_allclose(first.probability, second.probability, atol=1e-6)


def test_known_rate_is_used(exact):
    """With a known noise rate of 0 no row changes, and with a higher rate all probabilities are higher."""
    X, y, _, _, issues = exact
    clean = find_label_issues(X, y, noise_rate=0.0)
    assert clean.n_changed == 0
    assert clean.corrected() == y
    high = find_label_issues(X, y, noise_rate=0.3)
    assert (high.noise_rate, high.noise_rate_interval) == (0.3, (0.3, 0.3))
    assert high.is_rate_given
    assert "given" in repr(high)
    assert high.n_wrong > issues.n_wrong


@pytest.mark.long
@pytest.mark.parametrize(
    ("n_classes", "separation", "n_distractors"), [(5, 0.6, 0), (3, 0.6, 0), (2, 0.0, 0), (5, 0.6, 2), (3, 0.6, 1)]
)
def test_clean_labels_of_weak_features_may_all_be_right(n_classes, separation, n_distractors):
    """With weak features the interval begins at 0, and at most 5 % of the rows are suspected."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = truth = rng.integers(n_classes, size=300)
        if n_distractors:
            y = make_partial_labels(y, n_distractors=n_distractors, random_state=seed)
        X = rng.normal(size=(300, 4))
        X[:, 0] += separation * truth
        issues = find_label_issues(X, y)
        assert issues.noise_rate_interval[0] == 0.0
        assert issues.is_issue.mean() <= 0.05


def test_rates_by_size_and_label_are_means(exact):
    """The rates of sizes and of labels are mean probabilities, whose mean over the rows is the noise rate."""
    _, y, _, _, issues = exact
    assert issues.noise_rate_by_size == {1: pytest.approx(issues.noise_rate)}
    assert set(issues.noise_rate_by_label) == set(NAMES.tolist())
    rates = np.array([issues.noise_rate_by_label[name] for name in NAMES.tolist()])
    assert rates @ y.mask.mean(axis=0) == pytest.approx(issues.noise_rate)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, {"proba": np.ones((3, 2))}), r"`proba` must have one row for each of the 4 rows"),
        (({}, {"proba": np.full((4, 2), np.nan)}), r"row 0: `proba` must be finite"),
        (({}, {"proba": [[1, 0], [1, 0], [0, 0], [1, 0]]}), r"row 2: `proba` must be finite"),
        (({}, {"proba": np.ones((4, 2)), "estimator": PLSVM()}), r"cannot both be given"),
        (({}, {"proba": pd.DataFrame(np.ones((4, 2)), columns=["a", "x"])}), r"must have the columns a, b; got a, x"),
        (({"y": [["a"], ["b"], ["a", "b"], ["b", "c"]]}, {"estimator": GaussianNB()}), r"Wrap it in oneof.CandidateEM"),
        (({}, {"noise_rate": 1.0}), r"`noise_rate` must be a number of at least 0 and at most 0.95; got 1.0"),
        (({"X": None}, {}), r"`X` must be given without `proba`"),
        (({}, {"estimator": StandardScaler()}), r"must have predict_proba or decision_function"),
    ],
)
def test_invalid_arguments(arguments, message):
    """Invalid arguments raise one sentence that names the row."""
    changed, named = arguments
    given = {"X": [[0.0], [1.0], [2.0], [3.0]], "y": ["a", "b", "a", "b"]} | changed
    with pytest.raises(InputError, match=message):
        find_label_issues(given["X"], given["y"], **named)


def test_order_of_many_rows_does_not_matter():
    """Errors in the odd rows only, of more rows than the interval uses, are counted and found."""
    rng = np.random.default_rng(0)
    n = 4000
    p = 1 / (1 + np.exp(-rng.normal(scale=5.0, size=n)))
    truth = (rng.random(n) < p).astype(int)
    wrong = (np.arange(n) % 2 == 1) & (rng.random(n) < 0.4)
    proba = np.stack([1 - p, p], axis=1)
    given = np.where(wrong, 1 - truth, truth)
    issues = find_label_issues(None, given, proba=proba)
    assert issues.noise_rate == pytest.approx(0.2, abs=0.05)
    again = find_label_issues(None, given, proba=proba, random_state=0)
    np.testing.assert_array_equal(again.probability, issues.probability)


def test_scores_near_the_largest_number_are_scaled():
    """Decision values of 1e308 have no warning, and give the audit of the same values divided by 1e308."""

    class Scores(ClassifierMixin, BaseEstimator):
        def __init__(self, scale=1.0):
            self.scale = scale

        def fit(self, _, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return X.argmax(axis=1)

        def decision_function(self, X):
            return self.scale * X / 10

    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=120)
    X = np.eye(3)[truth] + 0.1 * rng.random((120, 3))
    y = CandidateSets.from_labels(np.where(rng.random(120) < 0.1, (truth + 1) % 3, truth))
    small, large = (find_label_issues(X, y, Scores(scale), cv=3, random_state=0) for scale in (1.0, 1e308))
    np.testing.assert_allclose(large.probability, small.probability, atol=1e-9)


ADD_CLASS = r"got shape \(90, 4\).*CandidateSets.from_labels\(y, classes=...\)"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (list("abc"), None),
        (list("cab"), None),
        (None, None),
        (list("abcd"), ADD_CLASS),
        (range(4), ADD_CLASS),
        ((), ADD_CLASS),
        (list("ab"), "must have the columns a, b, c; got a, b. Rename or add columns"),
        (list("abx"), "must have the columns a, b, c; got a, b, x. Rename or add columns"),
        (list("aabc"), "must have the columns a, b, c; got a, a, b, c. Rename or add columns"),
    ],
)
def test_columns_of_probabilities(columns, message):
    """Named columns have any order; with a class that no label has, the error names the call that adds the class.

    `columns` are those of a DataFrame; None and () are arrays with three and four columns.
    """
    labels = np.array(["a", "b", "c"] * 30)
    names = list("abcd")[: 4 if columns == () else 3] if not columns else [str(name) for name in columns]
    proba = np.where(np.array(names) == labels[:, None], 0.9, 0.05)
    if columns:
        proba = pd.DataFrame(proba, columns=columns)
    if message is None:
        assert find_label_issues(None, labels, proba=proba).probability.max() < 0.5
        return
    with pytest.raises(InputError, match=message):
        find_label_issues(None, labels, proba=proba)
    if names == list("abcd"):  # the remedy
        named = CandidateSets.from_labels(labels, classes=names)
        assert find_label_issues(None, named, proba=proba).probability.max() < 0.5


def test_checked_rows_are_neither_ranked_nor_corrected(exact):
    """A checked row has probability 0 and keeps its label; all others are ranked, and the noise rate is theirs."""
    X, y, _, wrong, plain = exact
    checked = ~wrong & (np.arange(400) >= 300)
    issues = find_label_issues(X, y, checked=checked)
    assert sorted(issues.ranking.tolist()) == np.flatnonzero(~checked).tolist()
    assert not issues.probability[checked].any()
    assert issues.corrected()[checked].is_exact.all()
    assert np.allclose(issues.posterior[checked].max(axis=1), 1)
    low, high = issues.noise_rate_interval
    assert low <= wrong[~checked].mean() <= high
    assert wrong[issues.ranking[: wrong.sum()]].mean() >= 0.9
    none = find_label_issues(X, y, checked=np.zeros_like(checked))
    np.testing.assert_array_equal(none.probability, plain.probability)


@pytest.mark.parametrize("checked", [np.ones(400, dtype=bool), np.zeros(3, dtype=bool), np.arange(400)])
def test_an_invalid_mask_is_an_error(exact, checked):
    """All rows, another length and numbers in place of booleans are refused."""
    with pytest.raises(InputError, match="`checked` must"):
        find_label_issues(exact[0], exact[1], checked=checked)
