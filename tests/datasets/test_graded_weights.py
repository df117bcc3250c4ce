"""Graded weights of `make_partial_labels`."""

import numpy as np
import pytest

from oneof import make_partial_labels
from oneof.errors import InputError
from tests.datasets.conftest import KINDS, labels


def test_weights_do_not_change_the_sets():
    """With the same seed, the supports are the sets without weights; exact and unlabeled rows have no weights."""
    y = np.concatenate([labels(300, 5), [-1]])
    for kind in (*KINDS, "confusion"):
        options = {"n_distractors": 2, "distractors": kind, "fraction": 0.5, "random_state": 3}
        if kind == "confusion":
            options |= {"distractors": "confusable", "confusion": np.ones((5, 5))}
        hard, graded = (make_partial_labels(y, **options, weights=weights) for weights in (None, "graded"))
        np.testing.assert_array_equal(graded.mask, hard.mask)
        np.testing.assert_array_equal(graded.is_weighted[:-1], hard.sizes[:-1] > 1)
        assert graded.is_unlabeled[-1]


@pytest.mark.parametrize("n_distractors", [1, 3])
@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_graded_weights_are_calibrated(n_distractors, strength):
    """Among the rows, the truth is candidate k as often as the posterior of k says (5 sigma in each of ten bins)."""
    rates = np.array([0.4, 0.3, 0.2, 0.1])
    y = np.random.default_rng(0).choice(4, 40000, p=rates)
    sets = make_partial_labels(
        y, n_distractors=n_distractors, weights="graded", strength=strength, classes=range(4), random_state=1
    )
    posterior = sets.weights * rates
    posterior /= posterior.sum(axis=1, keepdims=True)
    correct = np.arange(4) == y[:, None]
    for k in range(4):
        bins = np.digitize(posterior[:, k], np.linspace(0, 1, 11))
        for bin_ in np.unique(bins):
            p, hit = posterior[bins == bin_, k], correct[bins == bin_, k]
            assert abs(hit.sum() - p.sum()) <= 5 * np.sqrt((p * (1 - p)).sum()) + 1e-9


def test_temperature_is_an_exponent():
    """The weights at temperature T are those at temperature 1 with the exponent 1 / T."""
    y = labels(200, 5)
    one, two = (
        make_partial_labels(y, n_distractors=2, weights="graded", temperature=t, random_state=0) for t in (1.0, 2.0)
    )
    np.testing.assert_allclose(two.weights**2, one.weights, rtol=1e-12)
    for extreme in ({"temperature": 1e-320}, {"strength": 1e308}, {"temperature": 1e300}):
        sets = make_partial_labels(y, n_distractors=2, weights="graded", random_state=0, **extreme)
        assert np.isfinite(sets.weights).all()
        np.testing.assert_array_equal(sets.mask, one.mask)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "graded", "strength": 0}, "`strength` must be a number above 0; got 0"),
        ({"weights": "graded", "temperature": -1.0}, "`temperature` must be a number above 0; got -1.0"),
        ({"temperature": 2.0}, 'require weights="graded"'),
        ({"weights": "graded", "noise_rate": 0.1}, "`noise_rate` does not apply to graded weights"),
    ],
)
def test_bad_parameters_of_weights_are_errors(options, message):
    """The strength and the temperature are above 0, and apply to graded weights only."""
    with pytest.raises(InputError, match=message):
        make_partial_labels([0, 1, 2], **options)
