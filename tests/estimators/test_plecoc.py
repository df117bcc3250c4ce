"""PLECOC compared with an oracle, with various classifiers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC

from oneof import PLECOC, CandidateSets
from oneof.errors import InputError
from oneof.estimators import plecoc
from tests.estimators.panel import table
from tests.oracles import plecoc as oracle
from tests.oracles.levels import stacked
from tests.weights import draw_weights


@pytest.mark.parametrize("is_weighted", [False, True], ids=["sets", "weights"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_fit_and_prediction_equal_the_oracle(form, is_weighted):
    """Classifiers trained on each column, on level sets as rows with their masses, give the code weights and scores."""
    X, mask = table(100, K=4)
    queries, _ = table(20, K=4, seed=1)
    weights, svm = draw_weights(mask) if is_weighted else mask, LogisticRegression(C=5.0, tol=1e-10, max_iter=1000)
    model = PLECOC(svm, code_length=6, random_state=0).fit(form(X), CandidateSets.from_weights(weights))
    rows, masses, sets = stacked(weights)
    labeled, margins, new_margins = np.unique(rows), [], []
    for code in model.code_book_.T:
        sides = sets @ code
        used = np.abs(sides) == sets.sum(axis=1)
        classifier = clone(svm).fit(X[rows[used]], np.sign(sides[used]), sample_weight=masses[used])
        margins.append(classifier.decision_function(X[labeled]))
        new_margins.append(classifier.decision_function(queries))
    H = oracle.code_weights(np.transpose(margins), weights[labeled], model.code_book_)
    np.testing.assert_allclose(model.code_weights_, H, rtol=1e-9)
    expected = -oracle.losses(np.transpose(new_margins), model.code_book_, H)
    np.testing.assert_allclose(model.decision_function(queries), expected, rtol=1e-4)
    np.testing.assert_array_equal(model.predict(queries), expected.argmax(axis=1))


def test_the_default_classifier_weighs_its_rows():
    """The kernel coefficient of the default SVC is that of the rows counted by their masses."""
    X, mask = table(60, K=4)
    for rows in (X, sp.csr_array(X)):
        model = PLECOC(code_length=2, random_state=0).fit(rows, CandidateSets.from_weights(draw_weights(mask)))
        for code, estimator in zip(model.code_book_.T, model.estimators_, strict=True):
            masses = np.abs(oracle.code_targets(draw_weights(mask), code))
            mean = np.average(X, axis=0, weights=masses).mean()
            variance = np.average(((X - mean) ** 2).mean(axis=1), weights=masses)
            assert estimator.gamma == pytest.approx(1 / (X.shape[1] * variance), rel=1e-9)


def test_equal_codings_share_a_classifier():
    """Three classes have three partitions: 16 codings are drawn, and three classifiers trained."""
    X, mask = table(60)
    model = PLECOC(random_state=0).fit(X, mask)
    assert len(model.estimators_) == model.code_book_.shape[1] == 16
    for j, code in enumerate(model.code_book_.T):
        same = (model.code_book_ == code[:, None]).all(axis=0)
        assert {id(model.estimators_[i]) for i in np.flatnonzero(same)} == {id(model.estimators_[j])}
    assert len({id(e) for e in model.estimators_}) == len(np.unique(model.code_book_, axis=1).T) == 3


def test_with_two_classes_the_classifier_itself_predicts():
    """With two classes there is one coding, with the predictions of a classifier of the exact labels."""
    X, mask = table(80, K=2)
    labeled = ~mask.all(axis=1)
    model = PLECOC(random_state=0).fit(X, CandidateSets(mask, ["no", "yes"]))
    classifier = SVC().fit(X[labeled], mask[labeled, 1])
    np.testing.assert_array_equal(model.predict(X) == "yes", classifier.predict(X))
    np.testing.assert_array_equal(model.decision_function(X) > 0, classifier.predict(X))


def test_probabilities_are_converted_to_margins():
    """Without a decision_function the margin is 2 p - 1."""
    X, mask = table(60)
    model = PLECOC(GaussianNB(), random_state=0).fit(X, mask)
    margins = np.transpose([2 * e.predict_proba(X)[:, 1] - 1 for e in model.estimators_])
    expected = -oracle.losses(margins, model.code_book_, model.code_weights_)
    np.testing.assert_allclose(model.decision_function(X), expected)


def test_sparse_rows_require_an_estimator_that_accepts_them():
    """The tag for sparse rows is that of the inner classifier."""
    assert PLECOC(LinearSVC()).__sklearn_tags__().input_tags.sparse
    assert not PLECOC(GaussianNB()).__sklearn_tags__().input_tags.sparse
    X, mask = table(60)
    scores = PLECOC(LinearSVC(), random_state=0).fit(sp.csr_array(X), mask).decision_function(sp.csr_array(X))
    np.testing.assert_allclose(
        scores, PLECOC(LinearSVC(), random_state=0).fit(X, mask).decision_function(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("form", [np.float64, np.float32])
def test_kernels_keep_their_digits_far_from_the_origin(form):
    """Scores of the default classifiers do not depend on the origin."""
    X, mask = table(60)
    X, away = np.round(X * 2**4) / 2**4, 2.0 ** (18 if form is np.float32 else 30)
    reference = PLECOC(random_state=0).fit(X, mask).decision_function(X)
    rows = (X + away).astype(form)
    np.testing.assert_allclose(PLECOC(random_state=0).fit(rows, mask).decision_function(rows), reference, rtol=1e-3)


def test_margins_that_are_not_finite_are_rejected():
    """For rows far from those of fit, a classifier may return NaN, which is an error."""
    X, mask = table(60)
    model = PLECOC(GaussianNB(), random_state=0).fit(X, mask)
    with pytest.raises(InputError, match=r"margins overflow float64\. Scale the features"):
        model.predict(X * 1e200)


@pytest.mark.parametrize(("shape", "value"), [((7, 3), 0.3), ((6, 2), 2.3), ((6, 2), 1e150)])
def test_sparse_features_that_are_constant(shape, value):
    """Constant sparse features have a variance of 0, which rounding does not make negative."""
    X = np.full(shape, value)
    mask = np.eye(2, dtype=bool)[np.arange(shape[0]) % 2]
    dense, sparse = PLECOC(random_state=0).fit(X, mask), PLECOC(random_state=0).fit(sp.csr_array(X), mask)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_array(X)))


def test_sets_that_no_coding_separates_are_rejected():
    """With complementary labels every coding has rows on only one side, which is an error."""
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(60, 3)), rng.integers(0, 5, 60)
    mask = np.ones((60, 5), dtype=bool)
    mask[np.arange(60), (truth + rng.integers(1, 5, 60)) % 5] = False
    with pytest.raises(InputError, match="no coding separates the sets"):
        PLECOC(random_state=0).fit(X, mask)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_margins_of_training_rows_have_the_signs_of_the_decision_function(scale, monkeypatch):
    """Margins by products of matrices are those of `decision_function`, with equal signs also if they are nearly 0."""
    X, _ = table(120, seed=2)
    X = np.vstack([X, scale * X[:5]])
    y = np.where(np.random.default_rng(0).random(len(X)) < 0.5, -1, 1)
    classifier = SVC(gamma=0.3 / scale).fit(X, y)
    classifier.intercept_ -= classifier.decision_function(X[:1])  # a margin of 0 up to rounding
    classifier._intercept_ = -classifier.intercept_  # as SVC stores it for two classes
    monkeypatch.setattr(plecoc, "MAX_KERNEL_SIZE", 1000)
    margins, expected = plecoc._training_margin(classifier, X), classifier.decision_function(X)
    np.testing.assert_allclose(margins, expected, atol=1e-9)
    np.testing.assert_array_equal(np.sign(margins), np.sign(expected))
