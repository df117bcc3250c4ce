"""Tests of the tables of a comparison."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from oneof import compare
from oneof.errors import MissingExtraError
from tests.blobs import draw
from tests.comparison.panel import METHODS, Checking


def test_the_frame_has_the_numbers_of_the_results():
    """Each row has the values of a `MethodResult`, in the order of the results, and survives CSV."""
    X, y, truth = draw()
    comparison = compare(X, y, METHODS, cv=3, truth=truth, random_state=4, refit=False)
    frame = comparison.to_frame()
    assert frame.columns.tolist() == [
        *["method", "expected_accuracy", "covering_rate", "covering_rate_std"],
        *["approximated_accuracy", "approximated_accuracy_std", "accuracy", "accuracy_std"],
        *["fit_seconds", "folds", "note"],
    ]
    for row, result in zip(frame.itertuples(), comparison.results, strict=True):
        for name in frame.columns[:-2]:
            assert getattr(row, name) == getattr(result, name), name
        assert (row.folds, row.note) == (3, "")
    read = pd.read_csv(io.StringIO(frame.to_csv(index=False)), keep_default_na=False)
    pd.testing.assert_frame_equal(read, frame)


def test_the_frame_has_the_reason_of_missing_numbers():
    """A failed method has NaN and its error; scores that no method has have no column."""
    X, y, _ = draw()
    methods = {"fails": Checking(rows=lambda _: False), "average": METHODS["average"]}
    frame = compare(X, y, methods, cv=3, refit=False).to_frame().set_index("method")
    assert "accuracy" not in frame.columns
    assert np.isnan(frame.loc["fails", ["covering_rate", "expected_accuracy", "fit_seconds"]].astype(float)).all()
    assert (frame.loc["fails", "folds"], frame.loc["fails", "note"]) == (0, "RuntimeError: unexpected rows")
    assert frame.loc["average", "note"] == ""
    assert "expected_accuracy" not in compare(X, y, {"one": METHODS["average"]}, cv=3, refit=False).to_frame()


def test_pandas_is_optional(monkeypatch):
    """Without pandas, one sentence says how to install it."""
    X, y, _ = draw()
    comparison = compare(X, y, {"average": METHODS["average"]}, cv=3, refit=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"^This needs pandas, .*: run `pip install pandas`\.$"):
        comparison.to_frame()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_logger_has_a_line_for_each_method(caplog, n_jobs):
    """The messages have the rates of the results; without a level of the logger there are none."""
    X, y, _ = draw()
    methods = {**METHODS, "fails": Checking(rows=lambda _: False)} if n_jobs == 1 else METHODS
    compare(X, y, methods, cv=3, refit=False, n_jobs=n_jobs)
    assert not caplog.messages
    with caplog.at_level("INFO", "oneof"):
        comparison = compare(X, y, methods, cv=3, refit=False, n_jobs=n_jobs)
    assert sorted(message.split(":")[0] for message in caplog.messages) == sorted(methods)
    assert caplog.messages[-1].endswith(f"({3 * len(methods)} of {3 * len(methods)} folds of all methods)")
    text = "\n".join(caplog.messages)
    for result in comparison.results:
        score = f"failed: {result.error}" if result.error else f"covering rate {result.covering_rate:.3f} ± "
        assert f"{result.method}: {score}" in text
