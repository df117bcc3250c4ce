"""Methods of the tests of comparisons, and the numbers of a comparison."""

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import AvgPerceptron, MaxPerceptron
from tests.blobs import Frequencies


class Checking(Frequencies):
    """Classifier that raises unless the training rows and sets pass its checks."""

    def __init__(self, rows=None, sets=None):
        self.rows = rows
        self.sets = sets

    def fit(self, X, y):
        if (self.rows and not self.rows(X)) or (self.sets and not self.sets(y)):
            raise RuntimeError("unexpected rows")
        return super().fit(X, y)


class Watched(Frequencies):
    """Classifier whose clones append the rows and sets of each fit to one list."""

    def __init__(self, fits=None):
        self.fits = fits

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        self.fits.append((X, y))
        return super().fit(X, y)


METHODS = {
    "average": make_pipeline(StandardScaler(), AvgPerceptron(n_epochs=3)),
    "maximum": make_pipeline(StandardScaler(), MaxPerceptron(n_epochs=3)),
    "frequencies": Frequencies(),
}


def rates(comparison):
    """Return the fields that do not depend on clocks: names and held-out rates, best first."""
    return [
        (r.method, r.covering_rate, r.approximated_accuracy, [fold.covering_rate for fold in r.folds])
        for r in comparison.results
    ]
