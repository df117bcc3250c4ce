"""Mutual information of labels and of answers, and batches selected by it."""

import numpy as np
import pytest
from scipy.special import softmax

from oneof.solvers import active
from oneof.solvers.active import (
    AnswerRates,
    ViewInstances,
    answer_curvatures,
    class_proba,
    estimate_rates,
    mutual_information,
    select_batch,
)
from tests.oracles.answer_information import answer_probabilities, mean_curvature
from tests.solvers.active.dense import DensePosterior, brute_force, make_pool, row_curvature, view_lookup

CASES = [
    pytest.param(2, 1, (), id="two classes"),
    pytest.param(3, 1, (), id="three classes"),
    pytest.param(2, 2, (), id="two classes, two views"),
    pytest.param(3, 2, (1, 4), id="three classes, two views, some rows with one"),
    pytest.param(4, 3, (0, 1, 2), id="four classes, three views, some rows with one"),
]


def select_by_refit(posterior, views, n_rows, n):
    """Select a batch with a new posterior after every selection."""
    rows, gains = [], []
    for _ in range(n):
        pool = [row for row in range(n_rows) if row not in rows]
        information = [brute_force(posterior, views, row) for row in pool]
        rows.append(pool[int(np.argmax(information))])
        gains.append(max(information))
        updated = posterior.precision + row_curvature(posterior, views, rows[-1])
        posterior = DensePosterior(posterior.weights, updated)
    return rows, gains


@pytest.mark.parametrize(("n_classes", "n_views", "lacking"), CASES)
def test_information_is_half_the_increase_of_the_log_determinant(n_classes, n_views, lacking):
    """The information of a label equals half of the increase of log det H, and that of a row without views is 0."""
    posterior, views = make_pool(8, n_classes, n_views=n_views, lacking=lacking)
    views = [ViewInstances(view.rows[view.rows > 0], view.features[view.rows > 0]) for view in views]
    expected = [brute_force(posterior, views, row) for row in range(8)]
    np.testing.assert_allclose(mutual_information(posterior, views, 8), expected, rtol=1e-10)


@pytest.mark.parametrize("cached", [True, False], ids=["matrices cached", "matrices recomputed"])
@pytest.mark.parametrize(("n_classes", "n_views", "lacking"), CASES)
def test_a_greedy_batch_equals_selection_with_a_new_posterior(n_classes, n_views, lacking, cached, monkeypatch):
    """Downdates give the batch of a posterior that is recomputed after every selection."""
    posterior, views = make_pool(30, n_classes, n_views=n_views, lacking=lacking, prior=0.1)
    monkeypatch.setattr(active, "_LAZY_BATCH", 3)
    monkeypatch.setattr(active, "_BLOCK_SIZE", 200)
    if not cached:
        monkeypatch.setattr(active, "_CACHE_SIZE", 0)
    rows, gains = select_by_refit(posterior, views, 30, 12)
    batch = select_batch(posterior, view_lookup(views), 30, 12)
    assert batch.rows.tolist() == rows
    np.testing.assert_allclose(batch.information, gains, rtol=1e-9)


def test_rows_without_information_are_selected_in_their_order():
    """Instances of 0 have no information, and ties go to the lowest index."""
    posterior, views = make_pool(6, 2)
    zero = [ViewInstances(views[0].rows, np.zeros_like(views[0].features))]
    batch = select_batch(posterior, view_lookup(zero), 6, 3)
    assert batch.rows.tolist() == [0, 1, 2]
    assert (batch.information == 0).all()


def make_rates(n_classes, exact=0.3, pair=0.5, seed=0):
    """Return rates with random distractors."""
    counts = np.random.default_rng(seed).gamma(0.5, size=(n_classes, n_classes))
    np.fill_diagonal(counts, 0.0)
    return AnswerRates(exact, pair, counts / counts.sum(axis=1, keepdims=True))


def test_answers_that_are_independent_of_the_label_have_no_information():
    """The information is 0 if the pair of two classes is always given, or no answer of at most two labels."""
    proba = softmax(np.random.default_rng(0).normal(size=(8, 2)), axis=1)
    always = AnswerRates(0.0, 1.0, np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(answer_curvatures(proba, always), 0.0, atol=1e-15)
    posterior, views = make_pool(4, 3)
    assert select_batch(posterior, view_lookup(views), 4, 1, make_rates(3, 0.0, 0.0)).information[0] == 0


def test_curvatures_are_finite_if_classes_are_certain():
    """Probabilities of 0 and 1, and distractors of probability 0, give finite curvatures of 0."""
    rates = AnswerRates(0.5, 0.5, np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    np.testing.assert_allclose(answer_curvatures(np.eye(3), rates), 0.0, atol=1e-15)


@pytest.mark.parametrize(("n_classes", "has_density"), [(2, False), (3, True), (4, False)])
def test_a_batch_with_rates_and_density_is_greedy(n_classes, has_density):
    """Each selected row has the largest product of density and information, given the rows before it."""
    posterior, views = make_pool(12, n_classes)
    rates = make_rates(n_classes)
    density = np.random.default_rng(5).uniform(0.1, 4.0, 12) if has_density else None
    x = views[0].features
    proba, answers = class_proba(posterior.weights, x), answer_probabilities(*rates)
    result = select_batch(posterior, view_lookup(views), 12, 4, rates, density)
    remaining, H = list(range(12)), posterior.precision
    factor = np.ones(12) if density is None else density
    for row, gain in zip(result.rows, result.information, strict=True):
        added = {i: np.kron(mean_curvature(proba[i], answers), np.outer(x[i], x[i])) for i in remaining}
        gains = {i: factor[i] * 0.5 * (np.linalg.slogdet(H + added[i])[1] - np.linalg.slogdet(H)[1]) for i in remaining}
        assert row == max(gains, key=gains.get)
        np.testing.assert_allclose(gain, gains[row], rtol=1e-8)
        H = H + added[row]
        remaining.remove(row)


def test_estimated_rates_converge_to_those_of_the_annotator():
    """With many answers and the true labels as probabilities, the estimate has the rates of the annotator."""
    rng, truth = np.random.default_rng(0), make_rates(4, 0.4, 0.5)
    labels = rng.integers(0, 4, 20_000)
    answers = np.eye(4, dtype=bool)[labels]
    kind = rng.choice(3, len(labels), p=[0.4, 0.5, 0.1])
    drawn = [rng.choice(4, p=truth.distractors[label]) for label in labels]
    answers[np.arange(len(labels))[kind == 1], np.array(drawn)[kind == 1]] = True
    answers[kind == 2] = True
    rates = estimate_rates(answers, np.eye(4)[labels])
    np.testing.assert_allclose([rates.exact, rates.pair], [0.4, 0.5], atol=0.02)
    np.testing.assert_allclose(rates.distractors, truth.distractors, atol=0.03)
