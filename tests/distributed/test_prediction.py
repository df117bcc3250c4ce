"""Predictions over blocks."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from oneof import CLPL, PLEM, AvgPerceptron, distributed
from oneof.errors import InputError, InputTypeError
from tests.distributed.blocks import in_blocks, table


@pytest.fixture(scope="module")
def rows():
    return table()


def test_predictions_equal_those_of_the_estimator(rows):
    """Classes, probabilities, scores and disambiguation over blocks equal those of all rows at once."""
    X, y, _ = rows
    blocks = in_blocks(X, [100, 0, 140])
    model = PLEM(lam=0.1).fit(X, y)
    for method in ("predict", "predict_proba"):
        result = getattr(distributed, method)(model, blocks)
        assert isinstance(result, da.Array)
        assert result.numblocks[0] >= 2
        expected = getattr(model, method)(X)
        assert result.shape == expected.shape
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.compute(), expected)
    scores = distributed.decision_function(CLPL().fit(X, y), blocks).compute()
    np.testing.assert_allclose(scores, CLPL().fit(X, y).decision_function(X), rtol=1e-12)
    labels, confidence = distributed.disambiguate(model, blocks, y)
    np.testing.assert_array_equal(labels.compute(), model.disambiguate(X, y).labels)
    np.testing.assert_allclose(confidence.compute(), model.disambiguate(X, y).confidence, rtol=1e-12)


def test_predictions_are_lazy(rows):
    """Predictions do not access the rows before `compute`."""
    X, y, _ = rows
    model = AvgPerceptron().fit(X, y)

    def fail(block):
        raise AssertionError("accessed")

    lazy = distributed.predict(model, in_blocks(X, [240]).map_blocks(fail, dtype=float, meta=np.empty((0, 0))))
    with pytest.raises(AssertionError, match="accessed"):
        lazy.compute()


def test_data_frames(rows):
    """A dask DataFrame with unknown block lengths is fitted and predicted, with the names of its columns."""
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    labels = pd.Series([None if len(s) == 3 else sorted(s)[0] for s in y.to_sets()], dtype=object)
    table = dd.from_pandas(frame.assign(label=labels), npartitions=3)
    columns = table[list(frame.columns)]
    remote = distributed.fit(AvgPerceptron(), columns, table["label"])
    assert remote.feature_names_in_.tolist() == list(frame.columns)
    one = dd.from_pandas(frame.assign(label=labels), npartitions=1)
    local = AvgPerceptron().fit(frame, labels)
    np.testing.assert_array_equal(
        distributed.fit(AvgPerceptron(), one[list(frame.columns)], one["label"]).coef_, local.coef_
    )
    np.testing.assert_array_equal(distributed.predict(remote, columns).compute(), remote.predict(frame))


def test_two_classes_have_one_score(rows):
    """With two classes there is one decision value per row."""
    X, _, label = rows
    model = CLPL().fit(X, label > 0)
    result = distributed.decision_function(model, in_blocks(X, [120, 120]))
    assert result.shape == (240,)
    np.testing.assert_allclose(result.compute(), model.decision_function(X), rtol=1e-12)


def test_invalid_predictions_raise(rows):
    """Missing methods, other rows, unfitted models and NaN are errors."""
    X, y, _ = rows
    model, blocks = CLPL().fit(X, y), in_blocks(X, [120, 120])
    with pytest.raises(InputTypeError, match="must have the method predict_proba; CLPL"):
        distributed.predict_proba(model, blocks)
    with pytest.raises(InputTypeError, match="must be a dask array"):
        distributed.predict(model, X)
    for method in (distributed.predict, distributed.predict_proba, distributed.decision_function):
        with pytest.raises(NotFittedError):
            method(PLEM(), blocks)
    with pytest.raises(NotFittedError):
        distributed.disambiguate(PLEM(), blocks, y)
    broken = X.copy()
    broken[130, 2] = np.nan
    with pytest.raises(InputError, match="block 1: "):
        distributed.predict(model, in_blocks(broken, [120, 120])).compute()
