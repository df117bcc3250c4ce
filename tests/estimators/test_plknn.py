"""PLKNN against the definition."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import PLKNN, CandidateSets
from oneof.errors import InputError
from tests.estimators.panel import table
from tests.oracles import plknn as oracle


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weights", ["distance", "uniform"])
@pytest.mark.parametrize("k", [1, 2, 10, 500])
def test_votes_equal_the_definition(k, weights, rows):
    """The shares of the votes are those of the brute-force definition, for any number of neighbors."""
    X, mask = table(80)
    queries, _ = table(20, seed=1)
    model = PLKNN(k, weights=weights).fit(rows(X), mask)
    expected = oracle.shares(X, mask, queries, k, weights)
    np.testing.assert_allclose(model.predict_proba(rows(queries)), expected, atol=1e-9)


@pytest.mark.parametrize("k", [1, 3])
def test_no_training_row_vouches_for_itself(k):
    """Disambiguating the rows of fit leaves each out of its own neighbors, also among duplicates."""
    X, mask = table(40)
    X, mask = np.vstack([X, X[:5]]), np.vstack([mask, mask[5:10]])
    model = PLKNN(k).fit(X, mask)
    shares = np.array(oracle.shares(X, mask, X, k, "distance", leave_out=range(len(X))))
    inside = np.where(mask, shares, 0.0)
    lost = inside.sum(axis=1) == 0
    inside[lost] = mask[lost]
    inside /= inside.sum(axis=1, keepdims=True)
    labels, confidence = model.disambiguate()
    # Duplicated rows have two neighbors at distance 0, of which either may come first: those rows are left out.
    clear = np.ones(len(X), dtype=bool)
    clear[[*range(5), *range(40, 45)]] = False
    np.testing.assert_allclose(confidence[clear], inside.max(axis=1)[clear], atol=1e-9)
    twins = np.isclose(inside, inside.max(axis=1, keepdims=True))
    assert twins[clear, labels[clear]].all()


def test_a_row_alone_is_uniform_over_its_set():
    """With one labeled row there is no other to ask: its candidates share equally."""
    y = CandidateSets([[True, True, False], [True, True, True]], ["a", "b", "c"])
    labels, confidence = PLKNN().fit([[0.0], [1.0]], y).disambiguate()
    assert labels.tolist() == ["a", "a"]
    assert confidence.tolist() == [0.5, 0.5]


def test_equal_weights_where_all_distances_are_zero():
    """Neighbors that coincide with the query have equal weights, rather than 0/0."""
    X = np.zeros((4, 2))
    model = PLKNN(3).fit(X, [["a"], ["a"], ["b"], ["b"]])
    np.testing.assert_allclose(np.sort(model.predict_proba(X), axis=1), [[1 / 3, 2 / 3]] * 4)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", [1e-305, 1e-170, 1e160, 1e300])
def test_votes_know_no_unit(size, rows):
    """Features of any size have the votes of ordinary ones: squares neither vanish nor overflow."""
    X, mask = table(80)
    queries, _ = table(20, seed=1)
    plain, other = PLKNN().fit(X, mask), PLKNN().fit(rows(X * size), mask)
    np.testing.assert_allclose(other.predict_proba(rows(queries * size)), plain.predict_proba(queries), atol=1e-9)
    np.testing.assert_allclose(other.disambiguate().confidence, plain.disambiguate().confidence, atol=1e-9)


def test_votes_know_no_origin():
    """Features far from the origin, beside their spread, have the votes that they have at the origin."""
    X, mask = table(200, 20)
    X, queries = (np.round(rows * 2**10) / 2**10 for rows in (X, table(20, 20, seed=1)[0]))
    plain, moved = PLKNN().fit(X, mask), PLKNN().fit(X + 2.0**30, mask)
    np.testing.assert_allclose(moved.predict_proba(queries + 2.0**30), plain.predict_proba(queries), atol=1e-12)


def test_rows_to_predict_that_are_far_too_large_are_refused():
    """Where distances to the rows of fit overflow, one sentence says what to do."""
    X, mask = table()
    with pytest.raises(InputError, match="scale the features"):
        PLKNN().fit(X, mask).predict(X * 1e200)


@pytest.mark.parametrize("options", [{"n_neighbors": 0}, {"n_neighbors": 2.5}, {"weights": "near"}])
def test_refused_parameters(options):
    """Parameters that mean nothing are refused in fit, by name."""
    with pytest.raises(InputError, match=next(iter(options))):
        PLKNN(**options).fit([[0.0], [1.0]], ["a", "b"])
