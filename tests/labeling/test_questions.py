"""Selection of the next questions by the learner: the answer model, the density and the first rows."""

import numpy as np
import pytest

from oneof import CandidateSets
from oneof.active import AnswerModel, local_density, query
from oneof.labeling.learner import Learner

N_CLASSES = 3


@pytest.fixture(scope="module")
def rows():
    """Return rows of three groups, and their classes."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % N_CLASSES
    return rng.normal(size=(90, 4)) + 3.0 * np.eye(4)[y], y


def make_candidates(y, labeled, *, pairs):
    """Return the label, or the label and the next class, of the labeled rows."""
    mask = np.ones((len(y), N_CLASSES), dtype=bool)
    mask[labeled] = np.eye(N_CLASSES, dtype=bool)[y[labeled]]
    if pairs:
        mask[labeled, (y[labeled] + 1) % N_CLASSES] = True
    return CandidateSets(mask, np.arange(N_CLASSES))


@pytest.mark.parametrize("pairs", [False, True])
def test_questions_are_those_of_the_answer_model_and_the_density(rows, pairs):
    """The next questions are those of `query`, with an answer model only if an answer has two labels."""
    X, y = rows
    labeled, pool = np.arange(12), np.arange(12, 90)
    candidates = make_candidates(y, labeled, pairs=pairs)
    learner = Learner(X, None, "auto", 5, np.random.RandomState(0))
    snapshot = learner.fit(candidates, pool, 12)
    assert (snapshot.answer_model is not None) == pairs
    answer_model = AnswerModel.from_candidates(candidates, snapshot.proba) if pairs else None
    expected = query(snapshot.model, X[pool], 5, answer_model=answer_model, density=local_density(X)[pool])
    assert snapshot.rows.tolist() == pool[expected.indices].tolist()
    np.testing.assert_allclose(snapshot.scores, expected.utilities)
    assert learner.score(snapshot, int(snapshot.rows[0])) == pytest.approx(snapshot.scores[0])


def test_the_first_questions_are_random(rows):
    """With fewer labeled rows than classes, questions depend on the seed, and afterwards they do not."""
    X, y = rows
    for n_labeled, is_random in ((2, True), (3, False)):
        labeled, pool = np.arange(n_labeled), np.arange(n_labeled, 90)
        candidates = make_candidates(y, labeled, pairs=False)
        asked = {
            tuple(sorted(Learner(X, None, "auto", 5, np.random.RandomState(seed)).fit(candidates, pool, 2).rows))
            for seed in range(3)
        }
        assert len(asked) == (3 if is_random else 1)


def test_other_strategies_have_neither_model_nor_density(rows):
    """Questions by entropy equal those of `query` by entropy."""
    X, y = rows
    labeled, pool = np.arange(12), np.arange(12, 90)
    candidates = make_candidates(y, labeled, pairs=True)
    learner = Learner(X, None, "entropy", 4, np.random.RandomState(0))
    snapshot = learner.fit(candidates, pool, 12)
    assert snapshot.answer_model is None
    assert snapshot.rows.tolist() == pool[query(snapshot.model, X[pool], 4, "entropy").indices].tolist()
