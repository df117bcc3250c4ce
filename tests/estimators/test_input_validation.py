"""Tests of the input validation of every estimator: one error message, before the fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from oneof import PLEM
from oneof.errors import InputError
from tests.estimators.panel import ALL, name, table
from tests.fuzz.outcome import outcome

every = pytest.mark.parametrize("estimator", ALL, ids=name)


@every
def test_a_failed_fit_does_not_mix_models(estimator):
    """After invalid rows the estimator is not fitted; after an invalid parameter it is unchanged."""
    X, mask = table(20, like=estimator)
    model = clone(estimator).fit(X, mask)
    expected = model.predict(X)
    parameter = next(p for p in ("n_neighbors", "max_iter", "n_epochs", "code_length", "cv") if hasattr(model, p))
    stored = getattr(model, parameter)
    with pytest.raises(InputError, match=parameter):
        model.set_params(**{parameter: -1}).fit(np.hstack([X, X]), mask)
    model.set_params(**{parameter: stored})
    np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(InputError, match="Give one set for each row"):
        model.fit(np.hstack([X, X]), mask[:5])
    with pytest.raises(NotFittedError):
        model.predict(X)


@every
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_nonfinite_values_are_located(estimator, value):
    """NaN and infinity raise with row and column, for dense and sparse rows, in fit and in predict."""
    X, mask = table(20, like=estimator)
    model = clone(estimator).fit(X, mask)
    X[5, 1] = value
    message = (
        r"^row 5, column 1: X contains (NaN|infinity or a number that overflows its type)\. Impute the value or drop"
    )
    with pytest.raises(InputError, match=message):
        clone(estimator).fit(sp.csr_array(X), mask)
    with pytest.raises(InputError, match=message):
        model.predict(X)


@every
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [1e160, 1e300, 1.7e308])
def test_values_with_which_a_prediction_overflows_are_located(estimator, form, value):
    """A finite value that is too large for a method is an error with its row; other rows do not hide it."""
    X, mask = table(20, like=estimator)
    model = clone(estimator).fit(X, mask)
    X[5, 1] = value
    counts = type(model).__name__ == "MultinomialEM"  # the total of the row is too large
    for method in ("predict", "predict_proba", "decision_function"):
        values = outcome(getattr(model, method, lambda rows: rows.shape), form(X))
        if isinstance(values, Exception):
            assert isinstance(values, InputError)
            assert str(values).startswith("row 5: " if counts else "row 5, column 1: ")
            assert "cale the features" in str(values)
        else:
            assert method == "predict" or np.isfinite(values).all()


def test_a_column_of_lists_has_a_remedy():
    """Embeddings are often one column of lists."""
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match=r"stack a column of lists, such as embeddings, by numpy\.stack"):
        PLEM().fit(polars.DataFrame({"e": [[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]]}), ["a", "b", "a"])
