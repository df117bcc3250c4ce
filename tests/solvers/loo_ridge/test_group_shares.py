"""Class shares of groups with the identical set, compared with loops and with the exact likelihood."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge import CandidateGroups, fit_group_shares
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, sets_of


def problem(n=50, K=5, n_distractors=1):
    """Return label distributions, predictions, and sets: exact and partial rows."""
    _, truth = blobs(n, K)
    mask = sets_of(truth, n_distractors=n_distractors)
    mask[::7] = np.eye(K, dtype=bool)[truth[::7]]
    rng = np.random.default_rng(0)
    P = rng.random((n, K)) * mask
    scores = np.eye(K)[truth] * 0.6 + rng.normal(0.1, 0.3, (n, K))
    return P / P.sum(axis=1, keepdims=True), scores, mask


@pytest.mark.parametrize("n_distractors", [1, 2])
def test_the_bound_equals_the_oracle(n_distractors):
    """The contributions of the rows and the selected parameters equal those of loops over groups and rows."""
    P, scores, mask = problem(n_distractors=n_distractors)
    result = fit_group_shares(P, scores, CandidateGroups.from_evidence(mask))
    values, exponent, concentration = oracle.fit_group_shares(P, scores, mask)
    np.testing.assert_allclose(result.log_likelihood, values, rtol=0, atol=1e-9)
    assert (result.exponent, result.concentration) == (exponent, concentration)
    assert result.information == pytest.approx(oracle.information(P, scores), rel=1e-10)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("concentration", [0.5, 4.0, 1000.0])
def test_the_bound_is_below_the_likelihood(exponent, concentration, monkeypatch):
    """For every pair of parameters the bound is at most the sum over all labels of the rows."""
    monkeypatch.setattr("oneof.solvers.loo_ridge.group_shares.EXPONENTS", (exponent,))
    monkeypatch.setattr("oneof.solvers.loo_ridge.group_shares.CONCENTRATIONS", (concentration,))
    P, scores, mask = problem(24, 4)
    result = fit_group_shares(P, scores, CandidateGroups.from_evidence(mask))
    r, m = oracle.density_ratios(P, scores, mask)
    exact = oracle.log_marginal_likelihood(r, m, mask, exponent, concentration)
    bound = result.log_likelihood.sum()
    assert bound <= exact + 1e-9
    if concentration == 1000.0:  # the shares are almost known
        assert exact - bound < 0.01


def test_the_likelihood_of_the_oracle_is_an_integral():
    """With two candidates, the sum over all labels equals the integral over the share of one of them."""
    rng = np.random.default_rng(0)
    mask = np.tile([True, True, False], (6, 1))
    r, m = rng.random((6, 3)) + 0.1, [0.5, 0.3, 0.2]
    shares = rng.beta(2.0 * 0.5 / 0.8, 2.0 * 0.3 / 0.8, 400_000)
    likelihood = np.prod([row[0] * shares + row[1] * (1 - shares) for row in r], axis=0)
    result = np.exp(oracle.log_marginal_likelihood(r, m, mask, 0.0, 2.0))
    assert abs(result - likelihood.mean()) < 5 * likelihood.std() / np.sqrt(len(shares))


def test_uninformative_predictions_have_no_information():
    """The information is 0 for the class fractions, and the entropy of equal fractions for certain predictions."""
    n, K = 400, 4
    truth = np.arange(n) % K
    mask = np.eye(K, dtype=bool)[truth] | np.eye(K, dtype=bool)[(truth + 1) % K]
    sets = CandidateGroups.from_evidence(mask)
    assert fit_group_shares(np.eye(K)[truth], np.zeros((n, K)), sets).information == pytest.approx(0, abs=1e-12)
    certain = fit_group_shares(np.eye(K)[truth], np.eye(K)[truth], sets).information
    assert certain == pytest.approx(np.log(K), abs=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_the_concentration_of_drawn_shares_is_recovered(seed):
    """Shares drawn with a small concentration have a small estimate, and those drawn with a large one a large one."""
    rng = np.random.default_rng(seed)
    K, n_sets, n_rows = 6, 40, 15
    candidates = [rng.choice(K, 3, replace=False) for _ in range(n_sets)]
    estimates = {}
    for concentration in (0.5, 1000.0):
        shares = rng.dirichlet(np.full(3, concentration / 3), n_sets)
        truth = np.concatenate([rng.choice(c, n_rows, p=p) for c, p in zip(candidates, shares, strict=True)])
        mask = np.repeat([np.isin(np.arange(K), c) for c in candidates], n_rows, axis=0)
        scores = np.eye(K)[truth] + rng.normal(0, 0.3, (len(truth), K))
        shares_of_groups = fit_group_shares(np.eye(K)[truth], scores, CandidateGroups.from_evidence(mask))
        estimates[concentration] = shares_of_groups.concentration
    assert estimates[0.5] <= 2.0
    assert estimates[1000.0] >= 16.0
