"""Properties of the rows that active learning selects, and of questions about subsets of the classes."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import oneof
from oneof import CandidateSets, GraphLogisticRegression
from oneof.active import AnswerModel, Query, local_density, query, query_subsets
from oneof.errors import InputError, LabelError
from oneof.solvers.active import ViewInstances, mutual_information, subset_information
from reproduction.sensors import make_two_sensors
from tests.solvers.active.dense import RidgeLogistic, brute_force, make_pool

STRATEGIES = ("mutual_information", "entropy", "margin", "random")


def fit_classes(n_classes):
    """Return a model with a posterior of some classes, and a pool."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % n_classes
    return RidgeLogistic().fit(X + np.eye(3)[y], y), rng.normal(size=(40, 3))


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def fitted(request):
    return fit_classes(request.param)


def test_the_most_informative_row_equals_that_of_brute_force(fitted):
    """By default the row of the largest mutual information is selected."""
    model, pool = fitted
    information = [brute_force(model.posterior_, model.posterior_features(pool), row) for row in range(len(pool))]
    result = query(model, pool)
    assert isinstance(result, Query)
    assert result.indices.tolist() == [np.argmax(information)]
    np.testing.assert_allclose(result.utilities, [max(information)], rtol=1e-9)
    everything = query(model, pool, len(pool))
    assert sorted(everything.indices.tolist()) == list(range(len(pool)))


def test_entropy_and_margin_equal_their_definitions(fitted):
    """The utilities are the entropy, and 1 minus the difference of the two largest probabilities."""
    model, pool = fitted
    p = model.predict_proba(pool)
    top = np.sort(p, axis=1)
    definitions = {"entropy": -(p * np.log(p)).sum(axis=1), "margin": 1 - (top[:, -1] - top[:, -2])}
    for strategy, utilities in definitions.items():
        result = query(model, pool, 7, strategy)
        assert result.indices.tolist() == np.argsort(-utilities)[:7].tolist()
        np.testing.assert_allclose(result.utilities, utilities[result.indices])


@pytest.mark.parametrize("strategy", ["mutual_information", "entropy", "margin"])
def test_ties_go_to_the_lowest_index(fitted, strategy):
    """The first of several equal rows is selected."""
    model, pool = fitted
    row = query(model, pool, 1, strategy).indices[0]
    assert query(model, np.concatenate([pool, pool]), 1, strategy).indices[0] == row
    assert query(model, np.concatenate([pool[::-1], pool]), 1, strategy).indices[0] == len(pool) - 1 - row


def test_random_queries_are_repeatable_and_without_replacement(fitted):
    """One seed gives one query of distinct rows, without an estimator."""
    model, pool = fitted
    first, again, other = (query(model, pool, 10, "random", random_state=s).indices.tolist() for s in (0, 0, 1))
    assert first == again
    assert first != other
    assert len(set(first)) == 10
    assert query(None, pool, 2, "random", random_state=0).indices.tolist() == first[:2]


@pytest.mark.parametrize("estimator", [LogisticRegression(), oneof.PLEM(), oneof.PLKNN(), oneof.HarmonicField()])
def test_any_probabilistic_estimator_can_be_queried(estimator):
    """Estimators of this library and of scikit-learn give distinct rows in decreasing order of utility."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    estimator.fit(X, (X[:, 0] > 0).astype(int))
    for strategy in ("entropy", "margin", "random"):
        result = query(estimator, X, 4, strategy, random_state=0)
        assert len(set(result.indices.tolist())) == 4
        assert (np.diff(result.utilities) <= 0).all()


def test_rows_in_any_form(fitted):
    """Lists, tables, Fortran order and sparse matrices give the query of an array."""
    model, pool = fitted
    reference = query(model, pool, 5)
    for form in (pool.tolist(), pd.DataFrame(pool), np.asfortranarray(pool)):
        assert query(model, form, 5).indices.tolist() == reference.indices.tolist()
    X = np.abs(pool)
    linear = LogisticRegression().fit(X, X[:, 0] > 0.5)
    for strategy in ("entropy", "random"):
        dense, sparse = (query(linear, form, 5, strategy, random_state=0) for form in (X, sp.coo_matrix(X)))
        assert dense.indices.tolist() == sparse.indices.tolist()


def test_errors_name_the_missing_method_and_a_remedy():
    """The error for an estimator without a posterior or probabilities names it and its valid strategies."""
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(InputError, match=r'which PLEM does not have\. Pass .*"entropy", "margin" or "random"'):
        query(oneof.PLEM().fit(X, y), X)
    with pytest.raises(InputError, match="a posterior of the weights, which LogisticRegression does not have"):
        query(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X)
    for estimator in (RidgeClassifier(), SVC(), make_pipeline(RidgeClassifier())):
        with pytest.raises(InputError, match=r'requires predict_proba, .* Pass strategy="random"'):
            query(estimator.fit(X, y), X, strategy="entropy")


@pytest.mark.parametrize("strategy", ["mutual_information", "entropy", "margin"])
def test_an_estimator_that_is_not_fitted_is_an_error(strategy):
    """An unfitted estimator or pipeline raises scikit-learn's NotFittedError."""
    with pytest.raises(NotFittedError):
        query(RidgeLogistic(), [[0.0]], strategy=strategy)
    with pytest.raises(NotFittedError):
        query(make_pipeline(StandardScaler(), RidgeLogistic()), [[0.0]], strategy=strategy)


