"""LOORidge over blocks equals the ordinary fit."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import CandidateSets, LOORidge, distributed
from oneof.errors import InputError
from oneof.estimators import loo_ridge
from oneof.persistence import load, save
from oneof.solvers.loo_ridge import loo_operators as solver_blocks
from oneof.solvers.loo_ridge.loo_operators import NystroemRidge
from tests.distributed.blocks import in_blocks, table

LENGTHS = [0, 100, 0, 20, 60, 60, 0]


def problem(*, weighted=False):
    """Return rows and sets; the rows of the fourth block are unlabeled, and the last one has sets only."""
    X, y, _ = table()
    mask = y.mask.copy()
    mask[100:120] = True
    if not weighted:
        return X, CandidateSets(mask, y.classes)
    weights = mask * np.random.default_rng(0).uniform(0.1, 1.0, mask.shape)
    weights[mask.all(axis=1)] = 1.0
    weights[180:] = mask[180:]
    return X, CandidateSets.from_weights(weights, y.classes)


def assert_equal_models(remote, local, X):
    """Compare the functions and the attributes that do not have an entry for each row."""
    np.testing.assert_allclose(remote.decision_function(X), local.decision_function(X), rtol=0, atol=1e-8)
    np.testing.assert_allclose(remote.predict_proba(X), local.predict_proba(X), rtol=0, atol=1e-8)
    assert remote.kernel_weights_ == pytest.approx(local.kernel_weights_)
    assert remote.judge_weight_ == pytest.approx(local.judge_weight_)
    np.testing.assert_allclose(remote.label_changes_, local.label_changes_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("options", [{}, {"approximation": "nystroem", "n_components": 30}], ids=["exact", "nystroem"])
def test_rows_that_fit_in_one_process(options, sparse):
    """The rows are collected, and the function equals the ordinary one to 1e-8."""
    X, y = problem()
    local, remote = (LOORidge(random_state=0, **options) for _ in range(2))
    local.fit(sp.csr_array(X) if sparse else X, y)
    rows = in_blocks(X, LENGTHS)
    distributed.fit(remote, rows.map_blocks(sp.csr_matrix) if sparse else rows, y)
    assert_equal_models(remote, local, X)


@pytest.mark.parametrize("weighted", [False, True], ids=["sets", "weights"])
@pytest.mark.parametrize("lengths", [LENGTHS, [240], [0, 240], [7] * 34 + [2]])
def test_more_rows_than_fit_in_one_process(lengths, weighted, monkeypatch):
    """With iterations over blocks, the function equals the ordinary one to 1e-8 for any division into blocks."""
    monkeypatch.setattr(loo_ridge, "MAX_FEATURE_ENTRIES", 100 * 30)
    monkeypatch.setattr(solver_blocks, "BLOCK_ROWS", 50)
    X, y = problem(weighted=weighted)
    local, remote = (LOORidge(approximation="nystroem", n_components=30, random_state=0) for _ in range(2))
    calls = []
    in_blocks_of = NystroemRidge.in_blocks
    monkeypatch.setattr(NystroemRidge, "in_blocks", lambda *args: calls.append(args) or in_blocks_of(*args))
    local.fit(X, y)
    distributed.fit(remote, in_blocks(X, lengths), y)
    assert len(calls) == 2
    assert_equal_models(remote, local, X)


def test_attributes_of_rows_are_not_set(tmp_path):
    """The model has no attribute with an entry for each row, and it can be saved."""
    X, y = problem()
    model = distributed.fit(LOORidge(), in_blocks(X, LENGTHS), y)
    for name in ("label_distributions_", "loo_scores_", "transduction_", "influential_rows_"):
        assert not hasattr(model, name)
    save(tmp_path / "model.skops", model)
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unlabeled": "class_mass"}, '`unlabeled` must be "ignore" over blocks of rows'),
        ({"approximation": None}, "`approximation` must be .* over blocks of rows; got approximation=None"),
        ({"kernel": "precomputed"}, "`kernel` must not be .precomputed. over blocks of rows"),
        ({"lam": -1.0}, "`lam` must be"),
    ],
)
def test_parameters_without_a_form_over_blocks_are_rejected(options, message):
    """The error names the parameter."""
    X, y = problem()
    with pytest.raises(InputError, match=message):
        distributed.fit(LOORidge(**options), in_blocks(X, LENGTHS), y)
