"""Weights of the candidates over blocks: the same models as those of the ordinary fit."""

import itertools

import dask
import dask.array as da
import numpy as np
import pytest

from oneof import PLGP, AvgPegasos, CandidateSets, LOORidge, MaxPerceptron, distributed
from oneof.errors import InputError
from tests.distributed.blocks import in_blocks, table

LENGTHS = (50, 40, 30)


def weighted_table(n=120):
    """Return rows with weights in the first two blocks, sets in the third, and unlabeled rows."""
    X, y, _ = table(n)
    weights = y.mask * np.random.default_rng(0).uniform(0.1, 1.0, y.mask.shape)
    weights[y.is_unlabeled] = 1.0
    weights[90:] = y.mask[90:]
    return X, CandidateSets.from_weights(weights, y.classes)


def in_delayed_blocks(y):
    """Return the labels as delayed blocks, whose weights are read on the workers."""
    starts = np.cumsum([0, *LENGTHS])
    return [dask.delayed(CandidateSets.from_weights)(y.weights[a:b], y.classes) for a, b in itertools.pairwise(starts)]


@pytest.mark.parametrize("form", [lambda y: y, in_delayed_blocks], ids=["in memory", "delayed"])
@pytest.mark.parametrize(
    "estimator",
    [
        PLGP(approximation="nystroem", n_components=15, optimizer=None, random_state=0),
        LOORidge(approximation="nystroem", n_components=30, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_blocks_give_the_ordinary_fit(estimator, form):
    """The scores of new rows equal those of the ordinary fit, and differ from those of the sets alone."""
    X, y = weighted_table()
    new = table(30, seed=1)[0]
    scores = [
        getattr(model, "decision_function", model.predict_proba if hasattr(model, "predict_proba") else None)(new)
        for model in (
            distributed.fit(estimator, in_blocks(X, LENGTHS), form(y)),
            type(estimator)(**estimator.get_params()).fit(X, y),
            type(estimator)(**estimator.get_params()).fit(X, CandidateSets(y.mask, y.classes)),
        )
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-6)
    assert np.abs(scores[0] - scores[2]).max() > 1e-3


def test_several_blocks_learn_from_weights():
    """Weights of sets, in delayed blocks, give the model of these sets."""
    X, y = weighted_table()
    sets = CandidateSets(y.mask, y.classes)
    models = [
        distributed.fit(MaxPerceptron(), in_blocks(X, LENGTHS), labels) for labels in (sets, in_delayed_blocks(sets))
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_delayed_blocks_must_match_the_rows():
    """Another number of delayed blocks, and a matrix of weights, are errors."""
    X, y = weighted_table()
    with pytest.raises(InputError, match="`y` must have the same blocks as X; got 2 blocks for 3 of X"):
        distributed.fit(AvgPegasos(), in_blocks(X, LENGTHS), in_delayed_blocks(y)[:2])
    with pytest.raises(InputError, match="from_weights"):
        distributed.fit(AvgPegasos(), in_blocks(X, LENGTHS), da.from_array(y.weights, chunks=(LENGTHS, (3,))))
