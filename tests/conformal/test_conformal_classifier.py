"""ConformalClassifier: coverage on exchangeable rows, modes of calibration, forms of labels, bad input."""

import math
import pickle
import warnings
from typing import Self

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from oneof import CLPL, PLKNN, CandidateEM, CandidateSets, LOORidge
from oneof.conformal import ConformalClassifier, evaluate_sets
from oneof.errors import InputError
from oneof.likelihoods import softmax
from oneof.solvers.conformal import calibrate, class_scores, p_values, prediction_sets
from oneof.typing import Floats, Ints

CENTERS = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
LOO = {"estimator": LOORidge("rbf", features="standard"), "cv": "leave_one_out"}


def draw(rng, n):
    """Return rows around one center per class, with overlap, and their labels."""
    y = rng.integers(3, size=n)
    return CENTERS[y] + rng.normal(size=(n, 2)), np.array(["finch", "owl", "wren"])[y]


def add_distractors(rng, y, rate):
    classes = np.unique(y)
    return CandidateSets((y[:, None] == classes) | (rng.random((len(y), len(classes))) < rate), classes)


@parametrize_with_checks(
    [
        ConformalClassifier(LogisticRegression(), random_state=0),
        ConformalClassifier(PLKNN(n_neighbors=3), cv=0.4, method="aps", random_state=0),
        ConformalClassifier(**LOO),
    ]
)
@pytest.mark.filterwarnings("ignore")  # the checks fit a few rows
def test_scikit_learn_checks(estimator, check):
    """Every check of check_estimator passes, without expected failures."""
    check(estimator)


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"cv": 0.5},
        {"cv": 5},
        {"cv": 5, "method": "aps"},
        {"cv": 0.5, "method": "aps", "randomized": False},
        {"cv": 5, "class_conditional": True},
        LOO,
    ],
    ids=["split", "cross", "cross-aps", "split-aps", "cross-conditional", "leave-one-out"],
)
def test_new_rows_are_covered(options):
    """Over many draws, the sets of new rows contain the truth at the nominal rate, within binomial bounds."""
    rng, n_draws, covered = np.random.default_rng(0), {0.5: 200, 5: 80}.get(options["cv"], 40), 0
    for seed in range(n_draws):
        X, y = draw(rng, 61)
        model = ConformalClassifier(coverage=0.8, random_state=seed, **{"estimator": GaussianNB()} | options)
        covered += y[60] in model.fit(X[:60], y[:60]).predict_set(X[60:]).to_sets()[0]
    assert covered >= binom.ppf(0.001, n_draws, 0.8)
    if not options.get("class_conditional"):  # which can only be covered above the rate, with 12 rows of a class
        assert covered <= binom.ppf(0.999, n_draws, 0.87)


def test_split_sets_are_those_of_the_solver():
    """The sets of a fitted estimator are those of the p-values of its own probabilities."""
    rng = np.random.default_rng(2)
    X, y = draw(rng, 200)
    model = LogisticRegression().fit(X[:80], y[:80])
    conformal = ConformalClassifier(model, cv="prefit", coverage=0.85).fit(X[80:150], y[80:150])
    scores = class_scores(model.predict_proba(X[80:150]), "lac")
    mask = y[80:150, None] == model.classes_
    p = p_values(
        [calibrate(scores, 1 - scores, mask, calibration="sampled")],
        [class_scores(model.predict_proba(X[150:]), "lac")],
    )
    best = model.predict_proba(X[150:])
    np.testing.assert_array_equal(conformal.predict_set(X[150:]).mask, prediction_sets(p, 0.85, best))
    np.testing.assert_array_equal(conformal.predict(X), model.predict(X))
    np.testing.assert_array_equal(conformal.predict_proba(X), model.predict_proba(X))
    assert conformal.estimator_ is model
    assert conformal.score(X, y) == model.score(X, y)
    frozen = ConformalClassifier(FrozenEstimator(model), cv=2, coverage=0.85).fit(X[80:150], y[80:150])
    np.testing.assert_array_equal(frozen.predict_set(X[150:]).mask, prediction_sets(p, 0.85, best))


