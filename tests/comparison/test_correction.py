"""Laws of fits to corrected training labels in a comparison."""

from typing import Any

import joblib
import numpy as np
import pytest

from oneof import CLPL, PLKNN, CandidateSets, LOORidge, compare
from oneof.audit import find_label_issues
from oneof.comparison.folds import check_task, make_folds
from oneof.errors import InputError
from oneof.typing import Floats, Ints


@pytest.fixture
def noisy() -> tuple[Floats, CandidateSets, Ints]:
    """Features, labels of three classes of which a sixth is wrong, and the true ones."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    X = 3 * np.eye(3)[truth] + rng.normal(size=(120, 3))
    y = np.where(rng.random(120) < 1 / 6, (truth + 1) % 3, truth)
    return X, CandidateSets.from_labels(y), truth


def test_an_identical_correction_changes_nothing(noisy: tuple[Floats, CandidateSets, Ints]) -> None:
    """With the given sets as corrected ones, all rates are those without a correction."""
    X, y, truth = noisy
    methods = {"CLPL": CLPL(), "PLKNN": PLKNN()}
    plain = compare(X, y, methods, cv=3, truth=truth, keep_predictions=True)
    same = compare(X, y, methods, cv=3, truth=truth, keep_predictions=True, correct=lambda rows: y[rows])
    for a, b in zip(plain.results, same.results, strict=True):
        assert (a.method, a.covering_rate, a.accuracy) == (b.method, b.covering_rate, b.accuracy)
        assert a.predictions is not None
        np.testing.assert_array_equal(a.predictions, b.predictions)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_each_fold_is_corrected_once_from_its_training_rows(
    noisy: tuple[Floats, CandidateSets, Ints], n_jobs: int
) -> None:
    """The function gets the training rows of each fold once for all methods, and all rows before the last fit."""
    X, y, _ = noisy
    calls: list[list[int]] = []

    def correct(rows: Ints) -> CandidateSets:
        calls.append(rows.tolist())
        return y[rows]

    splits = make_folds(check_task(X, y, None), 3, 0)
    with joblib.parallel_config("threading"):
        compare(X, y, {"CLPL": CLPL(), "PLKNN": PLKNN()}, cv=splits, correct=correct, n_jobs=n_jobs)
    assert calls == [train.tolist() for train, _ in splits] + [list(range(120))]


def test_predictions_are_those_of_fits_to_corrected_sets(noisy: tuple[Floats, CandidateSets, Ints]) -> None:
    """A loop over the folds that audits and fits the training rows gives the same predictions and rates."""
    X, y, truth = noisy

    def correct(rows: Ints) -> CandidateSets:
        return find_label_issues(X[rows], y[rows]).corrected()

    splits = make_folds(check_task(X, y, None), 4, 0)
    result = compare(X, y, ["LOORidge"], cv=splits, truth=truth, correct=correct, keep_predictions=True).results[0]
    assert result.predictions is not None
    rates = []
    for train, test in splits:
        predicted = LOORidge().fit(X[train], correct(train)).predict(X[test])
        np.testing.assert_array_equal(result.predictions[test], predicted)
        rates.append(np.mean(predicted == y.classes[y.mask[test].argmax(axis=1)]))
    assert result.covering_rate == pytest.approx(np.mean(rates))


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        (lambda rows: [0] * len(rows), "must return a CandidateSets"),
        (lambda _: CandidateSets.from_labels([0, 1]), "each of its 60 rows, .*; got <CandidateSets of 2 rows"),
        (lambda rows: CandidateSets.from_labels(["a", "b"] * (len(rows) // 2)), "over the classes of `y`"),
        ("audit", "must be a function of the training rows, or None"),
    ],
)
def test_a_wrong_correction_is_an_error(noisy: tuple[Floats, CandidateSets, Ints], correct: Any, message: str) -> None:
    """Another type, number of rows or classes has a sentence of its own."""
    X, y, _ = noisy
    with pytest.raises(InputError, match=message):
        compare(X, y, ["CLPL"], cv=2, correct=correct)