def test_errors_name_the_argument(fitted):
    """An error names the argument that is not valid, and its value."""
    model, pool = fitted
    for strategy in STRATEGIES:
        with pytest.raises(InputError, match=r"`batch_size` must be at most 40, .* got 41"):
            query(model, pool, 41, strategy)
        with pytest.raises(InputError, match="got an empty pool"):
            query(model, pool[:0], 1, strategy)


def test_rows_with_nan_are_an_error(fitted):
    """NaN in the pool is an error with the row."""
    model, pool = fitted
    broken = pool.copy()
    broken[3, 1] = np.nan
    for strategy in ("mutual_information", "entropy", "margin"):
        with pytest.raises(InputError, match="row 3 of the pool"):
            query(model, broken, 1, strategy)
    with pytest.raises(ValueError, match="NaN"):
        query(LogisticRegression().fit(pool, pool[:, 0] > 0), broken, 1, "entropy")


# -- Graph-prior logistic regression, with one view of the rows and with two -------------------------------------------


@pytest.fixture(scope="module")
def sensors():
    """Return a classifier of two views of few features, and its rows."""
    rows = make_two_sensors((20, 40, 40), (8, 5), separation=(4.0, 3.0), random_state=0)
    y = np.where(np.arange(100) < 30, rows.y, None)
    return GraphLogisticRegression(views=rows.views).fit(rows.X, y), rows


def first_proba(model, X, view=None):
    return model.predict_proba(X, view=view)[:, 0]


def test_the_information_of_a_row_is_that_of_its_views(sensors):
    """The information of a row is one determinant over the views that it has."""
    model, rows = sensors
    present = np.column_stack([np.isfinite(rows.X[:, columns[0]]) for columns in rows.views])
    pool = np.arange(30, 100)
    result = query(model, rows.X[pool], 70)
    first = pool[result.indices[0]]
    views = [v for v in range(2) if present[first, v]]
    instances = [model.posterior_features(rows.X[[first]])[v][1] for v in views]
    M = np.array([[model.posterior_.covariance(a, b)[0, 0, 0] for b in instances] for a in instances])
    p = np.array([first_proba(model, rows.X[[first]], v)[0] for v in views])
    expected = 0.5 * np.log(np.linalg.det(np.eye(len(views)) + (p * (1 - p))[:, None] * M))
    assert result.utilities[0] == pytest.approx(expected, rel=1e-8)
    assert sorted(result.indices.tolist()) == list(range(70))