def test_every_labeled_row_is_compared_with_a_model_that_was_not_fitted_to_it():
    """Cross-conformal sets are those of models fitted to the other folds; unlabeled rows do not calibrate."""
    rng = np.random.default_rng(3)
    X, y = draw(rng, 70)
    truth = CandidateSets.from_labels([None if i % 7 == 0 else label for i, label in enumerate(y)])
    folds = [(np.flatnonzero(np.arange(70) % 2 != k), np.flatnonzero(np.arange(70) % 2 == k)) for k in range(2)]
    conformal = ConformalClassifier(PLKNN(5), cv=folds, coverage=0.7).fit(X, truth)
    new, parts, scores = draw(rng, 30)[0], [], []
    for train, test in folds:
        model, known = PLKNN(5).fit(X[train], truth[train]), test[~truth.is_unlabeled[test]]
        proba = model.predict_proba(X[known])
        parts.append(calibrate(class_scores(proba, "lac"), proba, truth[known].mask, calibration="conservative"))
        scores.append(class_scores(model.predict_proba(new), "lac"))
    best = PLKNN(5).fit(X, truth).predict_proba(new)
    np.testing.assert_array_equal(conformal.predict_set(new).mask, prediction_sets(p_values(parts, scores), 0.7, best))
    assert conformal.n_calibration_ == 60
    assert len(conformal.estimators_) == 2


@pytest.mark.parametrize(
    "estimator", [CLPL(), LinearSVC(), make_pipeline(StandardScaler(), LogisticRegression())], ids=str
)
def test_classifiers_with_scores_and_pipelines(estimator):
    """Classifiers without predict_proba are scored by a softmax; clones, pickles and sparse rows give the same sets."""
    rng = np.random.default_rng(7)
    X, y = draw(rng, 150)
    model = ConformalClassifier(estimator, cv=3, coverage=0.8, random_state=0).fit(X[:100], y[:100])
    sets = model.predict_set(X[100:])
    assert 0.6 < evaluate_sets(sets, y[100:]).coverage <= 1.0
    assert clone(model).fit(X[:100], y[:100]).predict_set(X[100:]) == sets
    assert pickle.loads(pickle.dumps(model)).predict_set(X[100:]) == sets
    if not hasattr(estimator, "steps"):
        as_sparse = clone(model).fit(sp.csr_array(X[:100]), y[:100]).predict_set(sp.csr_array(X[100:]))
        assert (as_sparse.mask != sets.mask).mean() < 0.05
    if not hasattr(estimator, "predict_proba"):
        with pytest.raises(InputError, match="must have predict_proba"):
            model.predict_proba(X)


def test_a_class_that_is_not_in_a_fold_has_the_largest_score():
    """A class that is missing from the training rows of a fold has probability 0 there, in its own column."""
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0]] * 3)
    y = np.array(["a", "a", "a", "b", "b", "b", "c"] * 3)
    folds = [(np.arange(6), np.arange(6, 21)), (np.arange(6, 21), np.arange(6))]  # the first without class c
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sets = ConformalClassifier(LogisticRegression(), cv=folds).fit(X, y).predict_set([[0.1], [9.0]])
    assert sets.classes.tolist() == ["a", "b", "c"]
    assert "c" in sets.to_sets()[1]


def test_few_rows_warn():
    """A coverage that the calibration rows cannot give is a warning, and the sets have all classes."""
    rng = np.random.default_rng(9)
    X, y = draw(rng, 8)
    model = ConformalClassifier(GaussianNB(), cv=2, coverage=0.9, random_state=0)
    y[:6] = ["finch", "owl", "wren"] * 2
    with pytest.warns(UserWarning, match="3 of 3 classes are in every prediction set.*at least 9 calibration rows[.]"):
        assert model.fit(X, y).predict_set(X).mask.all()
    X, y = draw(rng, 30)
    model = ConformalClassifier(GaussianNB(), cv=2, coverage=0.5, class_conditional=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="3 of 3 classes are in every.*at least 99 calibration rows of each class"):
        assert model.predict_set(X, coverage=0.99).mask.all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "`cv` must be an integer of at least 2"),
        ({"cv": True}, "`cv` must be"),
        ({"cv": [(np.arange(6), np.arange(6, 40))]}, "exactly one test subset"),
        ({"cv": "leave_one_out"}, "`estimator` must be LOORidge"),
        ({"cv": "prefit", "estimator": None}, "`estimator` must be a fitted classifier"),
        ({"estimator": StandardScaler()}, "must have predict_proba or decision_function"),
        ({"estimator": LogisticRegression}, "must be an object"),
    ],
)
def test_wrong_parameters_are_errors(options, message):
    """A wrong parameter is one sentence that names it."""
    X, y = draw(np.random.default_rng(11), 40)
    with pytest.raises((InputError, TypeError), match=message):
        ConformalClassifier(**{"estimator": GaussianNB()} | options).fit(X, y)


