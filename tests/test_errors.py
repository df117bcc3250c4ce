"""Copies of errors."""

import copyreg

import numpy as np
import pytest

from oneof import CLPL, compare
from oneof.comparison import learning_curve
from oneof.errors import LabelError, OneofError


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


ROWS, Y = [[0.0], [1.0]], ["a", "b"]
SENTENCES = [
    (lambda: CLPL().fit(np.arange(500.0), [["a"], ["b"]] * 250), r"got 1D array instead\. Reshape your data"),
    (lambda: CLPL().fit(None, Y), r"^`X` must be a 2-D array, one row for each sample; got None or a single value\.$"),
    (lambda: CLPL().fit(ROWS, [1, "a"]), r"labels must have one type; got the string 'a' and the int 1\. Convert"),
    (lambda: compare(ROWS, Y, ["CLPL"], progress=3), r"^`progress` must be a function or None; got 3\.$"),
    (lambda: learning_curve(CLPL(), ROWS, Y, progress="x"), r"^`progress` must be a function or None; got 'x'\.$"),
]


@pytest.mark.parametrize(("call", "message"), SENTENCES, ids=range(len(SENTENCES)))
def test_arguments_that_others_would_reject_have_one_sentence(call, message):
    """The error is one of oneof, with the cause and the remedy, and does not print the numbers."""
    with pytest.raises(OneofError, match=message):
        call()