def test_queries_of_a_pipeline_with_a_scaler():
    """A pipeline can be queried for labels and for subsets; a label is at least as informative as an answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(80, 3))
    y = np.where(np.arange(80) < 30, np.argmax(X, axis=1), -1)
    model = make_pipeline(StandardScaler(), GraphLogisticRegression()).fit(X, y)
    labels, subsets = query(model, X[30:], 50), query_subsets(model, X[30:], 50)
    assert subsets.utilities[0] <= labels.utilities[0] * (1 + 1e-9)
    assert (np.diff(labels.utilities) <= 1e-12).all()


# -- Models of answers and the density of rows -------------------------------------------------------------------------


def test_an_annotator_who_gives_the_label_changes_no_query():
    """With a rate of exact answers of 1, the query is the one without an answer model."""
    model, pool = fit_classes(3)
    exact = AnswerModel(np.arange(3), 1.0, 0.0, np.zeros((3, 3)))
    result, expected = query(model, pool, 5, answer_model=exact), query(model, pool, 5)
    assert result.indices.tolist() == expected.indices.tolist()
    np.testing.assert_allclose(result.utilities, expected.utilities, rtol=1e-9)


def test_unlabeled_rows_have_no_effect():
    """The model of answers is the same with rows that are not answered."""
    answers = CandidateSets.from_sets([[0, 1], [2], [1, 2]], classes=[0, 1, 2])
    padded = CandidateSets(np.vstack([answers.mask, np.ones((4, 3), dtype=bool)]), answers.classes)
    a, b = AnswerModel.from_candidates(answers), AnswerModel.from_candidates(padded)
    assert (a.exact_rate, a.pair_rate) == (b.exact_rate, b.pair_rate)
    np.testing.assert_allclose(a.distractors, b.distractors)


def test_the_density_multiplies_the_information():
    """A constant factor scales the utilities, and a row of large density is selected first."""
    model, pool = fit_classes(3)
    plain, doubled = query(model, pool, 4), query(model, pool, 4, density=np.full(40, 2.0))
    assert plain.indices.tolist() == doubled.indices.tolist()
    np.testing.assert_allclose(doubled.utilities, 2.0 * plain.utilities)
    density = np.ones(40)
    density[7] = 1e6
    assert query(model, pool, 1, density=density).indices[0] == 7


def test_the_density_equals_its_definition():
    """The density is the square of the median distance to the neighbors over that of the row, at most 16."""
    near = 100 + 1e-6 * np.random.default_rng(1).normal(size=(5, 2))  # whose density is the largest
    X = np.concatenate([np.random.default_rng(0).normal(size=(40, 2)), near])
    distances = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 1:4].mean(axis=1)
    expected = np.minimum((np.median(distances) / distances) ** 2, 16.0)
    np.testing.assert_allclose(local_density(X, 3), expected, rtol=1e-6)


def test_the_density_of_degenerate_rows_is_positive():
    """Equal rows, a single row and no row have densities of 1, and an outlier one above 0."""
    assert local_density(np.zeros((6, 2))).tolist() == [1.0] * 6
    assert local_density([[3.0]]).tolist() == [1.0]
    assert local_density(np.zeros((0, 2))).tolist() == []
    assert (local_density([[0.0], [0.1], [0.2], [1e6]], 2) > 0).all()


def test_errors_name_the_argument_of_an_answer_model():
    """An error names the argument and its requirement."""
    model, pool = fit_classes(3)
    exact = AnswerModel(np.arange(3), 1.0, 0.0, np.zeros((3, 3)))
    for options in ({"answer_model": exact}, {"density": np.ones(40)}):
        with pytest.raises(InputError, match='`answer_model` and `density` require strategy="mutual_information"'):
            query(model, pool, 1, "entropy", **options)
    with pytest.raises(InputError, match="must have the classes of the estimator"):
        query(model, pool, answer_model=AnswerModel(np.array(["a", "b", "c"]), 1.0, 0.0, np.zeros((3, 3))))
    for density in (np.ones(39), "x", np.zeros(40), np.full(40, np.nan)):
        with pytest.raises(InputError, match="`density` must"):
            query(model, pool, density=density)
    for rates, distractors, message in (
        ((0.8, 0.4), np.zeros((3, 3)), r"a sum of at most 1; got 0\.8 and 0\.4"),
        ((0.5, 0.5), np.zeros((2, 3)), r"`distractors` must have shape \(3, 3\)"),
        ((0.5, 0.5), np.eye(3), "0 on the diagonal"),
        ((0.5, 0.5), 1.0 - np.eye(3), "the sum of a row at most 1"),
    ):
        with pytest.raises(InputError, match=message):
            AnswerModel(np.arange(3), *rates, distractors)
    with pytest.raises(InputError, match=r"`proba` must have shape \(1, 2\)"):
        AnswerModel.from_candidates(CandidateSets.from_sets([[0, 1]]), [[1.0]])
    with pytest.raises(InputError, match="Expected 2D array"):
        local_density([1.0, 2.0])


def test_a_sample_of_references_gives_similar_densities(monkeypatch):
    """With a sample of the rows as references, the densities correlate with those of all rows."""
    X = np.random.default_rng(0).normal(size=(600, 2))
    expected = local_density(X)
    monkeypatch.setattr("oneof.active.answer_models._MAX_REFERENCES", 300)
    assert np.corrcoef(np.log(expected), np.log(local_density(X)))[0, 1] > 0.85


# -- Queries of the form "is the label in this subset?" ---------------------------------------------------------------


SUBSETS = np.array([[True, False, False, False], [False, True, False, True], [False, False, False, True]])


def brute_force_answer(posterior, views, row, subset):
    """Return half of the increase of log det H by the mean curvature of an answer, by finite differences."""
    updated = posterior.precision.copy()
    for view in views:
        for at in np.flatnonzero(view.rows == row):

            def yes(w, x=view.features[at]):
                scores = np.append(w.reshape(posterior.weights.shape) @ x, 0.0)
                return (np.exp(scores) / np.exp(scores).sum())[subset].sum()

            w, step = posterior.weights.ravel(), 1e-5
            gradient = np.array([(yes(w + d) - yes(w - d)) / (2 * step) for d in step * np.eye(len(w))])
            updated += np.outer(gradient, gradient) / (yes(w) * (1 - yes(w)))
    return 0.5 * (np.linalg.slogdet(updated)[1] - np.linalg.slogdet(posterior.precision)[1])


@pytest.mark.parametrize("n_views", [1, 2])
def test_information_of_an_answer_is_half_the_increase_of_the_log_determinant(n_views):
    """The information of an answer equals that of brute force."""
    posterior, views = make_pool(6, 4, n_views=n_views, lacking=(2,))
    expected = [[brute_force_answer(posterior, views, row, subset) for subset in SUBSETS] for row in range(6)]
    np.testing.assert_allclose(subset_information(posterior, views, 6, SUBSETS), expected, rtol=1e-6)


@pytest.mark.parametrize("n_views", [1, 2])
def test_an_answer_is_at_most_as_informative_as_the_label(n_views):
    """An answer and its complement have equal information, at most that of the label, and equal for two classes."""
    posterior, views = make_pool(10, 4, n_views=n_views)
    information = subset_information(posterior, views, 10, SUBSETS)
    assert (information <= mutual_information(posterior, views, 10)[:, None] * (1 + 1e-12)).all()
    assert (information >= 0).all()
    np.testing.assert_allclose(subset_information(posterior, views, 10, ~SUBSETS), information, rtol=1e-10)
    posterior, views = make_pool(10, 2, n_views=n_views)
    information = subset_information(posterior, views, 10, np.array([[True, False]]))
    np.testing.assert_allclose(information[:, 0], mutual_information(posterior, views, 10), rtol=1e-10)


@pytest.fixture(scope="module")
def fitted_to_four():
    """Return a model of four classes, and a pool."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    return RidgeLogistic().fit(rng.normal(size=(40, 3)) + np.eye(4)[y][:, :3], np.array(list("abcd"))[y]), rng.normal(
        size=(30, 3)
    )


