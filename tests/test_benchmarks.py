"""Shared functions of the benchmarks."""

import numpy as np
import pytest

from benchmarks.common import candidate_columns
from oneof.datasets.dataset import from_codes


@pytest.mark.parametrize("classes", [["ant", "bee", "cat"], ["cat", "ant", "bee"], ["8", "9", "10"]], ids=str)
def test_true_labels_are_columns_of_the_candidate_sets(classes):
    """Each class has its own column, in the order of the data set, sorted or not."""
    codes = np.array([2, 0, 1, 1, 2, 0])
    data = from_codes("animals", np.zeros((6, 1)), codes, np.array(classes))
    columns = candidate_columns(data)
    np.testing.assert_array_equal(columns, codes)
    assert data.candidates.mask[np.arange(6), columns].all()
