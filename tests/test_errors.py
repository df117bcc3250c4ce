"""Copies of errors."""

import copyreg

import pytest

from oneof.errors import LabelError


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