def test_the_best_questions_are_those_of_all_subsets(fitted_to_four):
    """By default the best question over all subsets is selected for each row."""
    model, pool = fitted_to_four
    masks = np.array([m for m in itertools.product([True, False], repeat=4) if 0 < sum(m) < 4])
    views = [ViewInstances(*model.posterior_features(pool)[0])]
    information = subset_information(model.posterior_, views, 30, masks)
    result = query_subsets(model, pool, 5)
    np.testing.assert_allclose(result.utilities, np.sort(information.max(axis=1))[::-1][:5])
    for row, mask, utility in zip(result.indices, result.subsets.mask, result.utilities, strict=True):
        assert information[row][(masks == mask).all(axis=1)] == pytest.approx(utility)
    assert result.subsets.classes.tolist() == list("abcd")


def test_only_given_subsets_are_asked_about(fitted_to_four):
    """With `subsets`, questions are about these, and never about the full set."""
    model, pool = fitted_to_four
    result = query_subsets(model, pool, 30, subsets=[{"a", "b"}, {"c"}, {"a", "b", "c", "d"}])
    assert sorted(result.indices.tolist()) == list(range(30))
    assert {tuple(sorted(s)) for s in result.subsets.to_sets()} <= {("a", "b"), ("c",)}
    assert (np.diff(result.utilities) <= 0).all()


def test_many_classes_are_asked_about_one_at_a_time():
    """With more than 8 classes the default subsets are single classes."""
    rng = np.random.default_rng(0)
    model = RidgeLogistic().fit(rng.normal(size=(40, 2)), np.arange(40) % 10)
    assert (query_subsets(model, rng.normal(size=(9, 2)), 9).subsets.sizes == 1).all()


def test_errors_name_the_argument_of_subsets(fitted_to_four):
    """An error names the argument that is not valid, and its value."""
    model, pool = fitted_to_four
    with pytest.raises(InputError, match="`subsets` must have a set that excludes"):
        query_subsets(model, pool, subsets=[set("abcd")])
    with pytest.raises(LabelError):
        query_subsets(model, pool, subsets=[{"e"}])
    with pytest.raises(InputError, match="which PLEM does not have"):
        query_subsets(oneof.PLEM().fit([[0.0], [1.0]], [0, 1]), [[0.0]])