def test_wrong_input_is_an_error():
    """Partial rows for a classifier of scikit-learn, unknown labels and lengths are errors with a remedy."""
    rng = np.random.default_rng(12)
    X, y = draw(rng, 60)
    sets = add_distractors(rng, y, 0.3)
    with pytest.raises(InputError, match=r"Wrap it in oneof.CandidateEM"):
        ConformalClassifier(GaussianNB()).fit(X, sets)
    ConformalClassifier(CandidateEM(GaussianNB()), cv=0.5, coverage=0.5, random_state=0).fit(X, sets)
    with pytest.raises(InputError, match="row 0: label 'stork' is not one of the classes"):
        ConformalClassifier(GaussianNB().fit(X, y), cv="prefit").fit(X, ["stork", *y[1:]])
    with pytest.raises(InputError, match="60 rows, but y has 59"):
        ConformalClassifier(GaussianNB()).fit(X, y[1:])
    model = ConformalClassifier(GaussianNB(), random_state=0).fit(X, y)
    with pytest.raises(InputError, match="`coverage` must be"):
        model.predict_set(X, coverage=0)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_calibration_uses_the_label_distributions(weighted):
    """With leave-one-out, a partial row has its candidates with the label distribution of the fitted LOORidge."""
    rng = np.random.default_rng(13)
    X, y = draw(rng, 100)
    sets = add_distractors(rng, y, 0.4)
    if weighted:
        sets = CandidateSets.from_weights(sets.weights * rng.choice([0.5, 1.0], size=sets.shape), sets.classes)
    steps = make_pipeline(StandardScaler(), LOORidge("rbf", features="standard"))
    conformal = ConformalClassifier(steps, cv="leave_one_out", coverage=0.8, calibration="sampled")
    conformal.fit(X[:80], sets[:80])
    ridge, labeled = conformal.estimator_[-1], ~sets[:80].is_unlabeled
    proba = softmax(ridge.inverse_temperature_ * ridge.loo_scores_)[labeled]
    by_labels = calibrate(
        class_scores(proba, "lac"),
        proba,
        sets[:80].evidence[labeled],
        calibration="sampled",
        posterior=ridge.label_distributions_[labeled],
    )
    new = conformal.predict_proba(X[80:])
    p = p_values([by_labels], [class_scores(new, "lac")])
    np.testing.assert_array_equal(conformal.predict_set(X[80:]).mask, prediction_sets(p, 0.8, new))
    assert conformal.n_calibration_ == labeled.sum()


def test_conservative_sets_of_many_partial_rows_warn():
    """If most sets have all classes because of partial rows, a warning names the other rule."""
    rng = np.random.default_rng(10)
    X, y = draw(rng, 100)
    sets = add_distractors(rng, y, 0.5)
    model = ConformalClassifier(PLKNN(5), random_state=0).fit(X, sets)
    with pytest.warns(UserWarning, match=r"Most prediction sets have all classes, since \d+ of \d+.*sampled"):
        model.predict_set(X)
    assert "if every candidate set of the calibration contains it" in model.guarantee_
    model = ConformalClassifier(PLKNN(5), calibration="sampled", random_state=0).fit(X, sets)
    assert model.predict_set(X).sizes.mean() < 2.5
    assert model.guarantee_.startswith("No guarantee")


