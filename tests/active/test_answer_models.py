"""Models of answers and the density of rows, in queries."""

import numpy as np
import pytest

from oneof import CandidateSets
from oneof.active import AnswerModel, local_density, query
from oneof.errors import InputError
from tests.solvers.active.dense import RidgeLogistic


@pytest.fixture(scope="module")
def fitted():
    """Return a model with a posterior of three classes, and a pool."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 3
    return RidgeLogistic().fit(X + np.eye(3)[y], y), rng.normal(size=(40, 3))


def test_an_annotator_who_gives_the_label_changes_no_query(fitted):
    """With a rate of exact answers of 1, the query is the one without an answer model."""
    model, pool = fitted
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


def test_the_density_multiplies_the_information(fitted):
    """A constant factor scales the utilities, and a row of large density is selected first."""
    model, pool = fitted
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


def test_errors_name_the_argument(fitted):
    """An error names the argument and its requirement."""
    model, pool = fitted
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
