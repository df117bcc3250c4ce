"""The error of each method on a problem, and which problems are none for it."""

from tests.truth import graphs, machines
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
    "TransductiveSVM": machines.transductive,
    "GaussianEM": machines.gaussian,
    "PLECOC": machines.codes,
    "PLKNN": machines.votes,
}
TOO_LARGE = {
    "1,000 classes": ("PLGP", "GraphLogisticRegression"),
    "10,000 rows to 1": ("PLGP", "HarmonicField", "LOORidge", "IPAL", "MarkovWalk", "SpectralGraphTransducer"),
}
"""Where 50 digits would take hours, or the method itself minutes."""
MEANINGLESS = {
    "one row": (
        "LOORidge",
        "IPAL",
        "HarmonicField",
        "PLSVM",
        "LocalGlobalConsistency",
        "MarkovWalk",
        "SpectralGraphTransducer",
        "GaussianEM",  # no feature varies
    ),
    "one class named": ("PLSVM",),  # liblinear takes no single class
}
"""One row cannot be left out, rebuilt from others, or spread to them."""


def skipped(method, title):
    """Return whether a problem is none for the method, or too large for 50 digits."""
    return method in TOO_LARGE.get(title, ()) or method in MEANINGLESS.get(title, ())
