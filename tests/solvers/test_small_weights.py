"""Weights that count as 0."""

import numpy as np
import pytest

from oneof.solvers.small_weights import MIN_WEIGHT, without_small_weights


def test_a_mask_is_returned_as_it_is():
    """Candidate sets need no copy."""
    mask = np.array([[True, False], [True, True]])
    assert without_small_weights(mask) is mask


@pytest.mark.parametrize("small", [0.0, 1e-300, 0.99 * MIN_WEIGHT])
def test_small_weights_become_zero_and_others_do_not_change(small):
    """The mask is returned if no row has weights between 0 and 1 then."""
    weights = np.array([[1.0, small, MIN_WEIGHT], [small, 1.0, 0.3]])
    np.testing.assert_array_equal(without_small_weights(weights), [[1.0, 0.0, MIN_WEIGHT], [0.0, 1.0, 0.3]])
    sets = without_small_weights(np.array([[1.0, small, 1.0], [small, 1.0, small]]))
    assert sets.dtype == bool
    np.testing.assert_array_equal(sets, [[True, False, True], [False, True, False]])
