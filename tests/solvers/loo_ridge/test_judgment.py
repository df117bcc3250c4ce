"""Which account of the distractors is believed."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge import CandidateGroups, ExactRidge, judged_labels
from oneof.solvers.loo_ridge.foretelling import gains, standard_score
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of

ZIPF = 1.0 / np.arange(1, 7) / (1.0 / np.arange(1, 7)).sum()


def judged(X, mask, max_iter=25, **options):
    """Return what is believed of rows with an RBF kernel."""
    return judged_labels(ExactRidge.of(gram_of(X), 0.05), CandidateGroups.of(mask), max_iter=max_iter, **options)


@pytest.mark.parametrize("kind", ["uniform", "cooccurring", "confusable"])
def test_the_judgment_is_that_of_the_recipe(kind):
    """Mixed labels and standard scores are those of the recipe, written out row by row."""
    X, truth = blobs(40, 5)
    mask = sets_of(truth, kind, extra=1)
    mask[::7] = np.eye(5, dtype=bool)[truth[::7]]
    found = judged(X, mask, max_iter=7)
    shares, scene, confusion = oracle.judged(gram_of(X), mask, 0.05, 7)
    assert found.evidence["scene"] == pytest.approx(scene, abs=1e-6)
    assert found.evidence["confusion"] == pytest.approx(confusion, abs=1e-6)
    np.testing.assert_allclose(found.shares, shares, rtol=0, atol=1e-8)
    assert sum(found.parts.values()) == pytest.approx(1)


def test_gains_are_those_of_the_recipe():
    """They are the logarithms of the sums, and their standard score takes rows of one set as one draw."""
    _, truth = blobs(50, 5)
    mask = sets_of(truth, extra=2)
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.ones(5), 50) * mask
    shares /= shares.sum(axis=1, keepdims=True)
    scores = random.normal(0.2, 0.3, (50, 5))
    sets = CandidateGroups.of(mask)
    found = gains(shares, scores, sets)
    np.testing.assert_allclose(found, oracle.gains(shares, scores, mask), rtol=1e-10)
    assert standard_score(found, sets) == pytest.approx(oracle.standard_score(found, mask))


@pytest.mark.parametrize("seed", range(3))
def test_scenes_are_told_from_even_distractors(seed):
    """Of classes of very different sizes, even distractors leave the scenes no part, and scenes take nearly all."""
    X, truth = blobs(600, 6, d=5, seed=seed, frequencies=ZIPF, spread=3.0)
    even = judged(X, sets_of(truth, "uniform", extra=2, seed=seed))
    scenes = judged(X, sets_of(truth, "cooccurring", extra=2, seed=seed))
    assert even.parts["scene"] < 0.1
    assert scenes.parts["scene"] > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_confusion_is_told_and_pays(seed):
    """Annotators who take each class for its partner are recognized, and more labels are right for that."""
    X, truth = blobs(600, 6, d=5, seed=seed, spread=0.8)
    random = np.random.default_rng(seed)
    mask = np.eye(6, dtype=bool)[truth]
    mask[np.arange(600), np.where(random.random(600) < 0.9, (truth + 1) % 6, (truth + 2) % 6)] = True
    found = judged(X, mask)
    assert found.evidence["confusion"] > 2
    assert found.parts["confusion"] > 0.9
    even = judged(X, mask, account="uniform").shares
    assert (found.shares.argmax(axis=1) == truth).mean() > (even.argmax(axis=1) == truth).mean()


def test_rows_without_a_label_have_no_say():
    """Full rows change neither the scores of the accounts nor the parts, where nothing is learned from them."""

    class Blind:
        """Predictions that never depend on the labels."""

        def __init__(self, scores):
            self.scores = scores

        def left_out(self, _):
            return self.scores

    random = np.random.default_rng(0)
    truth = random.choice(6, 200, p=ZIPF)
    mask = sets_of(truth, "cooccurring", extra=1)
    scores = random.dirichlet(np.ones(6), 260)
    told = judged_labels(Blind(scores[:200]), CandidateGroups.of(mask), max_iter=25)
    full = np.vstack([mask, np.ones((60, 6), dtype=bool)])
    found = judged_labels(Blind(scores), CandidateGroups.of(full), max_iter=25)
    assert found.evidence == pytest.approx(told.evidence)
    assert found.parts == pytest.approx(told.parts)
    np.testing.assert_allclose(found.shares[:200], told.shares, atol=1e-9)


def test_confusion_that_moves_nothing_is_none():
    """Under even noise the confused loop ends where the even one does, and the labels are called even."""
    X, truth = blobs(200, 6, d=5, spread=3.0)
    found = judged(X, sets_of(truth, "uniform", extra=1))
    assert found.parts["confusion"] == 0


def test_few_sets_say_little():
    """Of two different sets alone the part of the scenes is that of a Cauchy variable, far from certain."""
    X, _ = blobs(60, 3, spread=0.5)
    mask = np.zeros((60, 3), dtype=bool)
    mask[:30, :2] = mask[30:, 1:] = True
    found = judged(X, mask)
    z = found.evidence["scene"]
    assert found.parts["scene"] == pytest.approx(0.5 + np.arctan(z) / np.pi, abs=1e-3)


def test_nothing_is_judged_where_nothing_is_seen():
    """Exact rows alone, and rows of one set alone, leave the even account."""
    X, truth = blobs(40)
    exact = judged(X, np.eye(4, dtype=bool)[truth])
    assert exact.parts == {"uniform": 1.0, "scene": 0.0, "confusion": 0.0}
    assert exact.evidence == {}
    one = judged(X, np.tile([True, True, False, False], (40, 1)))
    assert one.parts["uniform"] == 1.0
