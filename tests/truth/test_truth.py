"""Accuracy on ill-conditioned problems, measured in 50 digits."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.truth.methods import METHODS, problems, skipped

PROBLEMS = problems()
MAX_ERROR = {
    "CLPL": 1e-7,
    "PLEM": 1e-5,
    "PLSVM": 1e-8,
    "HarmonicField": 1e-9,
    "IPAL": 1e-10,
    "LOORidge": 1e-9,
    "GraphLogisticRegression": 1e-6,
    "LocalGlobalConsistency": 1e-9,
    "TransductiveSVM": 1e-8,
}
"""Maximum relative errors; 1e-12 for all other methods. Iterative solvers have their default tolerance."""
SLOW_PROBLEMS = ("1,000 classes", "10,000 rows to 1")
SLOW_METHODS = ("MarkovWalk", "SpectralGraphTransducer")
"""Methods that take half a second in 50 digits; outside the slow tests they run only on the plain problem."""


def is_slow(method, title):
    """Return whether a case is one of the slow tests."""
    return title in SLOW_PROBLEMS or (method in SLOW_METHODS and title != "plain")


@pytest.mark.parametrize(
    ("method", "title"),
    [
        pytest.param(method, title, marks=pytest.mark.slow if is_slow(method, title) else ())
        for method in METHODS
        for title in PROBLEMS
        if not skipped(method, title)
    ],
)
def test_solutions_are_near_the_truth(method, title):
    """The relative error is at most that of `MAX_ERROR`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # only the error matters
        assert METHODS[method](PROBLEMS[title]) <= MAX_ERROR.get(method, 1e-12)