def simulate(seed: int, n_groups: int, n_rows: int = 10) -> tuple[Floats, Ints, Ints]:
    """Return rows, labels and groups; each group has an offset of its own, and mainly one class."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows)
    main, y = rng.integers(3, size=n_groups)[groups], rng.integers(3, size=n_groups * n_rows)
    y = np.where(rng.random(len(y)) < 0.8, main, y)
    offset = 3 * rng.normal(size=(n_groups, 4))[groups]
    return np.eye(3, 4)[y] + offset + 0.3 * rng.normal(size=offset.shape), y, groups


@pytest.mark.long
def test_rows_of_new_groups_are_covered() -> None:
    """Folds by groups cover 90 % of the rows of new groups; folds of rows know the offsets, and cover too few."""
    X, y, groups = simulate(0, 60)
    X_new, y_new, _ = simulate(1, 400)
    covered = []
    for given in (None, groups):
        model = ConformalClassifier(LOORidge(), coverage=0.9, random_state=0).fit(X, y, groups=given)
        covered.append(model.predict_set(X_new).mask[np.arange(len(y_new)), y_new].mean())
    assert covered[0] < 0.8
    assert covered[1] > 0.87


@pytest.mark.parametrize("cv", ["prefit", "leave_one_out", 0.3])
def test_groups_need_folds(cv: object) -> None:
    """Without folds, groups have no meaning."""
    X, y, groups = simulate(0, 20)
    estimator = LOORidge().fit(X, y)
    with pytest.raises(InputError, match="`groups` defines folds, and `cv` must be their number or a splitter"):
        ConformalClassifier(estimator, cv=cv).fit(X, y, groups=groups)


class GroupRecorder(LogisticRegression):
    """A classifier that stores the groups of its rows, which are the first feature."""

    def fit(self, X: Floats, y: Ints) -> Self:
        self.groups_ = set(X[:, 0])
        return super().fit(X, y)


def test_a_number_of_folds_separates_the_groups() -> None:
    """Each group is left out of the rows of one estimator."""
    X, y, groups = simulate(0, 20)
    X[:, 0] = groups
    model = ConformalClassifier(GroupRecorder(max_iter=5000), cv=4, random_state=0).fit(X, y, groups=groups)
    left_out = [set(range(20)) - part.groups_ for part in model.estimators_]
    assert sum(map(len, left_out)) == 20
    assert set.union(*left_out) == set(range(20))


def test_few_groups_have_a_warning() -> None:
    """The coverage of new groups depends on their number, and not on that of the rows."""
    X, y, groups = simulate(0, 10, n_rows=60)
    with pytest.warns(UserWarning, match="10 groups calibrate the sets"):
        ConformalClassifier(LogisticRegression()).fit(X, y, groups=groups)


def test_numbers_of_a_small_table():
    """Coverage, bounds and sizes are those counted by hand."""
    sets = CandidateSets.from_sets([["a"], ["a", "b"], ["c"], ["a", "b", "c"], ["b"]], classes=["a", "b", "c"])
    result = evaluate_sets(sets, [["a"], ["c"], ["c"], ["a", "c"], None])
    assert (result.n_exact, result.n_labeled, result.n_rows) == (3, 4, 5)
    assert result.coverage == pytest.approx(2 / 3)
    assert result.coverage_bounds == (0.75, 0.75)
    assert result.mean_size == pytest.approx(8 / 5)
    assert [(g.key, g.n_rows, g.coverage, g.mean_size) for g in result.by_class] == [("a", 1, 1, 1), ("c", 2, 0.5, 1.5)]
    assert [(g.key, g.n_rows, g.coverage) for g in result.by_size] == [(1, 2, 1.0), (2, 1, 0.0)]


def test_bounds_hold_the_true_coverage():
    """Whatever candidate is the true class, the coverage is between the bounds."""
    rng = np.random.default_rng(0)
    masks = rng.random((2, 50, 4)) < 0.5
    masks[:, :, 0] |= ~masks.any(axis=2)
    sets, y = (CandidateSets(mask, list("abcd")) for mask in masks)
    low, high = evaluate_sets(sets, y).coverage_bounds
    for _ in range(20):
        labels = [sorted(members)[rng.integers(len(members))] for members in y.to_sets()]
        labels = [label if size < 4 else None for label, size in zip(labels, y.sizes, strict=True)]
        assert low <= evaluate_sets(sets, labels).coverage <= high


def test_rows_without_a_true_class():
    """The coverage of partial rows alone is NaN with bounds; unlabeled rows alone and other lengths are errors."""
    assert math.isnan(evaluate_sets([["a"], ["b"], ["c"]], [["a", "b"], ["b", "c"], ["a", "b"]]).coverage)
    with pytest.raises(InputError, match="every row is unlabeled"):
        evaluate_sets([["a"], ["b"]], CandidateSets([[True, True]] * 2, ["a", "b"]))
    with pytest.raises(InputError, match="same length"):
        evaluate_sets([["a"], ["b"]], ["a"])
