"""Error functions of the methods, and the problems that are skipped."""

from tests.truth import classifiers, graphs
from tests.truth import problems as others

METHODS = {
    **{name: others.online(name) for name in ("AvgPerceptron", "MaxPerceptron", "AvgPegasos", "MaxPegasos")},
    "CLPL": others.clpl,
    "PLEM": others.plem,
    "PLSVM": others.plsvm,
    "PLGP": others.plgp,
    "HarmonicField": others.harmonic,
    "LOORidge": others.loo,
    "IPAL": others.ipal,
    "MultinomialEM": others.multinomial,
    "GraphLogisticRegression": graphs.graph_logistic,
    "LocalGlobalConsistency": graphs.consistency,
    "MarkovWalk": graphs.walk,
    "SpectralGraphTransducer": graphs.transducer,
    "TransductiveSVM": classifiers.transductive,
    "GaussianEM": classifiers.gaussian,
    "PLECOC": classifiers.codes,
    "PLKNN": classifiers.votes,
}
TOO_LARGE = {
    "1,000 classes": ("PLGP", "GraphLogisticRegression"),
    "10,000 rows to 1": ("PLGP", "HarmonicField", "LOORidge", "IPAL", "MarkovWalk", "SpectralGraphTransducer"),
}
"""Problems that would take hours in 50 digits, or minutes by the method itself."""
UNDEFINED = {
    "one row": (
        "LOORidge",
        "IPAL",
        "HarmonicField",
        "PLSVM",
        "LocalGlobalConsistency",
        "MarkovWalk",
        "SpectralGraphTransducer",
        "GaussianEM",  # all features are constant
    ),
    "one class named": ("PLSVM",),  # liblinear needs at least two classes
}
"""A single row has no leave-one-out prediction, no reconstruction from other rows, and no neighbors."""


def skipped(method, title):
    """Return whether a problem is undefined for the method, or too large for 50 digits."""
    return method in TOO_LARGE.get(title, ()) or method in UNDEFINED.get(title, ())
