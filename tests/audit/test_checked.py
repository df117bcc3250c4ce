"""Rows whose labels are known to be right in `find_label_issues`."""

import numpy as np
import pytest

from oneof.audit import LabelIssues, find_label_issues
from oneof.errors import InputError


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels of which the first 20 of 200 are wrong, and a mask of checked rows, all of them right."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=200)
    X = 6.0 * np.eye(3)[truth] + rng.normal(size=(200, 3))
    y = np.where(np.arange(200) < 20, (truth + 1) % 3, truth)
    return X, y, np.arange(200) >= 150


@pytest.fixture(scope="module")
def issues(data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> LabelIssues:
    X, y, checked = data
    return find_label_issues(X, y, checked=checked)


def test_checked_rows_are_neither_ranked_nor_corrected(
    data: tuple[np.ndarray, np.ndarray, np.ndarray], issues: LabelIssues
) -> None:
    """A checked row has probability 0 and keeps its label; all other rows are ranked."""
    checked = data[2]
    assert sorted(issues.ranking.tolist()) == np.flatnonzero(~checked).tolist()
    assert not issues.probability[checked].any()
    assert issues.corrected()[checked].is_exact.all()
    assert np.allclose(issues.posterior[checked].max(axis=1), 1)


def test_the_noise_rate_is_that_of_the_rows_that_are_not_checked(issues: LabelIssues) -> None:
    """The interval has the fraction of wrong labels among the audited rows, which are first in the ranking."""
    low, high = issues.noise_rate_interval
    assert low <= 20 / 150 <= high
    assert len(set(issues.ranking[:20].tolist()) & set(range(20))) >= 18


def test_no_checked_row_equals_the_plain_audit(data: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """A mask without a checked row gives the audit without a mask."""
    X, y, checked = data
    plain, none = find_label_issues(X, y), find_label_issues(X, y, checked=np.zeros_like(checked))
    assert np.array_equal(plain.probability, none.probability)


@pytest.mark.parametrize("checked", [np.ones(200, dtype=bool), np.zeros(3, dtype=bool), np.arange(200)])
def test_an_invalid_mask_is_an_error(data: tuple[np.ndarray, np.ndarray, np.ndarray], checked: np.ndarray) -> None:
    """All rows, another length and numbers in place of booleans are refused."""
    with pytest.raises(InputError, match="`checked` must"):
        find_label_issues(data[0], data[1], checked=checked)
