"""Copies of errors."""

import copyreg

import numpy as np
import pytest

from oneof import CLPL
from oneof.errors import InputError, LabelError


def test_copies_of_an_error_do_not_share_its_row(monkeypatch):
    """A reducer of exceptions that restores the attributes by reference, as that of tblib does, changes no copy."""

    def restore(kind, attributes):
        error = kind.__new__(kind)
        error.__dict__ = attributes
        return error

    monkeypatch.setitem(copyreg.dispatch_table, LabelError, lambda error: (restore, (LabelError, error.__dict__)))
    error = LabelError("the set is empty", row=2, label="")
    assert (error.at("t.csv", first_row=3).row, error.because("x").reason, error.row) == (5, "x", 2)
    with pytest.raises(LabelError, match="row 2: the set is empty"):
        raise error


def test_an_error_of_one_dimension_does_not_print_the_numbers():
    """The remedy of scikit-learn follows its cause."""
    with pytest.raises(InputError, match=r"got 1D array instead\. Reshape your data"):
        CLPL().fit(np.arange(500.0), [["a"], ["b"]] * 250)
