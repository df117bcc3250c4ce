"""Regression tests of numbers at the limits of float64, detected by fuzzing, each in its smallest form."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from oneof import (
    CLPL,
    PLECOC,
    PLEM,
    PLGP,
    PLKNN,
    PLSVM,
    AvgPerceptron,
    GraphLogisticRegression,
    HarmonicField,
    SpectralGraphTransducer,
    TransductiveSVM,
    active,
    distributed,
    metrics,
)
from oneof.errors import InputError
from oneof.labeling import LabelingSession
from tests.estimators.panel import table
from tests.fuzz.outcome import outcome

X, MASK = table(20, d=2)


@pytest.mark.parametrize("size", [1e308, 1.7e308])
def test_overflowing_scores_are_an_error(size):
    """Rows that overflow float64 cause neither NumPy warnings nor NaN scores."""
    for model in (AvgPerceptron(eta0=1e3), PLEM(lam=1e-6)):
        model.fit(X, MASK)
        for ask in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, ask):
                assert "cale the features" in str(outcome(getattr(model, ask), np.full((1, 2), size) * [1, -1]))


def test_sums_of_finite_rows_may_overflow():
    """The sum by which scikit-learn finds NaN quickly causes no NumPy warning."""
    rows = np.where(X > 0, 1.7e308, -1.7e308)
    assert isinstance(outcome(PLKNN().fit, sp.csr_array(rows), MASK), PLKNN)
    assert isinstance(outcome(LabelingSession, rows, classes=["a", "b"], estimator=PLKNN()), LabelingSession)


def test_subnormal_features_cause_no_nan():
    """Subnormal features, whose weights overflow float64, are handled."""
    rows = np.where(X > 0, 5e-324, -5e-324)
    assert isinstance(outcome(GraphLogisticRegression().fit, rows, MASK), InputError)


def test_tolerances_of_any_size():
    """A tolerance whose square overflows is handled."""
    assert isinstance(outcome(CLPL(tol=1e300).fit, X, MASK), CLPL)
    assert isinstance(outcome(PLSVM(solver="pegasos", tol=1e300).fit, X, MASK), PLSVM)


def test_pools_that_overflow_float64():
    """Covariances of the scores that overflow are an error of oneof."""
    model = GraphLogisticRegression().fit(X, MASK)
    for ask in (active.query, active.query_subsets):
        for size in (1e200, 1.7e308):
            assert "Scale the features" in str(outcome(ask, model, np.full((2, 2), size) * [1, -1]))


def test_blocks_that_are_too_far_apart():
    """A squared distance between means that overflows is handled."""
    parts = [da.from_array(sign * np.full((2, 2), 1e160), chunks=2) for sign in (1, -1)]
    error = outcome(
        distributed.fit, PLGP(approximation="nystroem", n_components=2), da.concatenate(parts), [0, 1, 0, 1]
    )
    assert "cale the features" in str(error)


def test_costs_of_few_bits():
    """Bounds of costs are compared in double precision."""
    assert isinstance(outcome(TransductiveSVM(C=np.float32(0.5)).fit, X, MASK), TransductiveSVM)


def test_differences_of_any_size_are_tested():
    """The paired test does not depend on the scale of the scores."""
    ours, theirs = np.array([[3.0, 4.0, 3.5]]), np.array([[1.0, 2.1, 1.4]])
    for unit in (1e-300, 1.0, 1e200):
        assert outcome(metrics.win_tie_loss, ours * unit, theirs * unit) == (1, 0, 0)


@pytest.mark.parametrize("model", [PLECOC(random_state=0), PLEM()])
def test_sums_of_duplicate_entries_may_overflow(model):
    """Duplicate entries whose sum overflows are an error with its place."""
    parts = sp.csr_array((np.full(4, 1.7e308), [0, 0, 1, 1], np.r_[0, 4, np.zeros(len(X) - 1) + 4]), shape=X.shape)
    assert "row 0, column 0: X contains infinity" in str(outcome(model.fit, parts, MASK))
    model.fit(X, MASK)
    assert "row 0, column 0: X contains infinity" in str(outcome(model.predict, parts))


def test_later_rows_that_overflow_float32():
    """Later rows that overflow float32 are errors of oneof, without a NumPy cast warning."""
    model = AvgPerceptron().fit(X.astype("f4"), MASK)
    assert isinstance(outcome(model.partial_fit, np.full((1, 2), 1e250), MASK[:1]), InputError)


def test_sparse_rows_whose_variance_overflows():
    """The square of a Python float that overflows is an error of oneof."""
    assert isinstance(outcome(PLSVM(kernel="poly").fit, sp.csr_array(1e200 * np.abs(X)), MASK), InputError)


def test_costs_whose_squares_overflow():
    """Quadratics on a sphere are rescaled so that they do not overflow."""
    rows, labels = np.random.default_rng(0).normal(size=(10, 2)), [0, 1, 2, -1, 0] * 2
    result = outcome(SpectralGraphTransducer(C=1e300).fit, rows, labels)
    np.testing.assert_array_equal(
        result.transduction_[np.array(labels) >= 0], [label for label in labels if label >= 0]
    )


@pytest.mark.parametrize("dtype", [">f4", ">f8"])
@pytest.mark.parametrize("model", [PLKNN(), HarmonicField(), AvgPerceptron(), GraphLogisticRegression()])
def test_big_endian_columns_are_ordinary_numbers(model, dtype):
    """Columns of pandas in the byte order of FITS files give the model and the predictions of native ones."""
    native = pd.DataFrame(X.astype(dtype[1:]))
    expected = clone(model).fit(native, MASK).predict(native)
    frame = pd.DataFrame(X.astype(dtype))
    np.testing.assert_array_equal(clone(model).fit(frame, MASK).predict(frame), expected)
    assert isinstance(outcome(LabelingSession, frame, classes=["a", "b"], estimator=PLKNN()), LabelingSession)


def test_huge_penalties_do_not_overflow():
    """The squares of the dual variables of CLPL may overflow at a finite objective."""
    assert isinstance(outcome(CLPL(C=1e300, max_iter=2).fit, sp.csr_array((20, 4), dtype=bool), MASK), CLPL)


def test_infinite_precisions_stay_infinite():
    """A precision of infinity or 0 is the same in every unit of the features."""
    rows = np.array([[-1.5e-3, -9.0e-3, 0.5], [1e250, 2.0, 1.0]])
    model = GraphLogisticRegression(views=[[0], [1]], prior="graph+ard", max_iter=20, tol=1e-300)
    outcome(model.fit, rows, np.array([[0, 1], [1, 1]]))


def test_powers_of_extreme_steps_do_not_overflow():
    """Products of floats become infinite, which the methods expect, while their powers would raise."""
    fit = PLEM(lam=1e-300, tol=1e-300, max_iter=20).fit
    assert isinstance(outcome(fit, sp.csc_array(X), MASK), PLEM | InputError)
    assert isinstance(outcome(fit, sp.csc_array(1e150 * X), MASK), PLEM | InputError)
    assert isinstance(outcome(PLGP(RBF(length_scale=1e5)).fit, 1e300 * X, MASK), PLGP | InputError)
    assert isinstance(outcome(PLSVM(max_iter=20).fit, 1e300 * X, MASK), PLSVM | InputError)
    assert "distances between rows overflow" in str(outcome(active.local_density, sp.csr_array(1e200 * X)))
