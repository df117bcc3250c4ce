"""Prediction sets for rows of new groups."""

from typing import Self

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from oneof import LOORidge
from oneof.conformal import ConformalClassifier
from oneof.errors import InputError
from oneof.typing import Floats, Ints


def simulate(seed: int, n_groups: int, n_rows: int = 10) -> tuple[Floats, Ints, Ints]:
    """Return rows, labels and groups; each group has an offset of its own, and mainly one class."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows)
    main, y = rng.integers(3, size=n_groups)[groups], rng.integers(3, size=n_groups * n_rows)
    y = np.where(rng.random(len(y)) < 0.8, main, y)
    offset = 3 * rng.normal(size=(n_groups, 4))[groups]
    return np.eye(3, 4)[y] + offset + 0.3 * rng.normal(size=offset.shape), y, groups


def test_rows_of_new_groups_are_covered() -> None:
    """Folds by groups cover 90 % of the rows of new groups; folds of rows know the offsets, and cover too few."""
    X, y, groups = simulate(0, 60)
    X_new, y_new, _ = simulate(1, 400)
    covered = []
    for given in (None, groups):
        model = ConformalClassifier(LOORidge(), coverage=0.9, random_state=0).fit(X, y, groups=given)
        covered.append(model.predict_set(X_new).mask[np.arange(len(y_new)), y_new].mean())
    assert covered[0] < 0.8
    assert covered[1] > 0.87


@pytest.mark.parametrize("cv", ["prefit", "leave_one_out", 0.3])
def test_groups_need_folds(cv: object) -> None:
    """Without folds, groups have no meaning."""
    X, y, groups = simulate(0, 20)
    estimator = LOORidge().fit(X, y)
    with pytest.raises(InputError, match="`groups` defines folds, and `cv` must be their number or a splitter"):
        ConformalClassifier(estimator, cv=cv).fit(X, y, groups=groups)


class GroupRecorder(LogisticRegression):
    """A classifier that stores the groups of its rows, which are the first feature."""

    def fit(self, X: Floats, y: Ints) -> Self:
        self.groups_ = set(X[:, 0])
        return super().fit(X, y)


def test_a_number_of_folds_separates_the_groups() -> None:
    """Each group is left out of the rows of one estimator."""
    X, y, groups = simulate(0, 20)
    X[:, 0] = groups
    model = ConformalClassifier(GroupRecorder(max_iter=5000), cv=4, random_state=0).fit(X, y, groups=groups)
    left_out = [set(range(20)) - part.groups_ for part in model.estimators_]
    assert sum(map(len, left_out)) == 20
    assert set.union(*left_out) == set(range(20))


def test_few_groups_have_a_warning() -> None:
    """The coverage of new groups depends on their number, and not on that of the rows."""
    X, y, groups = simulate(0, 10, n_rows=60)
    with pytest.warns(UserWarning, match="10 groups calibrate the sets"):
        ConformalClassifier(LogisticRegression()).fit(X, y, groups=groups)
